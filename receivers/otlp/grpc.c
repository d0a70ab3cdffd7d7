/* The gRPC server. Codes: OTLP specification 1.11, "OTLP/gRPC"; see README.md. */
#include "receivers/otlp/otlp.h"

static const char *const paths[SIGNAL_COUNT] = {
    [SIGNAL_TRACES] = "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    [SIGNAL_METRICS] = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    [SIGNAL_LOGS] = "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    [SIGNAL_PROFILES] =
        "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
};

bool otlp_grpc_serves(void *ctx, const char *path)
{
    const struct otlp_receiver *self = ctx;
    int signal = otlp_export_signal(path, paths);
    return signal < SIGNAL_COUNT && self->env->intakes[signal];
}

struct outcome otlp_grpc_unserved(void *ctx, const char *path)
{
    int signal = otlp_export_signal(path, paths);
    (void)ctx;
    if (signal < SIGNAL_COUNT)
        return otlp_outcome_no_pipeline((enum signal)signal);
    return outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED, "unknown service or method %.100s", path);
}

void otlp_grpc_refused(void *ctx, const char *path, const struct peer *peer,
                       const struct outcome *why)
{
    const struct otlp_receiver *self = ctx;
    const struct refusal refusal = {.transport = ADMISSION_GRPC,
                                    .signal = path ? otlp_export_signal(path, paths)
                                                   : ADMISSION_NO_SIGNAL,
                                    .why = why,
                                    .peer = peer};
    meter_refused(self->env->meter, &refusal);
}

static const struct peer *peer_of_call(const struct otlp_export *export)
{
    return grpc_call_peer(export->call);
}

static bool sends_metadata_on(const struct otlp_receiver *self)
{
    return self->protocols.grpc.include_metadata;
}

static bool checks_clients(const struct otlp_receiver *self)
{
    return self->protocols.grpc.auth.on;
}

static const char *header(const struct otlp_export *export, const char *name)
{
    return grpc_call_metadata(export->call, name);
}

static struct view headers(const struct otlp_export *export)
{
    return grpc_call_metadata_all(export->call);
}

static void grpc_refuse(const struct otlp_export *export, const struct outcome *outcome)
{
    grpc_respond(export->call, status_grpc(outcome), outcome->text,
                 outcome_retry_seconds(outcome) * NS_PER_S, (struct view){0});
}

static void succeed(const struct otlp_export *export, uint32_t rejected, const char *reason)
{
    struct bytes message;
    bytes_init(&message, 4096, NULL);
    export_response_encode((int)export->signal, false, rejected, reason, &message);
    grpc_respond(export->call, GRPC_OK, "", 0, bytes_view(&message));
    bytes_release(&message);
}

static const struct otlp_transport transport = {.transport = ADMISSION_GRPC,
                                                .peer = peer_of_call,
                                                .sends_metadata_on = sends_metadata_on,
                                                .checks_clients = checks_clients,
                                                .header = header,
                                                .headers = headers,
                                                .succeed = succeed,
                                                .refuse = grpc_refuse};

void otlp_grpc_handle(void *ctx, struct grpc_call *call)
{
    struct otlp_export export = {.self = ctx, .transport = &transport, .call = call};
    struct bytes message;
    export.signal = (enum signal)otlp_export_signal(grpc_call_path(call), paths);
    bytes_init(&message, 0, NULL);
    grpc_call_take_message(call, &message);
    otlp_export_run(&export, &message);
    bytes_release(&message);
}
