#include "pipeline/telemetry/logs.h"

#include "lib/base/log.h"
#include "lib/settings/node.h"
#include "lib/wire/proto/text.h"
#include "pipeline/telemetry/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TAIL_LIMIT = 16 << 20 };

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
        text_json(view_of(fields->pairs[i].name), out);
        bytes_append(out, ":", 1);
        bytes_append_view(out, view_of(fields->pairs[i].value));
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
    bytes_init(&tail, TAIL_LIMIT, NULL);
    (logs->encoding ? put_json_tail : put_text_tail)(settings, &tail);
    /* A truncated tail would not be valid JSON. */
    bool whole = tail.size < LOG_TAIL && bytes_append(&tail, "", 1) == BYTES_OK;
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
    /* Without O_NONBLOCK, a named pipe would wait for its reader; files do not care. */
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
}

static void close_files(const int *descriptors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (descriptors[i] > STDERR_FILENO)
            close(descriptors[i]);
}

struct paths {
    const char *key; /* below service */
    const struct key_list *list;
    void (*set)(const int *descriptors, size_t count);
    int descriptors[LOG_OUTPUTS];
    size_t count;
};

/* Returns the path that cannot be opened, with errno; NULL: all are open. */
static const char *open_paths(struct paths *paths)
{
    for (paths->count = 0; paths->count < paths->list->count && paths->count < LOG_OUTPUTS;
         paths->count++) {
        int descriptor = open_path(paths->list->items[paths->count]);
        if (descriptor < 0)
            return paths->list->items[paths->count];
        paths->descriptors[paths->count] = descriptor;
    }
    return NULL;
}

enum { PATHS = 2 };

/* Returns the list with a path that cannot be opened, named in *path, with errno; NULL: lines go to
 * all of them from now on. */
static const struct paths *open_all(struct paths paths[PATHS], const char **path)
{
    for (size_t i = 0; i < PATHS; i++) {
        *path = open_paths(&paths[i]);
        if (!*path)
            continue;
        int error = errno;
        for (size_t j = 0; j <= i; j++)
            close_files(paths[j].descriptors, paths[j].count);
        errno = error;
        return &paths[i];
    }
    for (size_t i = 0; i < PATHS; i++)
        paths[i].set(paths[i].descriptors, paths[i].count);
    return NULL;
}

#define PATHS_OF(logs)                                                                             \
    {                                                                                              \
        {.key = "telemetry.logs.output_paths",                                                     \
         .list = &(logs)->output_paths,                                                            \
         .set = log_set_outputs},                                                                  \
            {.key = "telemetry.logs.error_output_paths",                                           \
             .list = &(logs)->error_output_paths,                                                  \
             .set = log_set_error_outputs},                                                        \
    }

bool telemetry_logs_open(const struct telemetry_settings *settings, const struct node *section,
                         struct problems *problems)
{
    struct paths paths[PATHS] = PATHS_OF(&settings->logs);
    char key[64];
    const char *path;
    const struct paths *failed = open_all(paths, &path);
    if (!failed)
        return true;
    snprintf(key, sizeof key, "service.%s", failed->key);
    problems_add(problems, node_nearest(section, failed->key), key, "cannot write to \"%s\": %s",
                 path, strerror(errno));
    return false;
}

void telemetry_logs_reopen(const struct telemetry_settings *settings)
{
    struct paths paths[PATHS] = PATHS_OF(&settings->logs);
    const char *path;
    if (open_all(paths, &path))
        log_error(
            "service.telemetry.logs: cannot reopen \"%s\": %s; the files that are open stay in "
            "use",
            path, strerror(errno));
}
