/* The HTTP door. Statuses: OTLP specification 1.11, "OTLP/HTTP"; see README.md. */
#include "receivers/otlp/otlp.h"

#include "pipeline/otlp_request.h"

#include <stdlib.h>
#include <string.h>

#define TYPE_PROTOBUF "application/x-protobuf"
#define TYPE_JSON "application/json"

/* One request between its acceptance and its answer. */
struct pending {
    struct otlp_receiver *self;
    struct http_request *request;
    enum signal signal;
    bool json;
    unsigned status; /* for a refusal; 0: by the table */
    struct otlp_request read;
};

static void finish(const struct pending *pending, const struct outcome *outcome)
{
    uint32_t valid = pending->read.received - pending->read.rejected;
    bool ok = outcome->verdict == VERDICT_OK;
    otlp_receiver_count(pending->self, pending->signal, pending->read.received, ok ? valid : 0);
    if (ok)
        otlp_http_succeed(pending->request, pending->signal, pending->json,
                          pending->read.rejected, pending->read.reason);
    else
        otlp_http_refuse(pending->request, pending->json, pending->status, outcome);
}

static void done(void *ctx, const struct outcome *outcome)
{
    struct pending *pending = ctx;
    finish(pending, outcome);
    free(pending);
}

static struct metadata *request_metadata(const struct otlp_receiver *self,
                                         const struct http_request *request)
{
    bool failed;
    if (!self->protocols.http.include_metadata)
        return NULL;
    return metadata_new(view_of(http_request_header(request, "X-Scope-OrgID")),
                        view_of(http_request_header(request, "Authorization")), &failed);
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
    batch_set_metadata(local->read.batch, request_metadata(local->self, local->request));
    intake_accept(local->self->env->intakes[local->signal], local->read.batch, done, pending);
    batch_unref(local->read.batch);
}

static void handle_export(struct otlp_receiver *self, struct http_request *request,
                          enum signal signal, bool json)
{
    struct pending pending = {.self = self, .request = request, .signal = signal, .json = json};
    struct bytes body;
    bytes_init(&body, (size_t)self->protocols.http.max_request_body_size, self->env->budget);
    struct outcome outcome = request_take_body(request, &body);
    if (outcome.cause == CAUSE_UNSUPPORTED)
        pending.status = 400; /* an unknown encoding, as the Collector answers it */
    if (outcome.verdict == VERDICT_OK)
        outcome = otlp_request_read(signal, json, &body, &pending.read);
    bytes_release(&body);
    if (outcome.verdict != VERDICT_OK || !pending.read.batch)
        finish(&pending, &outcome);
    else
        accept_batch(&pending);
}

static bool path_signal(const struct otlp_receiver *self, const char *path, enum signal *signal)
{
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        const char *own = i == SIGNAL_PROFILES ? "/v1development/profiles" : self->protocols.http.paths[i];
        const char *wanted = *own == '/' ? path : path + 1;
        if (self->env->intakes[i] && *path == '/' && strcmp(wanted, own) == 0) {
            *signal = (enum signal)i;
            return true;
        }
    }
    return false;
}

void otlp_http_handle(void *ctx, struct http_request *request)
{
    struct otlp_receiver *self = ctx;
    const char *type = http_request_header(request, "Content-Type");
    bool protobuf = media_type_is(type, TYPE_PROTOBUF);
    bool json = media_type_is(type, TYPE_JSON);
    enum signal signal;
    if (!path_signal(self, http_request_path(request), &signal)) {
        http_respond(request, 404, "text/plain", VIEW("404 page not found\n"), 0);
    } else if (strcmp(http_request_method(request), "POST") != 0) {
        http_response_header(request, "Allow", "POST");
        http_respond(request, 405, "text/plain",
                     VIEW("405 method not allowed, supported: [POST]"), 0);
    } else if (!protobuf && (!json || signal == SIGNAL_PROFILES)) {
        struct outcome outcome = outcome_of(
            VERDICT_REJECT, CAUSE_UNSUPPORTED, "unsupported media type, supported: [%s%s]",
            signal == SIGNAL_PROFILES ? "" : "application/json, ", TYPE_PROTOBUF);
        otlp_http_refuse(request, true, 415, &outcome);
    } else {
        handle_export(self, request, signal, json);
    }
}
