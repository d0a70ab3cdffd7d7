/* What Pyroscope's statuses mean for a sender (read off the server's handlers). */
#include "exporters/pyroscope/pyroscope.h"

#include "wire/status.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { TRIES_ON_500 = 4 };

static void add_text(struct outcome *outcome, const struct http_reply *reply)
{
    int size = reply->body.size > 150 ? 150 : (int)reply->body.size;
    snprintf(outcome->text, sizeof outcome->text, "HTTP %ld: %.*s", reply->status, size,
             size ? (const char *)reply->body.data : "");
}

static bool body_says(const struct http_reply *reply, const char *words)
{
    return reply->body.size &&
           memmem(reply->body.data, reply->body.size, words, strlen(words)) != NULL;
}

/* 429 for a message that can never fit: connect's own limit. */
static bool too_large_for_ever(const struct http_reply *reply)
{
    return reply->status == 413 || body_says(reply, "larger than configured max");
}

struct outcome push_outcome(const struct http_reply *reply)
{
    struct outcome outcome = {.verdict = VERDICT_REJECT, .cause = CAUSE_INVALID};
    if (reply->status == 0)
        return outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "%s", reply->error);
    if (reply->status / 100 == 2)
        return OUTCOME_OK;
    if (too_large_for_ever(reply))
        outcome.cause = CAUSE_TOO_LARGE;
    else if (reply->status == 401)
        outcome.cause = CAUSE_AUTH;
    else if (reply->status == 403)
        outcome.cause = CAUSE_FORBIDDEN;
    else if (reply->status == 404 || reply->status == 405 || reply->status == 415 ||
             reply->status == 501)
        outcome.cause = CAUSE_UNSUPPORTED;
    else if (reply->status == 408 || reply->status == 429 || reply->status >= 499)
        outcome = (struct outcome){.verdict = VERDICT_RETRY, .cause = CAUSE_UNAVAILABLE};
    if (reply->status == 500)
        outcome.max_tries = TRIES_ON_500;
    outcome.retry_after_ns = reply->retry_after_ns;
    add_text(&outcome, reply);
    return outcome;
}

struct outcome ingest_outcome(const struct http_reply *reply)
{
    static const char *const passing[] = {"resource_exhausted", "unavailable", "deadline",
                                          "canceled", "context"};
    struct outcome outcome = push_outcome(reply);
    for (size_t i = 0; reply->status == 422 && i < sizeof passing / sizeof *passing; i++)
        if (body_says(reply, passing[i])) {
            outcome.verdict = VERDICT_RETRY;
            outcome.cause = CAUSE_UNAVAILABLE;
        }
    return outcome;
}
