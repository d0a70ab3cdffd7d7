#include "tests/support/backend.h"

#include "lib/base/clock.h"
#include "tests/support/forever.h"
#include "tests/support/scripted.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void note(char *out, size_t size, const struct http_request *request, const char *name)
{
    const char *value = http_request_header(request, name);
    snprintf(out, size, "%s", value ? value : "-");
}

static void handle(void *ctx, struct http_request *request)
{
    struct backend *backend = ctx;
    struct bytes body;
    ck_assert_int_eq(http_request_take_body(request, &body), INFLATE_OK);
    pthread_mutex_lock(&backend->lock);
    ck_assert_uint_lt(backend->count, BACKEND_REQUESTS);
    struct backend_request *kept = &backend->requests[backend->count];
    const char *location = backend->locations[backend->count];
    const struct backend_answer *answer = &backend->answers[backend->count++];
    snprintf(kept->path, sizeof kept->path, "%s", http_request_path(request));
    snprintf(kept->query, sizeof kept->query, "%s", http_request_query(request));
    note(kept->content_type, sizeof kept->content_type, request, "Content-Type");
    note(kept->content_encoding, sizeof kept->content_encoding, request, "Content-Encoding");
    note(kept->tenant, sizeof kept->tenant, request, "X-Scope-OrgID");
    note(kept->authorization, sizeof kept->authorization, request, "Authorization");
    kept->body = forever(body);
    pthread_mutex_unlock(&backend->lock);
    if (location)
        http_response_header(request, "Location", location);
    http_respond(request, answer->status ? answer->status : 200, answer->content_type, answer->body,
                 answer->retry_after);
}

void backend_start(struct backend *backend)
{
    char error[256] = "";
    memset(backend, 0, sizeof *backend);
    pthread_mutex_init(&backend->lock, NULL);
    struct http_server_options options = {
        .endpoint = {.host = "127.0.0.1", .service = "0"},
        .max_body = 64 << 20,
        .threads = 1,
        .max_connections = 64,
        .handler = handle,
        .ctx = backend,
    };
    backend->server =
        http_server_open(&options, backend->bound, sizeof backend->bound, error, sizeof error);
    ck_assert_msg(backend->server, "%s", error);
}

void backend_stop(struct backend *backend)
{
    http_server_close(backend->server, clock_mono(&clock_system) + 20 * NS_PER_S);
}

static const char *source_of(const char *signal)
{
    return strcmp(signal, "profiles") == 0 ? "pprof_source" : "source";
}

void exporter_start(struct given_exporter *exporter, const char *section, const char *signal,
                    const struct backend *backend)
{
    char *filled, *yaml;
    const char *mark = strstr(section, "%s");
    if (mark)
        ck_assert_int_gt(
            asprintf(&filled, "%.*s%s%s", (int)(mark - section), section, backend->bound, mark + 2),
            0);
    else
        filled = strdup(section);
    ck_assert_int_gt(asprintf(&yaml,
                              "receivers: {%s: }\n"
                              "exporters:\n  %s\n"
                              "service: {pipelines: {%s: {receivers: [%s], exporters: [%.*s]}}}\n",
                              source_of(signal), filled, signal, source_of(signal),
                              (int)strcspn(filled, ":"), filled),
                     0);
    given_start(&exporter->given, yaml);
    const struct instance_list *instances = &exporter->given.runtime->graph.instances;
    exporter->instance = NULL;
    for (size_t i = 0; i < instances->count; i++)
        if (instances->items[i]->component->kind == COMPONENT_EXPORTER)
            exporter->instance = instances->items[i];
    ck_assert_ptr_nonnull(exporter->instance);
    free(filled);
    free(yaml);
}

void exporter_stop(struct given_exporter *exporter)
{
    ck_assert_uint_eq(given_stop(&exporter->given), 0);
}

static char *faults_of(bool (*step)(struct runtime *, struct problems *), const char *yaml)
{
    struct problems problems = {0};
    char *text;
    size_t size;
    ck_assert_int_gt(asprintf(&text, "yaml:%s", yaml), 0);
    struct settings_source source = {SETTINGS_FILE, text};
    struct settings *settings = settings_load(&source, 1, &problems);
    free(text);
    struct runtime *runtime = runtime_plan(settings, &clock_system, &problems);
    ck_assert_ptr_nonnull(runtime);
    step(runtime, &problems);
    FILE *out = open_memstream(&text, &size);
    problems_print(&problems, out);
    fclose(out);
    runtime_free(runtime);
    settings_free(settings);
    problems_release(&problems);
    return text;
}

static bool fails_to_start(struct runtime *runtime, struct problems *problems)
{
    ck_assert(!runtime_start(runtime, problems));
    return false;
}

char *start_faults(const char *yaml)
{
    return faults_of(fails_to_start, yaml);
}

char *rehearsal_faults(const char *yaml)
{
    return faults_of(runtime_rehearse, yaml);
}

struct outcome exporter_send(struct given_exporter *exporter, struct batch *batch)
{
    const struct instance *instance = exporter->instance;
    struct outcome outcome = instance->component->send(instance->self, batch);
    batch_unref(batch);
    return outcome;
}

struct outcome exporter_send_on(struct given_exporter *exporter, struct batch *batch,
                                struct progress *progress)
{
    const struct instance *instance = exporter->instance;
    return instance->component->send_on(instance->self, batch, progress);
}

static struct buffer *buffer_of(struct view content)
{
    struct buffer *buffer = buffer_new(content.size, NULL, true);
    ck_assert_ptr_nonnull(buffer);
    if (content.size)
        memcpy(buffer->data, content.data, content.size);
    return buffer;
}

struct batch *otlp_batch_of(enum signal signal, struct view request, uint32_t items)
{
    struct batch *batch = batch_new(signal, BATCH_OTLP, buffer_of(request), items, NULL);
    ck_assert_ptr_nonnull(batch);
    return batch;
}

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

struct batch *pprof_batch_of(struct view raw, const char *series,
                             const struct profile_origin *origin)
{
    const char *reason;
    struct batch *batch = batch_new(SIGNAL_PROFILES, BATCH_PPROF, buffer_of(raw), 1, NULL);
    struct series *labels = series_parse(view_of(series), &reason);
    ck_assert_msg(labels, "%s: %s", series, reason);
    batch_set_series(batch, labels);
    if (origin) {
        struct profile_origin *own = malloc(sizeof *own);
        *own = *origin;
        own->sample_type_config = copy(origin->sample_type_config);
        own->spy_name = copy(origin->spy_name);
        batch_set_profile(batch, own);
    }
    return batch;
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

void move_elsewhere(struct batch *batch)
{
    static const struct receipt_store store = {.is_elsewhere = always};
    struct receipt *receipt = receipt_new(NULL, NULL);
    receipt_set_durable(receipt, &store);
    ck_assert(batch_add_receipt(batch, receipt));
    receipt_unref(receipt);
}
