/* POST /v1development/profiles: OTLP profiles on the Pyroscope address, as the Java agent sends. */
#include "receivers/pyroscope/pyroscope.h"

#include "pipeline/otlp_request.h"

static void answer(const struct pyroscope_receiver *self, struct http_request *request,
                   const struct outcome *outcome)
{
    (void)self;
    if (outcome->verdict == VERDICT_OK)
        otlp_http_succeed(request, SIGNAL_PROFILES, false, 0, NULL);
    else
        otlp_http_refuse(request, false, outcome);
}

static struct outcome read_request(const struct pyroscope_receiver *self,
                                   struct http_request *request, struct batch **batch)
{
    struct bytes body;
    struct otlp_request read = {0};
    bytes_init(&body, (size_t)self->max_request_body_size, self->env->budget);
    struct outcome outcome = otlp_http_take_body(request, &body);
    if (outcome.verdict == VERDICT_OK)
        outcome = otlp_request_read(SIGNAL_PROFILES, false, &body, &read);
    bytes_release(&body);
    *batch = read.batch;
    return outcome;
}

static bool is_protobuf(const struct http_request *request)
{
    const char *type = http_request_header(request, "Content-Type");
    return media_type_is(type, "application/x-protobuf") ||
           media_type_is(type, "application/protobuf");
}

void handle_otlp(const struct pyroscope_receiver *self, struct http_request *request)
{
    struct batch *batch = NULL;
    struct outcome outcome =
        is_protobuf(request)
            ? read_request(self, request, &batch)
            : outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED,
                         "unsupported media type, supported: [application/x-protobuf]");
    submission_run(self, request, answer, &outcome, batch);
}
