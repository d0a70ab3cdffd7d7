/* POST /v1development/profiles: OTLP profiles sent to the Pyroscope address, as by the Java agent.
 */
#include "receivers/pyroscope/pyroscope.h"

#include "pipeline/otlp_request.h"

static bool otlp_is_json(const struct http_request *request)
{
    return media_type_is(http_request_header(request, "Content-Type"), "application/json");
}

static bool is_protobuf(const struct http_request *request)
{
    const char *type = http_request_header(request, "Content-Type");
    return media_type_is(type, "application/x-protobuf") ||
           media_type_is(type, "application/protobuf");
}

static void otlp_answer(const struct pyroscope_receiver *self, struct http_request *request,
                        const struct outcome *outcome)
{
    bool json = otlp_is_json(request);
    (void)self;
    if (outcome->verdict == VERDICT_OK)
        otlp_http_succeed(request, SIGNAL_PROFILES, json, outcome->rejected,
                          outcome->rejected ? outcome->text : NULL);
    else
        otlp_http_refuse(request, json, outcome);
}

static struct outcome otlp_read_request(const struct pyroscope_receiver *self,
                                        struct http_request *request, struct batch **batch)
{
    struct bytes body;
    struct otlp_request read = {0};
    bytes_init(&body, (size_t)self->http.max_request_body_size, self->env->budget);
    struct outcome outcome = request_take_body(request, &body);
    if (outcome.verdict == VERDICT_OK)
        outcome = otlp_request_read(SIGNAL_PROFILES, otlp_is_json(request), &body, &read);
    bytes_release(&body);
    *batch = read.batch;
    return outcome;
}

void handle_otlp(const struct pyroscope_receiver *self, struct http_request *request)
{
    struct batch *batch = NULL;
    struct outcome outcome =
        is_protobuf(request) || otlp_is_json(request)
            ? otlp_read_request(self, request, &batch)
            : outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED,
                         "unsupported media type, supported: [application/json, "
                         "application/x-protobuf]");
    submission_run(self, request, otlp_answer, &outcome, batch);
}
