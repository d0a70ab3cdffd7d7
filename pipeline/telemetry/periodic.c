#include "pipeline/telemetry/periodic.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/output.h"
#include "lib/base/thread.h"
#include "lib/settings/node.h"
#include "lib/wire/json/otlp_json.h"
#include "lib/wire/proto/text.h"
#include "pipeline/graph/instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_REQUEST = 16 << 20, MAX_LINE = 4 * MAX_REQUEST, MAX_SECTION = 64 << 10 };

struct periodic {
    uint64_t interval; /* ns */
    periodic_write_fn *write;
    void *ctx;
    struct settings *settings;
    struct instance *exporter; /* NULL: standard output */
    struct output output;      /* used by the thread */
    struct budget budget;
    bool failing; /* used by the thread */
    pthread_t thread;
    bool threaded;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stop; /* under lock */
};

/* ---- the exporter, from a generated section ---- */

/* Writes a quoted YAML string in which nothing is resolved any more. */
static void put_string(struct bytes *out, const char *text)
{
    struct bytes quoted;
    bytes_init(&quoted, MAX_SECTION, NULL);
    text_json(view_of(text), &quoted);
    for (size_t i = 0; i < quoted.size; i++)
        bytes_append(out, quoted.data[i] == '$' ? "$$" : (const char *)&quoted.data[i],
                     quoted.data[i] == '$' ? 2 : 1);
    bytes_release(&quoted);
}

static void put_entry(struct bytes *out, const char *key, const char *value)
{
    if (!*value)
        return;
    bytes_printf(out, ", %s: ", key);
    put_string(out, value);
}

static bool has_path(const char *endpoint)
{
    const char *host = strstr(endpoint, "://"), *path = strchr(host ? host + 3 : endpoint, '/');
    return path && path[1];
}

static void put_tls(struct bytes *out, const struct telemetry_otlp *otlp)
{
    bool insecure = otlp->insecure || strncmp(otlp->endpoint, "http://", 7) == 0;
    bytes_printf(out, ", tls: {insecure: %s", insecure ? "true" : "false");
    put_entry(out, "ca_file", otlp->certificate);
    put_entry(out, "cert_file", otlp->client_certificate);
    put_entry(out, "key_file", otlp->client_key);
    bytes_append(out, "}", 1);
}

static void put_header(struct bytes *out, const char *name, const char *value)
{
    put_string(out, name);
    bytes_printf(out, ": ");
    put_string(out, value);
    bytes_printf(out, ", ");
}

static bool headers_have(const struct key_map *headers, const char *name)
{
    for (size_t i = 0; i < headers->count; i++)
        if (strcasecmp(headers->pairs[i].name, name) == 0)
            return true;
    return false;
}

static void put_headers(struct bytes *out, const struct telemetry_otlp *otlp)
{
    bytes_printf(out, ", headers: {");
    for (size_t i = 0; i < otlp->headers.count; i++)
        put_header(out, otlp->headers.pairs[i].name, otlp->headers.pairs[i].value);
    char *list = strdup(otlp->headers_list), *rest = list, *name;
    while (rest && (name = strsep(&rest, ","))) {
        char *value = name + strspn(name, " ");
        name = strsep(&value, "=");
        if (value && !headers_have(&otlp->headers, name))
            put_header(out, name, value);
    }
    free(list);
    bytes_printf(out, "}");
}

static void put_section(struct bytes *out, const struct telemetry_otlp *otlp)
{
    const char *endpoint = otlp->endpoint, *scheme = strstr(endpoint, "://");
    bool grpc = otlp->protocol == 1;
    bytes_printf(out, "yaml:{telemetry: {timeout: %dms", (int)otlp->timeout);
    char *url = NULL;
    if (grpc && scheme)
        endpoint = scheme + 3;
    else if (!grpc && !scheme &&
             asprintf(&url, "http%s://%s", otlp->insecure ? "" : "s", endpoint) > 0)
        endpoint = url;
    put_entry(out, !grpc && has_path(endpoint) ? "metrics_endpoint" : "endpoint", endpoint);
    free(url);
    put_entry(out, "compression", otlp->compression);
    put_tls(out, otlp);
    put_headers(out, otlp);
    bytes_append(out, "}}", 3);
}

