/* What Pyroscope's statuses mean for a sender, according to the server's handlers. */
#include "exporters/pyroscope/pyroscope.h"

#include "lib/wire/proto/text.h"

#include <stdio.h>
#include <string.h>

enum { TRIES_ON_500 = 4, SHOWN_BODY = 150 };

static void add_text(struct outcome *outcome, const struct http_reply *reply)
{
    char shown[SHOWN_BODY + 1];
    text_shown(bytes_view(&reply->body), shown, sizeof shown);
    http_reply_tell(reply, shown, outcome->text, sizeof outcome->text);
}

static bool body_says(const struct http_reply *reply, const char *words)
{
    return reply->body.size &&
           memmem(reply->body.data, reply->body.size, words, strlen(words)) != NULL;
}

/* The cause of a status that is not retried. */
static enum cause refusal(const struct http_reply *reply)
{
    switch (reply->status) {
    case 401:
        return CAUSE_AUTH;
    case 403:
        return CAUSE_FORBIDDEN;
    case 413:
        return CAUSE_TOO_LARGE;
    case 508: /* a loop: the request came from this process */
        return CAUSE_LOOP;
    case 400:
    case 422:
        return CAUSE_INVALID;
    default:
        return CAUSE_UNSUPPORTED;
    }
}

static bool is_passing(long status)
{
    return status == 408 || status == 429 || (status >= 499 && status != 501 && status != 508);
}

struct outcome push_outcome(const struct http_reply *reply)
{
    struct outcome outcome = {.verdict = VERDICT_REJECT, .cause = refusal(reply)};
    if (reply->status == 0)
        return http_reply_failure(reply);
    if (http_reply_is_page(reply, &outcome))
        return outcome;
    if (reply->status / 100 == 2)
        return OUTCOME_OK;
    if (reply->status == 429 && body_says(reply, "larger than configured max")) {
        outcome.cause = CAUSE_TOO_LARGE; /* connect's message size limit: a retry cannot succeed */
    } else if (is_passing(reply->status)) {
        outcome.verdict = VERDICT_RETRY;
        outcome.cause = reply->status == 500 ? CAUSE_INTERNAL : CAUSE_UNAVAILABLE;
        outcome.max_tries = reply->status == 500 ? TRIES_ON_500 : 0;
        outcome.retry_after_ns = reply->retry_after_ns;
    }
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
