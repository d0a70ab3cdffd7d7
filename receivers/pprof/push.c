/* POST /v1/pprof: one profile, raw or gzip, as the Collector's pprof receiver takes it. */
#include "receivers/pprof/pprof.h"

#include "net/otlp_http.h"
#include "pipeline/pprof_request.h"
#include "wire/status.h"

#include <stdlib.h>

enum { NAME_SIZE = 64 << 10 };

static void refuse(struct http_request *request, const struct outcome *outcome)
{
    http_respond(request, status_http(outcome), "text/plain", view_of(outcome->text),
                 outcome_retry_seconds(outcome));
}

static struct outcome no_memory(void)
{
    return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
}

struct push {
    const struct pprof_receiver *self;
    struct http_request *request;
};

static void offered(void *ctx, const struct outcome *outcome)
{
    struct push *push = ctx;
    struct meter *meter = push->self->env->meter;
    bool taken = outcome->verdict == VERDICT_OK;
    meter_add(meter, METER_RECEIVED, SIGNAL_PROFILES, 1);
    meter_add(meter, taken ? METER_ACCEPTED : METER_REFUSED, SIGNAL_PROFILES, 1);
    if (taken)
        http_respond(push->request, 204, NULL, (struct view){0}, 0);
    else
        refuse(push->request, outcome);
    free(push);
}

/* ?name=app{label=value}, as /ingest has it; else what the configuration says. */
static struct series *read_series(const struct pprof_receiver *self, struct http_request *request,
                                  struct outcome *outcome)
{
    const char *query = http_request_query(request), *reason = "out of memory";
    const struct series_label own = {VIEW("__name__"), view_of(self->server.service_name)};
    char *name = malloc(NAME_SIZE);
    struct series *series = NULL;
    *outcome = no_memory();
    if (name && http_query_get(query, "name", name, NAME_SIZE) && *name) {
        series = series_parse(view_of(name), &reason);
        if (!series)
            *outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "name: %s", reason);
    } else if (name) {
        series = series_new(&own, 1);
    }
    free(name);
    return series;
}

/* As of /ingest: the server derives the profile's type from the types of its samples. */
static bool set_origin(const struct pprof_receiver *self, struct http_request *request,
                       struct batch *batch)
{
    struct profile_origin *origin = calloc(1, sizeof *origin);
    bool failed = false;
    if (!origin)
        return false;
    origin->by_ingest = true;
    origin->from_ns = clock_wall(self->env->clock);
    batch_set_profile(batch, origin);
    if (self->server.include_metadata) {
        struct view tenant = view_of(http_request_header(request, "X-Scope-OrgID"));
        struct view authorization = view_of(http_request_header(request, "Authorization"));
        batch_set_metadata(batch, metadata_new(tenant, authorization, &failed));
    }
    return !failed;
}

static struct outcome read_profile(struct http_request *request, struct bytes *body,
                                   struct bytes *raw)
{
    struct outcome outcome = request_take_body(request, body);
    if (outcome.verdict == VERDICT_OK)
        outcome = pprof_request_read(bytes_view(body), raw);
    if (outcome.verdict == VERDICT_OK && raw->size == 0)
        outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "the profile is empty");
    return outcome;
}

static struct outcome read_batch(const struct pprof_receiver *self, struct http_request *request,
                                 struct batch **batch)
{
    struct bytes body, raw;
    struct outcome outcome;
    struct series *series = read_series(self, request, &outcome);
    *batch = NULL;
    if (!series)
        return outcome;
    bytes_init(&body, (size_t)self->server.max_request_body_size, self->env->budget);
    bytes_init(&raw, budget_cap(self->env->budget, (size_t)self->server.max_request_body_size),
               self->env->budget);
    outcome = read_profile(request, &body, &raw);
    if (outcome.verdict == VERDICT_OK) {
        *batch = pprof_request_batch(&raw, bytes_view(&body), series_ref(series));
        if (!*batch || !set_origin(self, request, *batch))
            outcome = no_memory();
    }
    series_unref(series);
    bytes_release(&body);
    bytes_release(&raw);
    return outcome;
}

static void handle_profile(const struct pprof_receiver *self, struct http_request *request)
{
    struct batch *batch;
    struct outcome outcome = read_batch(self, request, &batch);
    struct push *push = outcome.verdict == VERDICT_OK ? malloc(sizeof *push) : NULL;
    if (push) {
        *push = (struct push){self, request};
        intake_accept(self->env->intakes[SIGNAL_PROFILES], batch, offered, push);
    } else {
        if (outcome.verdict == VERDICT_OK)
            outcome = no_memory();
        refuse(request, &outcome);
    }
    batch_unref(batch);
}

void push_handle(void *ctx, struct http_request *request)
{
    if (strcmp(http_request_path(request), "/v1/pprof") != 0) {
        http_respond(request, 404, "text/plain", VIEW("404 page not found\n"), 0);
    } else if (strcmp(http_request_method(request), "POST") != 0) {
        http_response_header(request, "Allow", "POST");
        http_respond(request, 405, "text/plain", VIEW("405 method not allowed, supported: [POST]"),
                     0);
    } else {
        handle_profile(ctx, request);
    }
}