/* Copies a sentence with the keys of a reader in place of the exporter's. */
static void reword(const char *text, struct bytes *out)
{
    static const char *const words[][2] = {
        {"the exporter otlp_grpc", "protocol: grpc"},
        {"the exporter otlp_http", "protocol: http/protobuf"},
        {"set tls.server_name_override to one of its names, or use one in endpoint",
         "use one of its names in endpoint"},
        {"use auth with a basicauth or bearertokenauth, or headers.Authorization",
         "set headers.Authorization"},
        {"metrics_endpoint", "endpoint"},
        {"tls.insecure", "insecure"},
        {"tls.ca_file", "certificate"},
        {"tls.cert_file", "client_certificate"},
        {"tls.key_file", "client_key"},
        {"leave it out, or use traces_endpoint", "leave it out"},
    };
    while (*text) {
        const char *const *pair = NULL;
        for (size_t i = 0; i < sizeof words / sizeof *words && !pair; i++)
            pair = strncmp(text, words[i][0], strlen(words[i][0])) == 0 ? words[i] : NULL;
        bytes_append(out, pair ? pair[1] : text, pair ? strlen(pair[1]) : 1);
        text += pair ? strlen(pair[0]) : 1;
    }
    bytes_append(out, "", 1);
}

/* Adds problems of the generated section as those of the reader. */
static void relay(const struct problems *own, const struct periodic_place *place,
                  struct problems *problems)
{
    static const char prefix[] = "service.telemetry.";
    for (size_t i = 0; i < own->count; i++) {
        struct bytes text;
        const char *at = strstr(own->lines[i], prefix);
        const char *line = at ? at + strlen(prefix) : own->lines[i];
        bytes_init(&text, MAX_SECTION, NULL);
        reword(line, &text);
        const char *said = text.data ? (const char *)text.data : line;
        const char *sentence = at ? strstr(said, ": ") : NULL;
        char path[512];
        snprintf(path, sizeof path, "%s.%.*s", place->key, sentence ? (int)(sentence - said) : 0,
                 said);
        if (sentence)
            problems_add(problems, node_nearest(place->section, path + strlen("service.")), path,
                         "%s", sentence + 2);
        else
            problems_add(problems, NULL, place->key, "%s", said);
        bytes_release(&text);
    }
}

static bool build_exporter(struct periodic *periodic, const struct telemetry_otlp *otlp,
                           struct problems *problems)
{
    const char *type = otlp->protocol == 1 ? "otlp_grpc" : "otlp_http";
    const struct component *component = component_find(COMPONENT_EXPORTER, type);
    struct bytes text;
    bytes_init(&text, MAX_SECTION, NULL);
    put_section(&text, otlp);
    struct settings_source source = {SETTINGS_FILE, (char *)text.data};
    if (component && text.size)
        periodic->settings = settings_load(&source, 1, problems);
    bytes_release(&text);
    const struct node *section =
        periodic->settings ? node_get(settings_root(periodic->settings), "telemetry") : NULL;
    periodic->exporter = section ? instance_new(component, "service", section) : NULL;
    if (!periodic->exporter)
        return false;
    budget_init(&periodic->budget, MAX_REQUEST * (size_t)4);
    periodic->exporter->env.clock = &clock_system;
    periodic->exporter->env.budget = &periodic->budget;
    return instance_fill(periodic->exporter, section, problems) &&
           instance_open(periodic->exporter, problems);
}

static bool make_exporter(struct periodic *periodic, const struct telemetry_otlp *otlp,
                          const struct periodic_place *place, struct problems *problems)
{
    struct problems own = {0};
    bool made = build_exporter(periodic, otlp, &own);
    relay(&own, place, problems);
    if (!made && own.count == 0)
        problems_add(problems, NULL, place->key, "cannot be opened");
    problems_release(&own);
    return made;
}

/* ---- sending ---- */

static struct outcome send_batch(const struct instance *exporter, struct batch *batch)
{
    const struct component *component = exporter->component;
    struct progress progress = {.batch = batch, .exporter = exporter->id};
    return component->send ? component->send(exporter->self, batch)
                           : component->send_on(exporter->self, batch, &progress);
}

static struct outcome no_memory(void)
{
    return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
}

static void periodic_log(struct periodic *periodic, const struct outcome *outcome)
{
    bool failed = outcome->verdict != VERDICT_OK;
    if (failed && !periodic->failing)
        log_warn("telemetry: metrics could not be sent: %s", outcome->text);
    else if (!failed && periodic->failing)
        log_info("telemetry: metrics are being sent again");
    periodic->failing = failed;
}

static struct outcome send_request(struct periodic *periodic, struct bytes *request,
                                   uint32_t points)
{
    struct buffer *payload = buffer_from_bytes(request);
    struct batch *batch =
        payload ? batch_new(SIGNAL_METRICS, BATCH_OTLP, payload, points, NULL) : NULL;
    struct outcome outcome = batch ? send_batch(periodic->exporter, batch) : no_memory();
    batch_unref(batch);
    return outcome;
}

