/* A pprof by push.v1, whole or in parts that the server takes. */
#include "exporters/pyroscope/pyroscope.h"

#include "wire/pprof_split.h"
#include "wire/push.h"

enum { INDEX_CAP = 1 << 30, MESSAGE_CAP = 1 << 30 };

/* One batch on its way out; freed as a whole. */
struct push {
    struct pyroscope_exporter *self;
    const struct batch *batch;
    struct arena arena;
    struct series *series;
    struct bytes timed; /* the profile with its missing time set */
};

static struct outcome no_memory(void)
{
    return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
}

static struct outcome post(const struct push *push, struct view message)
{
    struct http_header headers[4] = {{"Content-Type", "application/proto"}};
    struct http_reply reply = {0};
    struct bytes packed;
    size_t count = 1;
    bytes_init(&packed, MESSAGE_CAP, NULL);
    if (compression_of(&push->self->client) != ENCODING_IDENTITY &&
        deflate_append(ENCODING_GZIP, message, &packed)) {
        headers[count++] = (struct http_header){"Content-Encoding", "gzip"};
        message = bytes_view(&packed);
    }
    count = add_metadata(push->batch, headers, count);
    http_client_post(push->self->http, push->self->push_url, headers, count, message, &reply);
    struct outcome outcome = push_outcome(&reply);
    http_reply_release(&reply);
    bytes_release(&packed);
    return outcome;
}

static struct outcome post_profile(const struct push *push, struct view profile)
{
    struct bytes message;
    bytes_init(&message, MESSAGE_CAP, NULL);
    struct outcome outcome =
        push_encode(push->series, profile, &message) ? post(push, bytes_view(&message))
                                                     : no_memory();
    bytes_release(&message);
    return outcome;
}

/* Parts that were sent before one failed are sent again with it: the server keeps one of two
 * profiles with equal labels and time. */
static struct outcome post_parts(struct push *push, const struct pprof *pprof)
{
    struct pprof_split split;
    struct bytes part;
    const char *fault = NULL;
    struct outcome outcome = OUTCOME_OK;
    if (!pprof_split_begin(&split, pprof, (size_t)push->self->max_profile_samples,
                           (size_t)push->self->max_profile_bytes, &push->arena))
        return no_memory();
    bytes_init(&part, MESSAGE_CAP, NULL);
    while (outcome.verdict == VERDICT_OK && pprof_split_next(&split, &part, &fault))
        outcome = post_profile(push, bytes_view(&part));
    bytes_release(&part);
    return outcome.verdict == VERDICT_OK && fault ? no_memory() : outcome;
}

static bool set_missing_time(struct push *push, struct pprof *pprof, struct proto_fault *fault)
{
    const struct profile_origin *origin = push->batch->profile;
    struct splice splice;
    if (pprof->time_nanos > 0 || !origin || origin->from_ns == 0)
        return true;
    splice_begin(&splice, pprof->raw, &push->arena);
    pprof_set_time(pprof, (int64_t)origin->from_ns, &splice);
    if (splice.failed || bytes_reserve(&push->timed, splice_size(&splice)) != BYTES_OK)
        return false;
    push->timed.size = splice_size(&splice);
    splice_write(&splice, push->timed.data);
    return pprof_open(pprof, bytes_view(&push->timed), &push->arena, fault);
}

static struct outcome push_profile(struct push *push)
{
    struct pyroscope_exporter *self = push->self;
    struct pprof pprof;
    struct proto_fault fault = {0};
    if (!pprof_open(&pprof, buffer_view(push->batch->payload), &push->arena, &fault))
        return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "not a valid pprof: %s", fault.reason);
    if (pprof.sample_count == 0)
        return OUTCOME_OK; /* the server stores nothing of it */
    if (!set_missing_time(push, &pprof, &fault))
        return no_memory();
    push->series = push_series(self, push->batch, &pprof, &push->arena);
    if (!push->series)
        return no_memory();
    if (pprof_split_fits(&pprof, (size_t)self->max_profile_samples,
                         (size_t)self->max_profile_bytes))
        return post_profile(push, pprof.raw);
    return post_parts(push, &pprof);
}

struct outcome send_pprof(struct pyroscope_exporter *self, const struct batch *batch)
{
    struct push push = {.self = self, .batch = batch};
    arena_init(&push.arena, INDEX_CAP);
    bytes_init(&push.timed, MESSAGE_CAP, NULL);
    struct outcome outcome = push_profile(&push);
    series_unref(push.series);
    bytes_release(&push.timed);
    arena_release(&push.arena);
    return outcome;
}
