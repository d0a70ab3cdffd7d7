/* Bodies of /ingest, to /ingest as they came. */
#include "exporters/pyroscope/pyroscope.h"

#include "lib/wire/http/http_query.h"
#include "lib/wire/http/multipart.h"
#include "lib/wire/pprof/ingest_time.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The server refuses a gzip part of a JFR upload that is larger than a profile may be (4 MiB by
 * default) when inflated, and takes a plain one of any size. A body that would become larger than
 * REBUILT_MAX goes as it came. */
enum { GZIP_PART_MAX = 4 << 20, REBUILT_MAX = 64 << 20 };

/* deflate cannot do better. */
enum { GZIP_RATIO_MAX = 1032 };

/* Of a body that is several series, once the server may have some of them. */
enum { TRIES_OF_SERIES = 3 };

/* What the memory budget has no room for is made one at a time: it must not wait for room that may
 * never come, since the budget may be full of what waits to be sent. */
static pthread_mutex_t beyond_budget = PTHREAD_MUTEX_INITIALIZER;

/* The query's `from`; its sender has no other time for us to read. */
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

static bool is_jfr(const struct opaque_request *opaque)
{
    return is_format(opaque, "jfr");
}

/* The server makes several series of one such body and files them one by one. Where it then puts
 * the request off, it has some of them, does not say which, and files those again at each try. */
static void limit_tries(const struct opaque_request *opaque, const struct post *post,
                        struct outcome *outcome)
{
    bool filing = post->status == 422 || post->status == 429 || post->status == 499 ||
                  post->status == 500 || post->status == 504;
    if (outcome->verdict != VERDICT_RETRY || !filing ||
        !(is_jfr(opaque) || is_format(opaque, "speedscope")))
        return;
    char said[sizeof outcome->text];
    memcpy(said, outcome->text, sizeof said);
    outcome->max_tries = TRIES_OF_SERIES;
    snprintf(outcome->text, sizeof outcome->text,
             "the server may have a part of it, which each try doubles: %.120s", said);
}

static bool may_be_oversize(const struct multipart_part *part)
{
    return part->filename.data && part->name.data && looks_gzip(part->content) &&
           part->content.size > GZIP_PART_MAX / GZIP_RATIO_MAX &&
           (view_eq(part->name, VIEW("jfr")) || view_eq(part->name, VIEW("labels")));
}

/* Whether the boundary, which is not inside the gzip stream, is by chance inside its content. */
static bool holds_boundary(struct view content, struct view boundary)
{
    return memmem(content.data, content.size, boundary.data, boundary.size) != NULL;
}

/* A body on its way from one form into the other. */
struct rebuild {
    const uint8_t *copied; /* all of the old body before this is in out */
    struct bytes *out;
    bool changed;
};

/* Puts the part's inflated content in place of the stream, where that is needed and can be. False:
 * no memory. */
static bool inflate_part(struct rebuild *rebuild, struct view stream, struct view boundary)
{
    struct bytes *out = rebuild->out;
    size_t before = out->size;
    enum bytes_result copied = bytes_append_view(out, view_between(rebuild->copied, stream.data));
    if (copied != BYTES_OK)
        return copied == BYTES_FULL;
    size_t begin = out->size;
    enum inflate_result result = inflate_append(ENCODING_GZIP, stream, out);
    struct view content = {out->data + begin, out->size - begin};
    if (result == INFLATE_OK && content.size > GZIP_PART_MAX &&
        !holds_boundary(content, boundary)) {
        rebuild->copied = stream.data + stream.size;
        rebuild->changed = true;
    } else {
        out->size = before;
    }
    return result != INFLATE_NO_MEMORY;
}

/* Fills out with the body whose oversize parts are plain; it is empty where there is none. False:
 * no memory. */
static bool inflate_oversize(const struct opaque_request *opaque, struct view body,
                             struct bytes *out)
{
    struct rebuild rebuild = {.copied = body.data, .out = out};
    struct multipart multipart;
    struct multipart_part part;
    if (!opaque->content_type || !is_jfr(opaque) ||
        !multipart_begin(&multipart, view_of(opaque->content_type), body))
        return true;
    while (multipart_next(&multipart, &part))
        if (may_be_oversize(&part) && !inflate_part(&rebuild, part.content, multipart.boundary))
            return false;
    struct view rest = view_between(rebuild.copied, body.data + body.size);
    enum bytes_result ended = rebuild.changed ? bytes_append_view(out, rest) : BYTES_FULL;
    if (ended == BYTES_FULL)
        bytes_clear(out);
    return ended != BYTES_NO_MEMORY;
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

/* NULL budget: whatever it takes. False: no memory. */
static bool send_within(struct pyroscope_exporter *self, const struct batch *batch,
                        struct budget *budget, struct outcome *outcome)
{
    struct view body = buffer_view(batch->payload);
    struct bytes rebuilt;
    bytes_init(&rebuilt, REBUILT_MAX, budget);
    bool made = inflate_oversize(batch->opaque, body, &rebuilt);
    if (made)
        *outcome = post_body(self, batch, rebuilt.size ? bytes_view(&rebuilt) : body);
    bytes_release(&rebuilt);
    return made;
}

struct outcome send_opaque(struct pyroscope_exporter *self, const struct batch *batch)
{
    struct outcome outcome;
    if (send_within(self, batch, self->env->budget, &outcome))
        return outcome;
    pthread_mutex_lock(&beyond_budget);
    if (!send_within(self, batch, NULL, &outcome))
        outcome = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    pthread_mutex_unlock(&beyond_budget);
    return outcome;
}
