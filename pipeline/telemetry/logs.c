#include "pipeline/telemetry/logs.h"

#include "lib/base/log.h"
#include "lib/settings/node.h"
#include "lib/wire/proto/text.h"
#include "pipeline/telemetry/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void put_member(const char *name, const char *value, struct bytes *out)
{
    text_json(view_of(name), out);
    bytes_append(out, ":", 1);
    text_json(view_of(value), out);
}

static void put_fields(const struct key_map *fields, const char *before, struct bytes *out)
{
    for (size_t i = 0; i < fields->count; i++, before = ",") {
        bytes_append_view(out, view_of(before));
        put_member(fields->pairs[i].name, fields->pairs[i].value, out);
    }
}

/* ,"field":"...","resource":{...} */
static void put_json_tail(const struct telemetry_settings *settings, struct bytes *out)
{
    struct process_resource resource;
    const char *before = "";
    put_fields(&settings->logs.initial_fields, ",", out);
    if (!process_resource_init(&resource, &settings->resource))
        return;
    bytes_append_view(out, VIEW(",\"resource\":{"));
    for (size_t i = 0; i < resource.count; i++) {
        if (!*resource.attributes[i].value)
            continue;
        bytes_append_view(out, view_of(before));
        put_member(resource.attributes[i].name, resource.attributes[i].value, out);
        before = ",";
    }
    bytes_append(out, "}", 1);
    process_resource_release(&resource);
}

static void put_text_tail(const struct telemetry_settings *settings, struct bytes *out)
{
    if (settings->logs.initial_fields.count == 0)
        return;
    bytes_append_view(out, VIEW(" {"));
    put_fields(&settings->logs.initial_fields, "", out);
    bytes_append(out, "}", 1);
}

void telemetry_logs_set(const struct telemetry_settings *settings)
{
    const struct telemetry_logs *logs = &settings->logs;
    const struct telemetry_sampling *sampling = &logs->sampling;
    enum log_level level;
    struct bytes tail;
    bytes_init(&tail, 1023, NULL);
    (logs->encoding ? put_json_tail : put_text_tail)(settings, &tail);
    /* A truncated tail would not be valid JSON. */
    bool whole = tail.size + 1 < 1023 && bytes_append(&tail, "", 1) == BYTES_OK;
    log_set_form(logs->encoding, whole ? (const char *)tail.data : "");
    bytes_release(&tail);
    log_set_sampling(sampling->enabled ? sampling->tick : 0, (uint64_t)sampling->initial,
                     (uint64_t)sampling->thereafter);
    if (log_level_parse(logs->level, &level))
        log_set_level(level);
}

static int open_path(const char *path)
{
    if (strcmp(path, "stderr") == 0)
        return STDERR_FILENO;
    if (strcmp(path, "stdout") == 0)
        return STDOUT_FILENO;
    if (strncmp(path, "file://", 7) == 0)
        path += 7;
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

static void close_files(const int *descriptors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (descriptors[i] > STDERR_FILENO)
            close(descriptors[i]);
}

bool telemetry_logs_open(const struct telemetry_settings *settings, const struct node *section,
                         struct problems *problems)
{
    const struct key_list *paths = &settings->logs.output_paths;
    int descriptors[LOG_OUTPUTS];
    for (size_t i = 0; i < paths->count && i < LOG_OUTPUTS; i++) {
        descriptors[i] = open_path(paths->items[i]);
        if (descriptors[i] >= 0)
            continue;
        problems_add(problems, node_nearest(section, "telemetry.logs.output_paths"),
                     "service.telemetry.logs.output_paths", "cannot write to \"%s\": %s",
                     paths->items[i], strerror(errno));
        close_files(descriptors, i);
        return false;
    }
    log_set_outputs(descriptors, paths->count);
    return true;
}
