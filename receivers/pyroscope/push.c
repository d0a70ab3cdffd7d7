/* POST /push.v1.PusherService/Push: a unary connect call (Pyroscope push/v1, connect protocol). */
#include "receivers/pyroscope/pyroscope.h"

#include "lib/base/utf8.h"
#include "lib/wire/http/status.h"
#include "lib/wire/pprof/push.h"

#include <stdlib.h>

/* Each takes memory beside its bytes. Clients send one, or one of each kind. */
enum { PROFILES_MOST = 4096 };

static bool push_is_json(const struct http_request *request)
{
    return media_type_is(http_request_header(request, "Content-Type"), "application/json");
}

static void answer_error(struct http_request *request, unsigned status, enum grpc_code code,
                         const struct outcome *outcome)
{
    struct bytes body;
    bytes_init(&body, 4096, NULL);
    connect_error_encode(code, outcome->text, &body);
    http_respond(request, status, "application/json", bytes_view(&body),
                 outcome_retry_seconds(outcome));
    bytes_release(&body);
}

static void push_answer(const struct pyroscope_receiver *self, struct http_request *request,
                        const struct outcome *outcome)
{
    (void)self;
    if (outcome->verdict == VERDICT_OK)
        http_respond(request, 200, push_is_json(request) ? "application/json" : "application/proto",
                     push_is_json(request) ? VIEW("{}") : VIEW(""), 0);
    else if (outcome->cause == CAUSE_UNSUPPORTED || outcome->cause == CAUSE_ENCODING)
        answer_error(request, 501, GRPC_UNIMPLEMENTED, outcome);
    else if (outcome->verdict == VERDICT_REJECT && status_http(outcome) >= 500)
        /* Permanently refused; Alloy would retry `internal`. */
        answer_error(request, 400, GRPC_INVALID_ARGUMENT, outcome);
    else
        answer_error(request, status_http(outcome), status_grpc(outcome), outcome);
}

static struct outcome read_message(const struct pyroscope_receiver *self,
                                   struct http_request *request, struct bytes *message)
{
    bytes_init(message, (size_t)self->http.max_request_body_size, self->env->budget);
    struct outcome outcome = request_take_body(request, message);
    if (outcome.verdict == VERDICT_OK && push_is_json(request)) {
        struct bytes binary;
        const char *reason = "";
        bytes_init(&binary, message->max, message->budget);
        if (!push_from_json(bytes_view(message), &binary, &reason))
            outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "malformed JSON: %s", reason);
        bytes_release(message);
        *message = binary;
    }
    struct proto_fault fault;
    if (outcome.verdict == VERDICT_OK &&
        !proto_check(&shape_push_request, bytes_view(message), &fault))
        outcome =
            outcome_of(VERDICT_REJECT, CAUSE_INVALID, "malformed protobuf: %s in %s, field %u",
                       fault.reason, fault.message, fault.field);
    return outcome;
}

/* What makes a series unfit to be sent. NULL: nothing. */
static const char *series_fault(const struct series *series, size_t sent)
{
    if (series->count < sent)
        return "a series has a duplicate label name";
    if (series_get(series, VIEW("__name__")).size == 0)
        return "a series has no label __name__, the profile's type";
    for (size_t i = 0; i < series->count; i++)
        if (!utf8_valid(series->labels[i].name) || !utf8_valid(series->labels[i].value))
            return "a label is not valid UTF-8";
    return NULL;
}

/* The labels of a series. NULL: the outcome says why. */
static struct series *read_series(const struct pyroscope_receiver *self, struct view body,
                                  struct outcome *outcome)
{
    struct series *series = push_series_labels(body);
    const char *fault = series ? series_fault(series, push_series_count(body)) : NULL;
    *outcome = !series ? outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory")
               : fault ? outcome_of(VERDICT_REJECT, CAUSE_INVALID, "%s", fault)
                       : check_labels(self, series);
    if (outcome->verdict == VERDICT_OK)
        return series;
    series_unref(series);
    return NULL;
}

static struct outcome add_profile(const struct pyroscope_receiver *self, struct view raw_profile,
                                  struct series *series, struct submission *submission)
{
    const struct pprof_source way = {.by_ingest = false};
    struct batch *batch;
    struct outcome outcome = pprof_batch(self, raw_profile, &way, series_ref(series), &batch);
    if (batch && !submission_add(submission, batch))
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    return outcome;
}

/* The labels of a series are read once, however many profiles it has. */
static struct outcome add_profiles(const struct pyroscope_receiver *self, struct view request,
                                   struct submission *submission)
{
    struct push_walk walk;
    struct push_profile profile;
    struct series *series = NULL;
    const uint8_t *body = NULL;
    size_t count = 0;
    struct outcome outcome = OUTCOME_OK;
    push_walk_begin(&walk, request);
    while (outcome.verdict == VERDICT_OK && push_walk_next(&walk, &profile)) {
        if (body != profile.series.data) {
            body = profile.series.data;
            series_unref(series);
            series = read_series(self, profile.series, &outcome);
        }
        if (!series || !profile.raw_profile.size)
            continue;
        outcome = ++count > PROFILES_MOST
                      ? outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                                   "a request with more than %d profiles: send them in several",
                                   PROFILES_MOST)
                      : add_profile(self, profile.raw_profile, series, submission);
    }
    series_unref(series);
    return outcome;
}

void handle_push(const struct pyroscope_receiver *self, struct http_request *request)
{
    const char *type = http_request_header(request, "Content-Type");
    if (!push_is_json(request) && !media_type_is(type, "application/proto")) {
        struct outcome why = outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED,
                                        "415 unsupported media type, supported: "
                                        "[application/json, application/proto]");
        pyroscope_count_refused(self, request, &why, 0);
        http_response_header(request, "Accept-Post", "application/json, application/proto");
        http_respond(request, 415, "text/plain", view_of(why.text), 0);
        return;
    }
    struct bytes message;
    struct outcome outcome = read_message(self, request, &message);
    struct submission *submission = submission_new(self, request, push_answer);
    if (!submission)
        outcome = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    else if (outcome.verdict == VERDICT_OK)
        outcome = add_profiles(self, bytes_view(&message), submission);
    bytes_release(&message);
    if (!submission) {
        pyroscope_count_refused(self, request, &outcome, 0);
        push_answer(self, request, &outcome);
    } else if (outcome.verdict == VERDICT_OK) {
        submission_offer(submission);
    } else {
        submission_refuse(submission, &outcome);
    }
}
