/* POST /v1/pprof: one profile, raw or gzip, like the Collector's pprof receiver. */
#include "receivers/pprof/pprof.h"

#include "lib/base/shown.h"
#include "lib/net/http/otlp_http.h"
#include "lib/wire/http/http_query.h"
#include "lib/wire/http/status.h"
#include "pipeline/pprof_request.h"

#include <stdlib.h>

enum { NAME_SIZE = 64 << 10, NAME_SHOWN = 64 };

void push_refused(void *ctx, const char *path, const struct peer *peer, const struct outcome *why)
{
    const struct pprof_receiver *self = ctx;
    const struct refusal refusal = {.transport = ADMISSION_HTTP,
                                    .signal = path ? SIGNAL_PROFILES : ADMISSION_NO_SIGNAL,
                                    .why = why,
                                    .peer = peer};
    meter_refused(self->env->meter, &refusal);
}

static void push_count_refused(const struct pprof_receiver *self,
                               const struct http_request *request, const struct outcome *why,
                               uint32_t items)
{
    meter_refused_profiles(self->env->meter, http_request_peer(request), why, items);
}

static void push_refuse(struct http_request *request, const struct outcome *outcome)
{
    http_respond(request, status_http(outcome), "text/plain", view_of(outcome->text),
                 outcome_retry_seconds(outcome));
}

static struct outcome pprof_push_no_memory(void)
{
    return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
}

struct push {
    const struct pprof_receiver *self;
    struct http_request *request;
    uint32_t samples;
};

static void offered(void *ctx, const struct outcome *outcome)
{
    struct push *push = ctx;
    if (outcome->verdict == VERDICT_OK) {
        meter_accepted(push->self->env->meter, ADMISSION_HTTP, SIGNAL_PROFILES, 1);
        meter_accepted_samples(push->self->env->meter, ADMISSION_HTTP, push->samples);
        http_respond(push->request, 204, NULL, (struct view){0}, 0);
    } else {
        push_count_refused(push->self, push->request, outcome, 1);
        push_refuse(push->request, outcome);
    }
    free(push);
}

/* The series of ?name=app{label=value}, as for /ingest; the configured one if it is missing. */
static struct series *push_read_series(const struct pprof_receiver *self,
                                       struct http_request *request, struct outcome *outcome)
{
    const char *query = http_request_query(request), *reason = "out of memory";
    const struct series_label own = {VIEW("__name__"), view_of(self->server.service_name)};
    char *name = malloc(NAME_SIZE), shown[NAME_SHOWN];
    struct series *series = NULL;
    *outcome = pprof_push_no_memory();
    if (name && http_query_get(query, "name", name, NAME_SIZE) && *name) {
        series = series_parse(view_of(name), &reason);
        if (!series) {
            shown_copy(view_of(name), shown, sizeof shown);
            *outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "name: %s: \"%s\"", reason, shown);
        }
    } else if (name) {
        series = series_new(&own, 1);
    }
    free(name);
    return series;
}

/* As for /ingest: the server derives the profile's type from its sample types. */
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
    if (self->server.http.include_metadata) {
        struct view tenant = view_of(http_request_header(request, "X-Scope-OrgID"));
        struct view authorization = {0};
        if (!self->server.http.auth.on)
            authorization = view_of(http_request_header(request, "Authorization"));
        batch_set_metadata(batch, metadata_new(tenant, authorization, &failed));
    }
    return !failed;
}

static struct outcome push_read_profile(struct http_request *request, struct bytes *body,
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
    struct series *series = push_read_series(self, request, &outcome);
    *batch = NULL;
    if (!series)
        return outcome;
    bytes_init(&body, (size_t)self->server.http.max_request_body_size, self->env->budget);
    bytes_init(&raw, budget_cap(self->env->budget, (size_t)self->server.http.max_request_body_size),
               self->env->budget);
    outcome = push_read_profile(request, &body, &raw);
    if (outcome.verdict == VERDICT_OK) {
        *batch = pprof_request_batch(&raw, bytes_view(&body), series_ref(series));
        if (!*batch || !set_origin(self, request, *batch))
            outcome = pprof_push_no_memory();
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
        *push = (struct push){self, request, batch->samples};
        intake_accept(self->env->intakes[SIGNAL_PROFILES], batch, offered, push);
    } else {
        if (outcome.verdict == VERDICT_OK)
            outcome = pprof_push_no_memory();
        push_count_refused(self, request, &outcome, 0);
        push_refuse(request, &outcome);
    }
    batch_unref(batch);
}

void push_handle(void *ctx, struct http_request *request)
{
    struct outcome why =
        outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED, "405 method not allowed, supported: [POST]");
    if (strcmp(http_request_path(request), "/v1/pprof") != 0) {
        why = outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED, "unknown path %.80s",
                         http_request_path(request));
        push_refused(ctx, NULL, http_request_peer(request), &why);
        http_respond(request, 404, "text/plain", VIEW("404 page not found\n"), 0);
    } else if (strcmp(http_request_method(request), "POST") != 0) {
        push_count_refused(ctx, request, &why, 0);
        http_response_header(request, "Allow", "POST");
        http_respond(request, 405, "text/plain", view_of(why.text), 0);
    } else {
        handle_profile(ctx, request);
    }
}
