#include "receivers/pyroscope/pyroscope.h"

#include "lib/net/server/listen.h"
#include "lib/wire/http/status.h"

enum { DRAIN_GRACE_MS = 2000 };

static const struct key keys[] = {
    SERVER_HTTP_KEYS(struct pyroscope_receiver, http, "localhost:4040"),
    KEY_DURATION(struct pyroscope_receiver, reject_older_than, "reject_older_than", "1h", 0,
                 "age at which profiles are refused, as the server's limit; 0: none"),
    KEY_DURATION(struct pyroscope_receiver, reject_newer_than, "reject_newer_than", "10m", 0,
                 "how far in the future a profile's time may be; 0: any"),
    KEY_INT(struct pyroscope_receiver, max_label_name_length, "max_label_name_length", "1024", 0,
            2147483647, "maximum bytes of a label's name, as the server's limit; 0: any"),
    KEY_INT(struct pyroscope_receiver, max_label_value_length, "max_label_value_length", "2048", 0,
            2147483647, "maximum bytes of a label's value"),
    KEY_END,
};

#define OTLP_PATH "/v1development/profiles"

struct route {
    const char *path;
    void (*handle)(const struct pyroscope_receiver *self, struct http_request *request);
};

static const struct route routes[] = {
    {"/ingest", handle_ingest},
    {"/pyroscope/ingest", handle_ingest},
    {"/push.v1.PusherService/Push", handle_push},
    {OTLP_PATH, handle_otlp},
};

static void refused(void *ctx, const char *path, const struct peer *peer, const struct outcome *why)
{
    const struct pyroscope_receiver *self = ctx;
    const struct refusal refusal = {.transport = ADMISSION_HTTP,
                                    .signal = path ? SIGNAL_PROFILES : ADMISSION_NO_SIGNAL,
                                    .why = why,
                                    .peer = peer};
    meter_refused(self->env->meter, &refusal);
}

static void refuse_path(struct pyroscope_receiver *self, struct http_request *request)
{
    const char *path = http_request_path(request);
    bool otlp = strcmp(path, "/v1/traces") == 0 || strcmp(path, "/v1/metrics") == 0 ||
                strcmp(path, "/v1/logs") == 0;
    struct outcome why = outcome_of(
        VERDICT_REJECT, CAUSE_UNSUPPORTED, "unknown path %.80s%s", path,
        otlp ? ": point OTLP clients at the receiver otlp, usually port 4318 for HTTP" : "");
    refused(self, NULL, http_request_peer(request), &why);
    http_respond(request, 404, "text/plain", VIEW("404 page not found\n"), 0);
}

static void refuse_method(struct pyroscope_receiver *self, struct http_request *request)
{
    struct outcome why =
        outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED, "405 method not allowed, supported: [POST]");
    pyroscope_count_refused(self, request, &why, 0);
    http_response_header(request, "Allow", "POST");
    http_respond(request, 405, "text/plain", view_of(why.text), 0);
}

static void handle(void *ctx, struct http_request *request)
{
    const char *path = http_request_path(request);
    const struct route *route = NULL;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (strcmp(path, routes[i].path) == 0)
            route = &routes[i];
    if (strcmp(path, "/ready") == 0)
        http_respond(request, 200, "text/plain", VIEW("ready\n"), 0);
    else if (!route)
        refuse_path(ctx, request);
    else if (strcmp(http_request_method(request), "POST") != 0)
        refuse_method(ctx, request);
    else
        route->handle(ctx, request);
}

/* Answers in the form of the path's other errors: OTLP's for OTLP, connect's for the others. */
static void deny(void *ctx, struct http_request *request, const struct outcome *outcome)
{
    const char *type = http_request_header(request, "Content-Type");
    struct bytes body;
    (void)ctx;
    if (strcmp(http_request_path(request), OTLP_PATH) == 0) {
        otlp_http_refuse(request, media_type_is(type, "application/json"), outcome);
        return;
    }
    bytes_init(&body, 4096, NULL);
    connect_error_encode(status_grpc(outcome), outcome->text, &body);
    http_respond(request, status_http(outcome), "application/json", bytes_view(&body),
                 outcome_retry_seconds(outcome));
    bytes_release(&body);
}

static struct listen_on pyroscope_place(const struct pyroscope_receiver *self)
{
    return LISTEN_ON(&self->http, "", "Pyroscope");
}

static void pyroscope_receiver_places(const void *config, place_visit_fn *visit, void *ctx)
{
    struct listen_on on = pyroscope_place(config);
    listen_place(&on, visit, ctx);
}

static void pyroscope_rehearse(const void *config, struct key_report *report)
{
    struct listen_on on = pyroscope_place(config);
    listen_rehearse(&on, report);
}

static void pyroscope_receiver_check(const void *config, struct key_report *report)
{
    const struct pyroscope_receiver *self = config;
    struct listen_on on = pyroscope_place(self);
    listen_check(&on, report);
    server_http_check(&self->http, "", report);
}

static bool pyroscope_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct pyroscope_receiver *self = instance;
    struct http_server_options options = {
        .budget = env->budget,
        .handler = handle,
        .deny = deny,
        .refuses_own = true,
        .refused = refused,
        .ctx = self,
    };
    struct listen_on on = pyroscope_place(self);
    self->env = env;
    server_http_apply(&self->http, &options);
    on.id = env->id;
    on.kind = env->kind;
    on.yields = &env->yields;
    self->server = listen_http(&on, &options, error, error_size);
    return self->server != NULL;
}

static void pyroscope_retire(void *instance)
{
    const struct pyroscope_receiver *self = instance;
    if (self->server)
        http_server_retire(self->server);
}

static void pyroscope_close(void *instance)
{
    struct pyroscope_receiver *self = instance;
    if (!self->server)
        return;
    http_server_drain(self->server);
    http_server_close(self->server, clock_mono(&clock_system) + DRAIN_GRACE_MS * NS_PER_MS);
    self->server = NULL;
}

static enum metadata_of pyroscope_metadata(const void *instance)
{
    const struct pyroscope_receiver *self = instance;
    return self->http.include_metadata ? METADATA_OF_ALL : METADATA_OF_NONE;
}

const struct component receiver_pyroscope = {
    .type = "pyroscope",
    .text = "profiles of the Pyroscope SDKs: /ingest, Push and OTLP",
    .stability = "beta",
    .kind = COMPONENT_RECEIVER,
    .signals = SIGNAL_BIT(SIGNAL_PROFILES),
    .encodings = BATCH_BIT(BATCH_PPROF) | BATCH_BIT(BATCH_OPAQUE) | BATCH_BIT(BATCH_OTLP),
    .size = sizeof(struct pyroscope_receiver),
    .keys = keys,
    .check = pyroscope_receiver_check,
    .metadata = pyroscope_metadata,
    .places = pyroscope_receiver_places,
    .rehearse = pyroscope_rehearse,
    .open = pyroscope_open,
    .retire = pyroscope_retire,
    .close = pyroscope_close,
};
