/* The HTTP door. Statuses: OTLP specification 1.11, "OTLP/HTTP"; see README.md. */
#include "receivers/otlp/otlp.h"

static const char *const paths[SIGNAL_COUNT] = {
    [SIGNAL_TRACES] = "/v1/traces",
    [SIGNAL_METRICS] = "/v1/metrics",
    [SIGNAL_LOGS] = "/v1/logs",
    [SIGNAL_PROFILES] = "/v1development/profiles",
};

static bool sends_metadata_on(const struct otlp_receiver *self)
{
    return self->protocols.http.include_metadata;
}

static const char *header(const struct otlp_export *export, const char *name)
{
    return http_request_header(export->call, name);
}

static void succeed(const struct otlp_export *export, uint32_t rejected, const char *reason)
{
    otlp_http_succeed(export->call, export->signal, export->json, rejected, reason);
}

static void refuse(const struct otlp_export *export, const struct outcome *outcome)
{
    otlp_http_refuse(export->call, export->json, outcome);
}

static const struct otlp_door door = {sends_metadata_on, header, succeed, refuse};

static void handle_export(struct otlp_receiver *self, struct http_request *request,
                          enum signal signal, bool json)
{
    struct otlp_export export = {
        .self = self, .door = &door, .call = request, .signal = signal, .json = json};
    struct bytes body;
    bytes_init(&body, (size_t)self->protocols.http.max_request_body_size, self->env->budget);
    struct outcome outcome = otlp_http_take_body(request, &body);
    if (outcome.verdict == VERDICT_OK)
        otlp_export_run(&export, &body);
    else
        refuse(&export, &outcome);
    bytes_release(&body);
}

/* The configured paths; the Collector adds a leading slash where it is missing, and so do we. */
static bool find_signal(const struct otlp_receiver *self, const char *path, enum signal *signal)
{
    const char *wanted[SIGNAL_COUNT];
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        const char *own = self->protocols.http.paths[i];
        wanted[i] = own && *own ? own : paths[i];
        if (*wanted[i] != '/' && *path == '/' && strcmp(wanted[i], path + 1) == 0)
            wanted[i] = path;
    }
    return otlp_export_signal(self, path, wanted, signal);
}

static void refuse_type(struct http_request *request)
{
    struct outcome outcome =
        outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED,
                   "unsupported media type, supported: [application/json, application/x-protobuf]");
    otlp_http_refuse(request, true, &outcome);
}

void otlp_http_deny(void *ctx, struct http_request *request, const struct outcome *outcome)
{
    const char *type = http_request_header(request, "Content-Type");
    (void)ctx;
    otlp_http_refuse(request, !media_type_is(type, HTTP_PROTOBUF), outcome);
}

void otlp_http_handle(void *ctx, struct http_request *request)
{
    struct otlp_receiver *self = ctx;
    const char *type = http_request_header(request, "Content-Type");
    bool protobuf = media_type_is(type, HTTP_PROTOBUF);
    bool json = media_type_is(type, "application/json");
    enum signal signal;
    if (!find_signal(self, http_request_path(request), &signal)) {
        http_respond(request, 404, "text/plain", VIEW("404 page not found\n"), 0);
    } else if (strcmp(http_request_method(request), "POST") != 0) {
        http_response_header(request, "Allow", "POST");
        http_respond(request, 405, "text/plain", VIEW("405 method not allowed, supported: [POST]"),
                     0);
    } else if (!protobuf && !json) {
        refuse_type(request);
    } else {
        handle_export(self, request, signal, json);
    }
}
