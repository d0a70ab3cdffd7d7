/* Forwards bodies received by /ingest to the server's /ingest. */
#include "exporters/pyroscope/pyroscope.h"

#include "lib/wire/http/http_query.h"
#include "lib/wire/jfr/jfr_upload.h"
#include "lib/wire/pprof/ingest_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attempts for a body with several series, once the server may have stored some of them. */
enum { SERIES_ATTEMPTS = 3 };

/* The profile's time: the query's `from`, because the body is not parsed. */
static uint64_t opaque_time(const struct opaque_request *opaque)
{
    char text[32];
    return http_query_get(opaque->query, "from", text, sizeof text) ? ingest_time_parse(text) : 0;
}

static bool is_format(const struct opaque_request *opaque, const char *name)
{
    char format[16];
    return http_query_get(opaque->query, "format", format, sizeof format) &&
           strcmp(format, name) == 0;
}

/* The server splits JFR and speedscope bodies into several series and stores them one by one. If it
 * then asks for a retry, it has already stored some of them, and stores those again each time. */
static void limit_tries(const struct opaque_request *opaque, const struct post *post,
                        struct outcome *outcome)
{
    bool filing = post->status == 422 || post->status == 429 || post->status == 499 ||
                  post->status == 500 || post->status == 504;
    if (outcome->verdict != VERDICT_RETRY || !filing ||
        !(is_format(opaque, "jfr") || is_format(opaque, "speedscope")))
        return;
    char said[sizeof outcome->text];
    memcpy(said, outcome->text, sizeof said);
    outcome->max_tries = SERIES_ATTEMPTS;
    snprintf(outcome->text, sizeof outcome->text,
             "the server may have stored a part of it, which each retry duplicates: %.120s", said);
}

static struct outcome post_body(struct pyroscope_exporter *self, const struct batch *batch,
                                struct view body)
{
    const struct opaque_request *opaque = batch->opaque;
    char *url = NULL;
    if (asprintf(&url, "%s?%s", self->ingest_url, opaque->query) < 0)
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    struct post post = {.url = url,
                        .content_type = opaque->content_type ? opaque->content_type : "",
                        .body = body,
                        .time_ns = opaque_time(opaque)};
    struct outcome outcome = send_post(self, batch, &post, ingest_outcome);
    limit_tries(opaque, &post, &outcome);
    free(url);
    return outcome;
}

/* The memory for the body was reserved when the request was accepted (batch_work). */
struct outcome send_opaque(struct pyroscope_exporter *self, const struct batch *batch)
{
    const struct opaque_request *opaque = batch->opaque;
    struct view body = buffer_view(batch->payload);
    struct outcome outcome = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    struct bytes plain;
    bytes_init(&plain, opaque->plain_size, self->env->budget);
    if (!opaque->plain_size ||
        jfr_upload_inflate(opaque->query, opaque->content_type, body, &plain))
        outcome = post_body(self, batch, plain.size ? bytes_view(&plain) : body);
    bytes_release(&plain);
    return outcome;
}
