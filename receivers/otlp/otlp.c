#include "receivers/otlp/otlp.h"

#include "lib/net/server/listen.h"

#include <stdio.h>

enum { MAX_CONNECTIONS = 4096, DRAIN_GRACE_MS = 2000, MESSAGE_MIB = 64, STREAMS = 256 };

static const struct key grpc_keys[] = {
    KEY_STRING(struct otlp_grpc_settings, endpoint, "endpoint", "localhost:4317", KEY_REQUIRED,
               "where to listen: host:port, [ipv6]:port or unix:/path"),
    KEY_CHOICE(struct otlp_grpc_settings, transport, "transport", "tcp", listen_transports,
               "tcp, or unix with a path as endpoint"),
    KEY_INT(struct otlp_grpc_settings, max_recv_msg_size_mib, "max_recv_msg_size_mib", "64", 0,
            2047, "largest message in MiB, before and after decompression; 0: the default"),
    KEY_INT(struct otlp_grpc_settings, max_concurrent_streams, "max_concurrent_streams", "256", 0,
            100000, "maximum concurrent calls on one connection; 0: the default"),
    KEY_INT(struct otlp_grpc_settings, threads, "threads", "1", 1, 64,
            "threads that read connections"),
    AUTH_SERVER_KEY(struct otlp_grpc_settings, auth),
    KEY_BOOL(struct otlp_grpc_settings, include_metadata, "include_metadata", "false",
             "forward the client's X-Scope-OrgID and, without auth, Authorization"),
    KEY_GROUP(struct otlp_grpc_settings, keepalive, struct grpc_keepalive_settings, "keepalive",
              grpc_keepalive_keys, "lifetime of connections, and how often clients may ping"),
    TLS_SERVER_KEY(struct otlp_grpc_settings, tls),
    KEY_IGNORED("read_buffer_size", "accepted; spanlink sizes its own buffers"),
    KEY_IGNORED("write_buffer_size", "accepted; spanlink sizes its own buffers"),
    KEY_END,
};

static const struct key http_keys[] = {
    SERVER_HTTP_KEYS(struct otlp_http_settings, server, "localhost:4318"),
    KEY_STRING(struct otlp_http_settings, paths[SIGNAL_TRACES], "traces_url_path", "/v1/traces", 0,
               "path of traces"),
    KEY_STRING(struct otlp_http_settings, paths[SIGNAL_METRICS], "metrics_url_path", "/v1/metrics",
               0, "path of metrics"),
    KEY_STRING(struct otlp_http_settings, paths[SIGNAL_LOGS], "logs_url_path", "/v1/logs", 0,
               "path of logs"),
    KEY_IGNORED("read_timeout", "accepted; a body has 10s for its next byte, and a minimum rate"),
    KEY_IGNORED("write_timeout", "accepted; idle_timeout limits a slow reader"),
    KEY_END,
};

static const struct key protocol_keys[] = {
    KEY_SWITCHED(struct otlp_protocols, grpc, struct otlp_grpc_settings, has_grpc, "grpc",
                 grpc_keys, "OTLP over gRPC; enabled if this key is present"),
    KEY_SWITCHED(struct otlp_protocols, http, struct otlp_http_settings, has_http, "http",
                 http_keys, "OTLP over HTTP; enabled if this key is present"),
    KEY_END,
};

static const struct key keys[] = {
    KEY_GROUP(struct otlp_receiver, protocols, struct otlp_protocols, "protocols", protocol_keys,
              "which protocols are served"),
    KEY_END,
};

static struct listen_on grpc_place(const struct otlp_receiver *self)
{
    return LISTEN_ON(&self->protocols.grpc, "protocols.grpc.", "OTLP over gRPC");
}

static struct listen_on http_place(const struct otlp_receiver *self)
{
    return LISTEN_ON(&self->protocols.http.server, "protocols.http.", "OTLP over HTTP");
}

static void otlp_receiver_check(const void *config, struct key_report *report)
{
    const struct otlp_receiver *self = config;
    struct listen_on grpc = grpc_place(self), http = http_place(self);
    if (!self->protocols.has_grpc && !self->protocols.has_http)
        key_report_add(report, "protocols",
                       "must specify at least one protocol, expected grpc or http");
    if (self->protocols.has_grpc)
        listen_check(&grpc, report);
    if (self->protocols.has_http) {
        listen_check(&http, report);
        server_http_check(&self->protocols.http.server, "protocols.http.", report);
    }
}

static void otlp_places(const void *config, place_visit_fn *visit, void *ctx)
{
    const struct otlp_receiver *self = config;
    struct listen_on grpc = grpc_place(self), http = http_place(self);
    if (self->protocols.has_grpc)
        listen_place(&grpc, visit, ctx);
    if (self->protocols.has_http)
        listen_place(&http, visit, ctx);
}

static void otlp_rehearse(const void *config, struct key_report *report)
{
    const struct otlp_receiver *self = config;
    struct listen_on grpc = grpc_place(self), http = http_place(self);
    if (self->protocols.has_grpc)
        listen_rehearse(&grpc, report);
    if (self->protocols.has_http)
        listen_rehearse(&http, report);
}