static struct outcome print_request(struct periodic *periodic, const struct bytes *request)
{
    struct bytes line;
    bytes_init(&line, MAX_LINE, NULL);
    bool written = otlp_json_write(SIGNAL_METRICS, bytes_view(request), &line) &&
                   bytes_append(&line, "\n", 1) == BYTES_OK;
    if (written)
        output_write(&periodic->output, bytes_view(&line), OUTPUT_PATIENCE_MS);
    bytes_release(&line);
    return written ? OUTCOME_OK : no_memory();
}

static void send_now(struct periodic *periodic)
{
    struct bytes request;
    uint32_t points = 0;
    struct outcome outcome;
    bytes_init(&request, MAX_REQUEST, NULL);
    if (!periodic->write(periodic->ctx, &request, &points))
        outcome = no_memory();
    else if (periodic->exporter)
        outcome = send_request(periodic, &request, points);
    else
        outcome = print_request(periodic, &request);
    periodic_log(periodic, &outcome);
    bytes_release(&request);
}

static void *periodic_run(void *ctx)
{
    struct periodic *periodic = ctx;
    bool go_on = true;
    while (go_on) {
        uint64_t until = clock_mono(&clock_system) + periodic->interval;
        pthread_mutex_lock(&periodic->lock);
        while (!periodic->stop && clock_mono(&clock_system) < until)
            thread_cond_wait_until(&periodic->stopped, &periodic->lock, until);
        go_on = !periodic->stop;
        pthread_mutex_unlock(&periodic->lock);
        send_now(periodic);
    }
    return NULL;
}

/* ---- life ---- */

struct periodic *periodic_open(const struct telemetry_periodic *settings,
                               const struct periodic_place *place, periodic_write_fn *write,
                               void *ctx, struct problems *problems)
{
    struct periodic *periodic = calloc(1, sizeof *periodic);
    if (!periodic) {
        problems_add(problems, NULL, place->key, "out of memory");
        return NULL;
    }
    periodic->output = (struct output)OUTPUT_OF(STDOUT_FILENO);
    periodic->interval = (uint64_t)settings->interval * NS_PER_MS;
    periodic->write = write;
    periodic->ctx = ctx;
    pthread_mutex_init(&periodic->lock, NULL);
    thread_cond_init(&periodic->stopped);
    bool made =
        settings->console.given || make_exporter(periodic, &settings->otlp, place, problems);
    periodic->threaded =
        made && thread_start(&periodic->thread, "telemetry", periodic_run, periodic);
    if (periodic->threaded)
        return periodic;
    if (made)
        problems_add(problems, NULL, place->key, "cannot start a thread");
    periodic_close(periodic);
    return NULL;
}

static void exporter_free(struct periodic *periodic)
{
    if (periodic->exporter)
        instance_close(periodic->exporter);
    instance_free(periodic->exporter);
    settings_free(periodic->settings);
}

void periodic_close(struct periodic *periodic)
{
    if (!periodic)
        return;
    if (periodic->threaded) {
        pthread_mutex_lock(&periodic->lock);
        periodic->stop = true;
        pthread_cond_signal(&periodic->stopped);
        pthread_mutex_unlock(&periodic->lock);
        pthread_join(periodic->thread, NULL);
    }
    exporter_free(periodic);
    output_release(&periodic->output);
    pthread_mutex_destroy(&periodic->lock);
    pthread_cond_destroy(&periodic->stopped);
    free(periodic);
}

/* ---- probing ---- */

void periodic_probe(const struct telemetry_periodic *settings, const struct periodic_place *place,
                    struct problems *problems, FILE *out)
{
    struct periodic periodic = {0};
    struct probe_result result;
    struct bytes text;
    char path[256];
    bytes_init(&text, 2 * sizeof result.text, NULL);
    snprintf(path, sizeof path, "%s.endpoint", place->key);
    const struct node *node = node_nearest(place->section, path + strlen("service."));
    if (make_exporter(&periodic, &settings->otlp, place, problems)) {
        const struct instance *exporter = periodic.exporter;
        if (exporter->component->probe(exporter->self, SIGNAL_METRICS, &result)) {
            fprintf(out, "%s: metrics are accepted by %s\n", place->key, result.where);
        } else {
            reword(result.text, &text);
            problems_add(problems, node, path, "metrics to %s: %s", result.where,
                         text.data ? (const char *)text.data : result.text);
        }
    }
    bytes_release(&text);
    exporter_free(&periodic);
}
