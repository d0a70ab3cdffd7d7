#include "lib/wire/http/status.h"

#include <string.h>

struct status_row {
    unsigned http;
    enum grpc_code grpc;
};

/* Statuses of permanent refusals. RETRY is 503 and UNAVAILABLE for every cause. */
static const struct status_row rejects[CAUSE_COUNT] = {
    [CAUSE_NONE] = {500, GRPC_INTERNAL},
    [CAUSE_INVALID] = {400, GRPC_INVALID_ARGUMENT},
    [CAUSE_TOO_LARGE] = {413, GRPC_RESOURCE_EXHAUSTED},
    [CAUSE_UNSUPPORTED] = {415, GRPC_UNIMPLEMENTED},
    [CAUSE_AUTH] = {401, GRPC_UNAUTHENTICATED},
    [CAUSE_FORBIDDEN] = {403, GRPC_PERMISSION_DENIED},
    [CAUSE_FULL] = {500, GRPC_INTERNAL},
    [CAUSE_MEMORY] = {500, GRPC_INTERNAL},
    [CAUSE_UNAVAILABLE] = {500, GRPC_INTERNAL},
    [CAUSE_SHUTDOWN] = {500, GRPC_INTERNAL},
    [CAUSE_INTERNAL] = {500, GRPC_INTERNAL},
    [CAUSE_ENCODING] = {415, GRPC_UNIMPLEMENTED},
    [CAUSE_SLOW] = {408, GRPC_INTERNAL},
    [CAUSE_NO_PIPELINE] = {404, GRPC_UNIMPLEMENTED},
    [CAUSE_TLS] = {400, GRPC_INTERNAL},
    [CAUSE_LOOP] = {508, GRPC_INTERNAL},
    [CAUSE_REVOKED] = {500, GRPC_INTERNAL},
    [CAUSE_INCOMPLETE] = {400, GRPC_INTERNAL},
};

static struct status_row row_of(const struct outcome *outcome)
{
    switch (outcome->verdict) {
    case VERDICT_OK:
        return (struct status_row){200, GRPC_OK};
    case VERDICT_RETRY:
        return (struct status_row){503, GRPC_UNAVAILABLE};
    case VERDICT_REJECT:
        break;
    }
    return rejects[outcome->cause];
}

unsigned status_http(const struct outcome *outcome)
{
    return row_of(outcome).http;
}

enum grpc_code status_grpc(const struct outcome *outcome)
{
    return row_of(outcome).grpc;
}

static enum cause cause_of_http(long http)
{
    switch (http) {
    case 400:
    case 422:
        return CAUSE_INVALID;
    case 401:
        return CAUSE_AUTH;
    case 403:
        return CAUSE_FORBIDDEN;
    case 404:
    case 405:
    case 415:
    case 501:
        return CAUSE_UNSUPPORTED;
    case 413:
        return CAUSE_TOO_LARGE;
    default:
        return http / 100 == 3 ? CAUSE_UNSUPPORTED : CAUSE_INTERNAL;
    }
}

struct outcome status_from_http(long http)
{
    if (http >= 200 && http < 300)
        return OUTCOME_OK;
    if (http == 429 || http == 502 || http == 503 || http == 504)
        return outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "HTTP status %ld", http);
    return outcome_of(VERDICT_REJECT, cause_of_http(http), "HTTP status %ld", http);
}

/* Every gRPC code: both spellings of its name, and its meaning when a backend returns it. */
static const struct {
    const char *name;
    const char *connect;
    enum verdict verdict;
    enum cause cause;
} codes[] = {
    [0] = {"OK", "ok", VERDICT_OK, CAUSE_NONE},
    [1] = {"CANCELLED", "canceled", VERDICT_RETRY, CAUSE_UNAVAILABLE},
    [2] = {"UNKNOWN", "unknown", VERDICT_REJECT, CAUSE_INTERNAL},
    [3] = {"INVALID_ARGUMENT", "invalid_argument", VERDICT_REJECT, CAUSE_INVALID},
    [4] = {"DEADLINE_EXCEEDED", "deadline_exceeded", VERDICT_RETRY, CAUSE_UNAVAILABLE},
    [5] = {"NOT_FOUND", "not_found", VERDICT_REJECT, CAUSE_UNSUPPORTED},
    [6] = {"ALREADY_EXISTS", "already_exists", VERDICT_REJECT, CAUSE_INVALID},
    [7] = {"PERMISSION_DENIED", "permission_denied", VERDICT_REJECT, CAUSE_FORBIDDEN},
    [8] = {"RESOURCE_EXHAUSTED", "resource_exhausted", VERDICT_REJECT, CAUSE_UNAVAILABLE},
    [9] = {"FAILED_PRECONDITION", "failed_precondition", VERDICT_REJECT, CAUSE_INVALID},
    [10] = {"ABORTED", "aborted", VERDICT_RETRY, CAUSE_UNAVAILABLE},
    [11] = {"OUT_OF_RANGE", "out_of_range", VERDICT_RETRY, CAUSE_UNAVAILABLE},
    [12] = {"UNIMPLEMENTED", "unimplemented", VERDICT_REJECT, CAUSE_UNSUPPORTED},
    [13] = {"INTERNAL", "internal", VERDICT_REJECT, CAUSE_INTERNAL},
    [14] = {"UNAVAILABLE", "unavailable", VERDICT_RETRY, CAUSE_UNAVAILABLE},
    [15] = {"DATA_LOSS", "data_loss", VERDICT_RETRY, CAUSE_UNAVAILABLE},
    [16] = {"UNAUTHENTICATED", "unauthenticated", VERDICT_REJECT, CAUSE_AUTH},
};

static unsigned known_code(int code)
{
    return code >= 0 && (size_t)code < sizeof codes / sizeof codes[0] ? (unsigned)code
                                                                      : GRPC_UNKNOWN;
}

/* "received message larger than max (...)" and the like. */
static bool mentions_maximum(const char *message)
{
    return message && (strcasestr(message, "max") || strcasestr(message, "larger than") ||
                       strcasestr(message, "too large"));
}

struct outcome status_from_grpc(int code, bool has_retry_info, const char *message)
{
    unsigned known = known_code(code);
    enum verdict verdict = codes[known].verdict;
    enum cause cause = codes[known].cause;
    if (known == GRPC_OK)
        return OUTCOME_OK;
    if (known == GRPC_RESOURCE_EXHAUSTED && has_retry_info)
        verdict = VERDICT_RETRY;
    else if (known == GRPC_RESOURCE_EXHAUSTED && mentions_maximum(message))
        cause = CAUSE_TOO_LARGE;
    struct outcome outcome =
        outcome_of(verdict, cause, "%s: %s", codes[known].name, message ? message : "");
    /* Servers answer INTERNAL to what their decoder refuses, such as a text that is not UTF-8. */
    outcome.part_may_pass = known == GRPC_INTERNAL;
    return outcome;
}

const char *grpc_code_name(enum grpc_code code)
{
    return codes[known_code((int)code)].name;
}

const char *connect_code_name(enum grpc_code code)
{
    return codes[known_code((int)code)].connect;
}