static bool open_http(struct otlp_receiver *self, char *error, size_t error_size)
{
    struct http_server_options options = {
        .budget = self->env->budget,
        .handler = otlp_http_handle,
        .deny = otlp_http_deny,
        .refuses_own = true,
        .refused = otlp_http_refused,
        .grpc_is_at = self->grpc_is_at,
        .ctx = self,
    };
    struct listen_on on = http_place(self);
    server_http_apply(&self->protocols.http.server, &options);
    on.id = self->env->id;
    on.kind = self->env->kind;
    on.yields = &self->env->yields;
    self->http_server = listen_http(&on, &options, error, error_size);
    return self->http_server != NULL;
}

static bool open_grpc(struct otlp_receiver *self, char *error, size_t error_size)
{
    const struct otlp_grpc_settings *grpc = &self->protocols.grpc;
    struct grpc_server_options options = {
        .max_message =
            (size_t)(grpc->max_recv_msg_size_mib ? grpc->max_recv_msg_size_mib : MESSAGE_MIB) << 20,
        .threads = (unsigned)grpc->threads,
        .max_connections = MAX_CONNECTIONS,
        .max_concurrent_streams =
            (unsigned)(grpc->max_concurrent_streams ? grpc->max_concurrent_streams : STREAMS),
        .idle_timeout_ns = grpc->keepalive.server.max_connection_idle,
        .keepalive = grpc->keepalive,
        .header_timeout_ns = 10 * NS_PER_S,
        .stall_timeout_ns = 60 * NS_PER_S,
        .budget = self->env->budget,
        .handler = otlp_grpc_handle,
        .serves = otlp_grpc_serves,
        .unserved = otlp_grpc_unserved,
        .auth = grpc->auth.by,
        .refuses_own = true,
        .refused = otlp_grpc_refused,
        .http_is_at = self->http_is_at,
        .ctx = self,
    };
    struct listen_on on = grpc_place(self);
    on.id = self->env->id;
    on.kind = self->env->kind;
    on.yields = &self->env->yields;
    self->grpc_server = listen_grpc(&on, &options, error, error_size);
    return self->grpc_server != NULL;
}

/* Writes where the server of the other protocol listens, as the end of an error sentence. endpoint
 * NULL: that protocol is not served. */
static void write_hint(const char *endpoint, const char *key, char *out, size_t size)
{
    const char *colon = endpoint ? strrchr(endpoint, ':') : NULL;
    if (!endpoint)
        snprintf(out, size, "this receiver has no %s", key);
    else if (colon && colon[1] >= '0' && colon[1] <= '9')
        snprintf(out, size, "point it at port %.5s, %s", colon + 1, key);
    else
        snprintf(out, size, "point it at %.100s, %s", endpoint, key);
}

static bool otlp_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct otlp_receiver *self = instance;
    const struct otlp_protocols *protocols = &self->protocols;
    self->env = env;
    write_hint(protocols->has_grpc ? protocols->grpc.endpoint : NULL, "protocols.grpc",
               self->grpc_is_at, sizeof self->grpc_is_at);
    write_hint(protocols->has_http ? protocols->http.server.endpoint : NULL, "protocols.http",
               self->http_is_at, sizeof self->http_is_at);
    return (!self->protocols.has_grpc || open_grpc(self, error, error_size)) &&
           (!self->protocols.has_http || open_http(self, error, error_size));
}

static void otlp_retire(void *instance)
{
    const struct otlp_receiver *self = instance;
    if (self->http_server)
        http_server_retire(self->http_server);
    if (self->grpc_server)
        grpc_server_retire(self->grpc_server);
}

static void otlp_close(void *instance)
{
    struct otlp_receiver *self = instance;
    if (self->http_server)
        http_server_drain(self->http_server);
    if (self->grpc_server)
        grpc_server_drain(self->grpc_server);
    uint64_t deadline = clock_mono(&clock_system) + DRAIN_GRACE_MS * NS_PER_MS;
    if (self->http_server)
        http_server_close(self->http_server, deadline);
    if (self->grpc_server)
        grpc_server_close(self->grpc_server, deadline);
    self->http_server = NULL;
    self->grpc_server = NULL;
}

static enum metadata_of otlp_metadata(const void *instance)
{
    const struct otlp_protocols *on = &((const struct otlp_receiver *)instance)->protocols;
    bool grpc = on->has_grpc && on->grpc.include_metadata;
    bool http = on->has_http && on->http.server.include_metadata;
    if (!grpc && !http)
        return METADATA_OF_NONE;
    return grpc == on->has_grpc && http == on->has_http ? METADATA_OF_ALL : METADATA_OF_SOME;
}

const struct component receiver_otlp = {
    .type = "otlp",
    .text = "OTLP traces, metrics, logs and profiles over gRPC and HTTP",
    .stability = "beta",
    .kind = COMPONENT_RECEIVER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP),
    .size = sizeof(struct otlp_receiver),
    .keys = keys,
    .check = otlp_receiver_check,
    .metadata = otlp_metadata,
    .places = otlp_places,
    .rehearse = otlp_rehearse,
    .open = otlp_open,
    .retire = otlp_retire,
    .close = otlp_close,
};
