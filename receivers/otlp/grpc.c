/* The gRPC door. Codes: OTLP specification 1.11, "OTLP/gRPC"; see README.md. */
#include "receivers/otlp/otlp.h"

#include "pipeline/otlp_request.h"

#include <stdlib.h>

static const char *const paths[SIGNAL_COUNT] = {
    [SIGNAL_TRACES] = "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    [SIGNAL_METRICS] = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    [SIGNAL_LOGS] = "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    [SIGNAL_PROFILES] =
        "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
};

struct pending {
    struct otlp_receiver *self;
    struct grpc_call *call;
    enum signal signal;
    struct otlp_request read;
};

static bool path_signal(const struct otlp_receiver *self, const char *path, enum signal *signal)
{
    for (int i = 0; i < SIGNAL_COUNT; i++)
        if (self->env->intakes[i] && strcmp(path, paths[i]) == 0) {
            *signal = (enum signal)i;
            return true;
        }
    return false;
}

bool otlp_grpc_serves(void *ctx, const char *path)
{
    enum signal signal;
    return path_signal(ctx, path, &signal);
}

static void refuse(struct grpc_call *call, const struct outcome *outcome)
{
    uint64_t wait = outcome->verdict == VERDICT_RETRY ? outcome->retry_after_ns : 0;
    if (outcome->verdict == VERDICT_RETRY && wait == 0)
        wait = NS_PER_S;
    grpc_respond(call, status_grpc(outcome), outcome->text, wait, (struct view){0});
}

static void succeed(const struct pending *pending)
{
    struct bytes message;
    bytes_init(&message, 4096, NULL);
    export_response_encode((int)pending->signal, false, pending->read.rejected,
                           pending->read.reason, &message);
    grpc_respond(pending->call, GRPC_OK, "", 0, bytes_view(&message));
    bytes_release(&message);
}

static void finish(const struct pending *pending, const struct outcome *outcome)
{
    uint32_t valid = pending->read.received - pending->read.rejected;
    bool ok = outcome->verdict == VERDICT_OK;
    otlp_receiver_count(pending->self, pending->signal, pending->read.received, ok ? valid : 0);
    if (ok)
        succeed(pending);
    else
        refuse(pending->call, outcome);
}

static void done(void *ctx, const struct outcome *outcome)
{
    struct pending *pending = ctx;
    finish(pending, outcome);
    free(pending);
}

static void accept_batch(const struct pending *local)
{
    struct pending *pending = malloc(sizeof *pending);
    if (!pending) {
        struct outcome outcome = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
        finish(local, &outcome);
        batch_unref(local->read.batch);
        return;
    }
    *pending = *local;
    if (local->self->protocols.grpc.include_metadata) {
        bool failed;
        struct view tenant = view_of(grpc_call_metadata(local->call, "x-scope-orgid"));
        struct view authorization = view_of(grpc_call_metadata(local->call, "authorization"));
        batch_set_metadata(local->read.batch, metadata_new(tenant, authorization, &failed));
    }
    intake_accept(local->self->env->intakes[local->signal], local->read.batch, done, pending);
    batch_unref(local->read.batch);
}

void otlp_grpc_handle(void *ctx, struct grpc_call *call)
{
    struct pending pending = {.self = ctx, .call = call};
    struct bytes body;
    if (!path_signal(ctx, grpc_call_path(call), &pending.signal)) {
        grpc_respond(call, GRPC_UNIMPLEMENTED, "unknown service or method", 0, (struct view){0});
        return;
    }
    bytes_init(&body, 0, NULL);
    grpc_call_take_message(call, &body);
    struct outcome outcome = otlp_request_read(pending.signal, false, &body, &pending.read);
    bytes_release(&body);
    if (outcome.verdict != VERDICT_OK || !pending.read.batch)
        finish(&pending, &outcome);
    else
        accept_batch(&pending);
}
