/* Sends a pprof through push.v1, whole or in parts that the server accepts. */
#include "exporters/pyroscope/pyroscope.h"

#include "lib/wire/pprof/pprof_agents.h"
#include "lib/wire/pprof/pprof_split.h"
#include "lib/wire/pprof/push.h"

enum { INDEX_CAP = 1 << 30, MESSAGE_CAP = 1 << 30 };

/* One batch being sent; freed as a whole. */
struct push {
    struct pyroscope_exporter *self;
    const struct batch *batch;
    struct progress *progress; /* counts samples of the only item */
    struct arena arena;
    struct series *series;
    struct bytes named;  /* the profile with function names as /ingest makes them */
    struct bytes edited; /* the profile with its time set and without trace ids */
};

static struct outcome push_no_memory(void)
{
    return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
}

/* Sends the profile in its original gzip if it is unchanged; otherwise uncompressed, with the body
 * compressed as a whole. */
static struct outcome post_profile(const struct push *push, struct view profile, int64_t time)
{
    const struct buffer *payload = push->batch->payload;
    bool as_it_came = payload->packed && profile.data == payload->data;
    struct bytes message;
    struct outcome outcome = push_no_memory();
    bytes_init(&message, MESSAGE_CAP, NULL);
    if (push_encode(push->series, as_it_came ? buffer_view(payload->packed) : profile, &message)) {
        struct post post = {.url = push->self->push_url,
                            .content_type = "application/proto",
                            .body = bytes_view(&message),
                            .gzip = !as_it_came,
                            .time_ns = time > 0 ? (uint64_t)time : 0,
                            .profile_bytes = profile.size};
        outcome = send_post(push->self, push->batch, &post, push_outcome);
        parts_answered(push->progress, &post, &outcome);
    }
    bytes_release(&message);
    return outcome;
}

/* Sends the profile in parts. A permanently refused part does not stop the others. *fault: why it
 * cannot be split. */
static struct outcome post_parts(struct push *push, const struct pprof *pprof, const char **fault)
{
    struct progress *progress = push->progress;
    struct pprof_split split;
    struct bytes part;
    struct outcome outcome = OUTCOME_OK;
    if (!pprof_split_begin(&split, pprof, (size_t)push->self->max_profile_samples,
                           parts_bytes(push->self, progress), &push->arena))
        return push_no_memory();
    bytes_init(&part, MESSAGE_CAP, NULL);
    pprof_split_pass(&split, progress->mark.samples);
    while (outcome.verdict != VERDICT_RETRY && !progress->yielded &&
           pprof_split_next(&split, &part, fault)) {
        outcome = post_profile(push, bytes_view(&part), pprof->time_nanos);
        if (outcome.verdict == VERDICT_RETRY)
            break;
        progress->mark.samples = split.samples;
        progress_keep(progress);
        progress->yielded = split.samples < pprof->sample_count && progress_is_crowded(progress);
    }
    bytes_release(&part);
    return outcome.verdict != VERDICT_RETRY && progress->lost ? progress->refusal : outcome;
}

static struct outcome post_in_parts(struct push *push, const struct pprof *pprof)
{
    const char *fault = NULL;
    push->progress->in_parts = true;
    struct outcome outcome = post_parts(push, pprof, &fault);
    while (fault && parts_enlarge(push->progress))
        outcome = post_parts(push, pprof, &fault);
    if (fault && outcome.verdict != VERDICT_RETRY)
        outcome = outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE, "cannot be split: %s", fault);
    return outcome;
}

bool name_as_ingest(const struct batch *batch, struct pprof *pprof, struct bytes *out,
                    struct arena *arena)
{
    const struct profile_origin *origin = batch->profile;
    struct splice splice;
    if (!origin || !origin->by_ingest || !origin->spy_name)
        return true;
    splice_begin(&splice, pprof->raw, arena);
    pprof_name_files(pprof, pprof_naming_of(view_of(origin->spy_name)), &splice);
    if (!splice.failed && !splice_any(&splice))
        return true;
    if (splice.failed || bytes_reserve(out, splice_size(&splice)) != BYTES_OK)
        return false;
    out->size = splice_size(&splice);
    splice_write(&splice, out->data);
    return pprof_reopen(pprof, bytes_view(out), arena);
}

/* Sets a missing time to the start of /ingest's window (without `from`, that is the time of
 * arrival), and removes trace ids if configured. */
static bool edit(struct push *push, struct pprof *pprof)
{
    const struct profile_origin *origin = push->batch->profile;
    bool set_time = origin && origin->from_ns && !pprof_has_time(pprof);
    const struct pprof_rewrite rewrite = {
        .strip_trace_id = push->self->trace_id == TRACE_ID_STRIP,
        .drop_time = set_time,
    };
    struct splice splice;
    splice_begin(&splice, pprof->raw, &push->arena);
    if (rewrite.strip_trace_id || set_time)
        pprof_rewrite_labels(pprof, &rewrite, &splice);
    if (set_time)
        pprof_set_time(pprof, (int64_t)origin->from_ns, &splice);
    if (!splice.failed && !splice_any(&splice))
        return true;
    if (splice.failed || bytes_reserve(&push->edited, splice_size(&splice)) != BYTES_OK)
        return false;
    push->edited.size = splice_size(&splice);
    splice_write(&splice, push->edited.data);
    return pprof_reopen(pprof, bytes_view(&push->edited), &push->arena);
}

static struct outcome push_profile(struct push *push)
{
    struct pyroscope_exporter *self = push->self;
    struct pprof pprof;
    if (!pprof_reopen(&pprof, buffer_view(push->batch->payload), &push->arena))
        return push_no_memory();
    if (pprof.sample_count == 0)
        return OUTCOME_OK; /* the server would not store it */
    if (!name_as_ingest(push->batch, &pprof, &push->named, &push->arena) || !edit(push, &pprof))
        return push_no_memory();
    push->series = push_series(self, push->batch, &pprof, &push->arena);
    if (!push->series)
        return push_no_memory();
    struct progress *progress = push->progress;
    progress_recall(progress);
    if (progress->mark.samples == 0 &&
        pprof_split_fits(&pprof, (size_t)self->max_profile_samples, parts_bytes(self, progress)))
        return post_profile(push, pprof.raw, pprof.time_nanos);
    return post_in_parts(push, &pprof);
}

struct outcome send_pprof(struct pyroscope_exporter *self, const struct batch *batch,
                          struct progress *progress)
{
    struct push push = {.self = self, .batch = batch, .progress = progress};
    arena_init(&push.arena, INDEX_CAP);
    arena_charge(&push.arena, batch->payload->budget, budget_use, ARENA_SMALL);
    bytes_init(&push.named, MESSAGE_CAP, NULL);
    bytes_init(&push.edited, MESSAGE_CAP, NULL);
    struct outcome outcome = push_profile(&push);
    series_unref(push.series);
    bytes_release(&push.edited);
    bytes_release(&push.named);
    arena_release(&push.arena);
    return outcome;
}
