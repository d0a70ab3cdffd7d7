/* The HTTP server. Statuses: OTLP specification 1.11, "OTLP/HTTP"; see README.md. */
#include "receivers/otlp/otlp.h"

#include <stdio.h>

static const char *const paths[SIGNAL_COUNT] = {
    [SIGNAL_TRACES] = "/v1/traces",
    [SIGNAL_METRICS] = "/v1/metrics",
    [SIGNAL_LOGS] = "/v1/logs",
    [SIGNAL_PROFILES] = "/v1development/profiles",
};

static bool sends_metadata_on(const struct otlp_receiver *self)
{
    return self->protocols.http.server.include_metadata;
}

static bool checks_clients(const struct otlp_receiver *self)
{
    return self->protocols.http.server.auth.on;
}

static const char *header(const struct otlp_export *export, const char *name)
{
    return http_request_header(export->call, name);
}

static struct view headers(const struct otlp_export *export)
{
    return http_request_all_headers(export->call);
}

static void succeed(const struct otlp_export *export, uint32_t rejected, const char *reason)
{
    otlp_http_succeed(export->call, export->signal, export->json, rejected, reason);
}

static void http_refuse(const struct otlp_export *export, const struct outcome *outcome)
{
    otlp_http_refuse(export->call, export->json, outcome);
}

static const struct peer *peer_of_request(const struct otlp_export *export)
{
    return http_request_peer(export->call);
}

static const struct otlp_transport transport = {.transport = ADMISSION_HTTP,
                                                .peer = peer_of_request,
                                                .sends_metadata_on = sends_metadata_on,
                                                .checks_clients = checks_clients,
                                                .header = header,
                                                .headers = headers,
                                                .succeed = succeed,
                                                .refuse = http_refuse};

static void handle_export(struct otlp_receiver *self, struct http_request *request,
                          enum signal signal, bool json)
{
    struct otlp_export export = {
        .self = self, .transport = &transport, .call = request, .signal = signal, .json = json};
    struct bytes body;
    bytes_init(&body, (size_t)self->protocols.http.server.max_request_body_size, self->env->budget);
    struct outcome outcome = request_take_body(request, &body);
    if (outcome.verdict == VERDICT_OK)
        otlp_export_run(&export, &body);
    else
        otlp_export_refuse(&export, &outcome);
    bytes_release(&body);
}

/* The signal of a path, by the configured paths. A missing leading slash is added, as the Collector
 * does. */
static int signal_of(const struct otlp_receiver *self, const char *path)
{
    const char *wanted[SIGNAL_COUNT];
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        const char *own = self->protocols.http.paths[i];
        wanted[i] = own && *own ? own : paths[i];
        if (*wanted[i] != '/' && *path == '/' && strcmp(wanted[i], path + 1) == 0)
            wanted[i] = path;
    }
    return otlp_export_signal(path, wanted);
}

void otlp_http_refused(void *ctx, const char *path, const struct peer *peer,
                       const struct outcome *why)
{
    const struct otlp_receiver *self = ctx;
    const struct refusal refusal = {.transport = ADMISSION_HTTP,
                                    .signal = path ? signal_of(self, path) : ADMISSION_NO_SIGNAL,
                                    .why = why,
                                    .peer = peer};
    meter_refused(self->env->meter, &refusal);
}

static void http_count_refused(struct otlp_receiver *self, const struct http_request *request,
                               const struct outcome *why)
{
    otlp_http_refused(self, http_request_path(request), http_request_peer(request), why);
}

/* For Pyroscope's SDKs and agents on this port. */
static const char *path_advice(const char *path)
{
    bool pyroscope = strcmp(path, "/ingest") == 0 || strcmp(path, "/pyroscope/ingest") == 0 ||
                     strncmp(path, "/push.v1.", 9) == 0;
    return pyroscope ? ": point Pyroscope clients at the receiver pyroscope, usually port 4040"
                     : "";
}

static void refuse_path(struct otlp_receiver *self, struct http_request *request, int signal)
{
    char text[256];
    const char *path = http_request_path(request);
    bool known = signal < SIGNAL_COUNT;
    struct outcome why = known ? otlp_outcome_no_pipeline((enum signal)signal)
                               : outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED,
                                            "unknown path %.80s%s", path, path_advice(path));
    http_count_refused(self, request, &why);
    snprintf(text, sizeof text, "%s\n", known ? why.text : "404 page not found");
    http_respond(request, 404, "text/plain", view_of(text), 0);
}

static void refuse_method(struct otlp_receiver *self, struct http_request *request)
{
    struct outcome why =
        outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED, "405 method not allowed, supported: [POST]");
    http_count_refused(self, request, &why);
    http_response_header(request, "Allow", "POST");
    http_respond(request, 405, "text/plain", view_of(why.text), 0);
}

static void refuse_type(struct otlp_receiver *self, struct http_request *request)
{
    struct outcome why =
        outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED,
                   "unsupported media type, supported: [application/json, application/x-protobuf]");
    http_count_refused(self, request, &why);
    otlp_http_refuse(request, true, &why);
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
    int signal = signal_of(self, http_request_path(request));
    if (signal == ADMISSION_NO_SIGNAL || !self->env->intakes[signal])
        refuse_path(self, request, signal);
    else if (strcmp(http_request_method(request), "POST") != 0)
        refuse_method(self, request);
    else if (!protobuf && !json)
        refuse_type(self, request);
    else
        handle_export(self, request, (enum signal)signal, json);
}
