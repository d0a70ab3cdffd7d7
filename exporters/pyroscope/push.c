/* A pprof by push.v1, whole or in parts that the server takes. */
#include "exporters/pyroscope/pyroscope.h"

#include "wire/pprof_split.h"
#include "wire/push.h"

enum { INDEX_CAP = 1 << 30, MESSAGE_CAP = 1 << 30 };

static const uint64_t YEAR_1970_NS = 365 * 24 * 3600 * NS_PER_S;

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

static struct outcome post_profile(const struct push *push, struct view profile, int64_t time)
{
    struct bytes message;
    struct outcome outcome = no_memory();
    bytes_init(&message, MESSAGE_CAP, NULL);
    if (push_encode(push->series, profile, &message)) {
        struct post post = {.url = push->self->push_url,
                            .content_type = "application/proto",
                            .body = bytes_view(&message),
                            .gzip = true,
                            .time_ns = time > 0 ? (uint64_t)time : 0};
        outcome = send_post(push->self, push->batch, &post, push_outcome);
    }
    bytes_release(&message);
    return outcome;
}

/* A part that is refused for good keeps none of the others back. Where one is to be tried again,
 * all are: the server keeps one of two profiles with equal labels and time. */
static struct outcome post_parts(struct push *push, const struct pprof *pprof)
{
    struct pprof_split split;
    struct bytes part;
    const char *fault = NULL;
    struct outcome worst = OUTCOME_OK;
    if (!pprof_split_begin(&split, pprof, (size_t)push->self->max_profile_samples,
                           (size_t)push->self->max_profile_bytes, &push->arena))
        return no_memory();
    bytes_init(&part, MESSAGE_CAP, NULL);
    while (worst.verdict != VERDICT_RETRY && pprof_split_next(&split, &part, &fault)) {
        struct outcome outcome = post_profile(push, bytes_view(&part), pprof->time_nanos);
        if (outcome.verdict != VERDICT_OK)
            worst = outcome;
    }
    bytes_release(&part);
    if (worst.verdict != VERDICT_RETRY && fault)
        return outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE, "cannot be split: %s", fault);
    return worst;
}

/* The server's rule: a time in 1970 is none (old senders wrote other units). Where /ingest named no
 * window either, its arrival stands in `from`. */
static bool set_missing_time(struct push *push, struct pprof *pprof, struct proto_fault *fault)
{
    const struct profile_origin *origin = push->batch->profile;
    struct splice splice;
    if (!origin || origin->from_ns == 0 || pprof->time_nanos < 0 ||
        (uint64_t)pprof->time_nanos >= YEAR_1970_NS)
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
        return post_profile(push, pprof.raw, pprof.time_nanos);
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
