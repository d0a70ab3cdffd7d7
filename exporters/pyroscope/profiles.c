/*
 * Sends OTLP profiles through push.v1: each series in its own request, several concurrently. The
 * server stores the series of a request one by one and does not report which of them it refused, so
 * a request with several series could not be retried without duplicates.
 */
#include "exporters/pyroscope/pyroscope.h"

#include "lib/base/thread.h"
#include "lib/wire/pprof/pprof_fields.h"
#include "lib/wire/pprof/pprof_split.h"
#include "lib/wire/pprof/push.h"
#include "lib/wire/profiles/profiles_to_pprof.h"

#include <stdlib.h>

enum { INDEX_CAP = 1 << 30, MESSAGE_CAP = 1 << 30 };

/* WAVE: series converted before any is sent; AT_ONCE: series sent concurrently. */
enum { WAVE = 64, AT_ONCE = 8 };

/* Labels and times already used in the request: of two profiles with equal labels and time, the
 * server keeps only one. */
struct used_times {
    uint64_t *of; /* hashes of labels and time; 0: free */
    size_t count, room;
};

/* A series to be sent, with its result. */
struct posting {
    struct bytes message; /* a PushRequest */
    uint64_t time_ns;
    uint64_t item;    /* number in the batch */
    uint32_t profile; /* number of its profile, from 0 */
    size_t size;      /* of the profile */
    long status;
    struct outcome outcome;
};

/* One batch being sent; freed as a whole. */
struct pushing {
    struct pyroscope_exporter *self;
    const struct batch *batch;
    struct progress *progress;
    struct arena arena; /* of the current profile */
    struct used_times used;
    struct bytes part;         /* of a profile that is split */
    struct posting wave[WAVE]; /* in the batch's order */
    size_t count;
    _Atomic size_t next;   /* the next one for a thread to send */
    size_t inflated;       /* bytes of the profiles in wave */
    bool begun;            /* something was sent in this attempt */
    uint64_t lost_profile; /* the last profile with a loss, from 1; 0: none */
    struct outcome retry;  /* why the batch needs a retry */
};

static struct outcome profiles_no_memory(void)
{
    return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
}

static uint64_t profiles_mix(uint64_t hash, struct view text)
{
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ text.data[i]) * UINT64_C(0x100000001b3);
    return (hash ^ text.size) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t profiles_hash_of(const struct series *series)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < series->count; i++)
        hash = profiles_mix(profiles_mix(hash, series->labels[i].name), series->labels[i].value);
    return hash;
}

/* The slot of a hash, or the free one where it belongs. */
static uint64_t *used_times_slot(const struct used_times *used, uint64_t hash)
{
    size_t at = (size_t)(hash >> 7) & (used->room - 1);
    while (used->of[at] && used->of[at] != hash)
        at = (at + 1) & (used->room - 1);
    return &used->of[at];
}

static bool profiles_grow(struct used_times *used)
{
    struct used_times more = {.count = used->count, .room = used->room ? used->room * 2 : 64};
    if (used->count * 2 < used->room)
        return true;
    more.of = calloc(more.room, sizeof *more.of);
    if (!more.of)
        return false;
    for (size_t i = 0; i < used->room; i++)
        if (used->of[i])
            *used_times_slot(&more, used->of[i]) = used->of[i];
    free(used->of);
    *used = more;
    return true;
}

/* Moves *time to the first time from there on that the series has not used, and marks it as used.
 * False: no memory. */
static bool take_time(struct used_times *used, const struct series *series, int64_t *time)
{
    uint64_t labels = profiles_hash_of(series);
    if (!profiles_grow(used))
        return false;
    for (;; ++*time) {
        uint64_t hash =
            profiles_mix(labels, (struct view){(const uint8_t *)time, sizeof *time}) | 1;
        uint64_t *slot = used_times_slot(used, hash);
        if (*slot)
            continue;
        *slot = hash;
        used->count++;
        return true;
    }
}

static bool is_done(const struct progress_mark *mark, uint64_t item)
{
    return item < mark->items ||
           (item - mark->items < WAVE && (mark->beyond >> (item - mark->items) & 1));
}

static void set_done(struct progress_mark *mark, uint64_t item)
{
    if (item >= mark->items)
        mark->beyond |= UINT64_C(1) << (item - mark->items);
    progress_mark_settle(mark);
}

/* Counts a profile as lost, once, when a part of it was permanently refused. */
static void profiles_lose(struct pushing *pushing, uint32_t profile, const struct outcome *why)
{
    pushing->progress->lost += pushing->lost_profile != (uint64_t)profile + 1;
    pushing->lost_profile = (uint64_t)profile + 1;
    pushing->progress->refusal = *why;
}

static void post_one(struct pushing *pushing, struct posting *posting)
{
    struct post post = {.url = pushing->self->push_url,
                        .content_type = "application/proto",
                        .body = bytes_view(&posting->message),
                        .gzip = true,
                        .time_ns = posting->time_ns};
    posting->outcome = send_post(pushing->self, pushing->batch, &post, push_outcome);
    posting->status = post.status;
}

static void *post_some(void *ctx)
{
    struct pushing *pushing = ctx;
    for (size_t i; (i = atomic_fetch_add(&pushing->next, 1)) < pushing->count;)
        post_one(pushing, &pushing->wave[i]);
    return NULL;
}

static void post_all(struct pushing *pushing)
{
    pthread_t threads[AT_ONCE - 1];
    size_t started = 0;
    atomic_store(&pushing->next, 0);
    while (started < AT_ONCE - 1 && started + 1 < pushing->count &&
           thread_start(&threads[started], "push", post_some, pushing))
        started++;
    post_some(pushing);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pushing->begun = true;
}

/* Records the result of a request. False: it needs a retry. */
static bool record_result(struct pushing *pushing, const struct posting *posting)
{
    uint32_t lost = pushing->progress->lost;
    struct post post = {.status = posting->status, .profile_bytes = posting->size};
    parts_answered(pushing->progress, &post, &posting->outcome);
    pushing->progress->lost = lost;
    if (posting->outcome.verdict == VERDICT_RETRY) {
        pushing->retry = posting->outcome;
        return false;
    }
    if (posting->outcome.verdict == VERDICT_REJECT)
        profiles_lose(pushing, posting->profile, &posting->outcome);
    return true;
}

/* Sends the gathered series. False: some of them need a retry. */
static bool flush(struct pushing *pushing)
{
    struct progress_mark *mark = &pushing->progress->mark;
    bool good = true;
    if (pushing->count == 0)
        return true;
    post_all(pushing);
    for (size_t i = 0; i < pushing->count; i++) {
        struct posting *posting = &pushing->wave[i];
        if (record_result(pushing, posting))
            set_done(mark, posting->item);
        else
            good = false;
        bytes_clear(&posting->message);
    }
    pushing->inflated = pushing->count = 0;
    progress_keep(pushing->progress);
    return good;
}

/* The same in the middle of a batch, where other batches may go first. False also if this batch
 * yields to them. */
static bool flush_early(struct pushing *pushing)
{
    struct progress *progress = pushing->progress;
    if (pushing->count == 0)
        return true;
    progress->in_parts = true;
    if (!flush(pushing))
        return false;
    progress->yielded = progress_is_crowded(progress);
    return !progress->yielded;
}

/* Advances the mark to make room for an item. All items before the gathered ones are done. False:
 * the batch stops here. */
static bool mark_reach(struct pushing *pushing, uint64_t item)
{
    struct progress_mark *mark = &pushing->progress->mark;
    if (item - mark->items >= WAVE && !flush_early(pushing))
        return false;
    for (; pushing->count == 0 && mark->items < item; mark->items++, mark->samples = 0)
        mark->beyond >>= 1;
    return true;
}

/* Adds a pprof to the wave, sending the wave first if it would exceed max_profile_bytes. */
static bool profiles_gather(struct pushing *pushing, const struct series *series, struct view pprof,
                            int64_t time, const struct posting *as)
{
    size_t most = (size_t)pushing->self->max_profile_bytes;
    bool full = pushing->count == WAVE || pushing->inflated + pprof.size > most;
    if ((full && !flush_early(pushing)) || !mark_reach(pushing, as->item))
        return false;
    struct posting *posting = &pushing->wave[pushing->count];
    if (!push_encode(series, pprof, &posting->message)) {
        bytes_clear(&posting->message);
        pushing->retry = profiles_no_memory();
        return false;
    }
    posting->time_ns = time > 0 ? (uint64_t)time : 0;
    posting->item = as->item;
    posting->profile = as->profile;
    posting->size = pprof.size;
    pushing->inflated += pprof.size;
    pushing->count++;
    return true;
}

/* Sends a series that is too large in parts, one by one. *fault: why it cannot be split. */
static bool post_parts(struct pushing *pushing, const struct series *series,
                       const struct pprof *pprof, const struct posting *as, const char **fault)
{
    struct progress *progress = pushing->progress;
    struct pprof_split split;
    *fault = NULL;
    if (!pprof_split_begin(&split, pprof, (size_t)pushing->self->max_profile_samples,
                           parts_bytes(pushing->self, progress), &pushing->arena)) {
        pushing->retry = profiles_no_memory();
        return false;
    }
    pprof_split_pass(&split, progress->mark.samples);
    while (pprof_split_next(&split, &pushing->part, fault)) {
        struct posting posting = *as;
        posting.message = pushing->wave[0].message;
        posting.size = pushing->part.size;
        posting.time_ns = pprof->time_nanos > 0 ? (uint64_t)pprof->time_nanos : 0;
        bool good = push_encode(series, bytes_view(&pushing->part), &posting.message);
        if (good)
            post_one(pushing, &posting);
        else
            pushing->retry = profiles_no_memory();
        bytes_clear(&posting.message);
        pushing->wave[0].message = posting.message;
        pushing->begun = true;
        if (!good || !record_result(pushing, &posting))
            return false;
        progress->mark.samples = split.samples;
        progress_keep(progress);
        progress->yielded = split.samples < pprof->sample_count && progress_is_crowded(progress);
        if (progress->yielded)
            return false;
    }
    return true;
}

static bool post_in_parts(struct pushing *pushing, const struct series *series,
                          const struct pprof *pprof, const struct posting *as)
{
    const char *fault;
    /* All items before it must be done, because the mark counts samples only of the first open
     * item. */
    if (!flush_early(pushing) || !mark_reach(pushing, as->item))
        return false;
    pushing->progress->in_parts = true;
    do {
        if (!post_parts(pushing, series, pprof, as, &fault))
            return false;
    } while (fault && parts_enlarge(pushing->progress));
    if (fault) {
        struct outcome why =
            outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE, "cannot be split: %s", fault);
        profiles_lose(pushing, as->profile, &why);
    }
    set_done(&pushing->progress->mark, as->item);
    return true;
}

/* Moves a converted pprof to a time that its series has not used, and reopens it. False: no memory.
 */
static bool set_unused_time(struct pushing *pushing, struct series *series, struct bytes *made,
                            struct pprof *pprof)
{
    struct proto_fault fault;
    int64_t time = pprof->time_nanos;
    if (!take_time(&pushing->used, series, &time))
        return false;
    if (time == pprof->time_nanos)
        return true;
    struct proto_write write = proto_write_begin(made);
    proto_write_varint(&write, PROFILE_TIME_NANOS, (uint64_t)time);
    return write.result == BYTES_OK && pprof_open(pprof, bytes_view(made), &pushing->arena, &fault);
}

/* Counts an item that cannot be sent as lost. False: the batch stops here. */
static bool profiles_give_up(struct pushing *pushing, const struct posting *as,
                             const struct outcome *why)
{
    if (is_done(&pushing->progress->mark, as->item))
        return true;
    if (!mark_reach(pushing, as->item))
        return false;
    profiles_lose(pushing, as->profile, why);
    set_done(&pushing->progress->mark, as->item);
    return true;
}

static bool send_series(struct pushing *pushing, const struct series *series,
                        const struct pprof *pprof, const struct posting *as)
{
    const struct pyroscope_exporter *self = pushing->self;
    const struct progress_mark *mark = &pushing->progress->mark;
    bool begun = as->item == mark->items && mark->samples > 0;
    if (is_done(mark, as->item))
        return true;
    if (!begun && pprof_split_fits(pprof, (size_t)self->max_profile_samples,
                                   parts_bytes(self, pushing->progress)))
        return profiles_gather(pushing, series, pprof->raw, pprof->time_nanos, as);
    return post_in_parts(pushing, series, pprof, as);
}

/* Sends a pprof converted from the request. Takes over part->series. False: the batch stops here.
 */
static bool take_series(struct pushing *pushing, const struct profiles_part *part,
                        struct bytes *made, const struct posting *as)
{
    struct pprof pprof;
    struct proto_fault fault;
    arena_release(&pushing->arena);
    arena_init(&pushing->arena, INDEX_CAP);
    arena_charge(&pushing->arena, pushing->batch->payload->budget, budget_use, ARENA_SMALL);
    if (!pprof_open(&pprof, bytes_view(made), &pushing->arena, &fault)) {
        struct outcome why =
            outcome_of(VERDICT_REJECT, CAUSE_INVALID, "not a valid pprof: %s", fault.reason);
        series_unref(part->series);
        return profiles_give_up(pushing, as, &why);
    }
    struct series *series = limited_series(pushing->self, part->series, &pprof, &pushing->arena);
    bool good = series && set_unused_time(pushing, series, made, &pprof);
    if (!good)
        pushing->retry = profiles_no_memory();
    good = good && send_series(pushing, series, &pprof, as);
    series_unref(series);
    return good;
}

/* The outcome of the batch after all of its items. */
static struct outcome pushing_outcome(const struct pushing *pushing)
{
    const struct progress *progress = pushing->progress;
    struct outcome outcome = progress->refusal;
    uint32_t items = pushing->batch->items;
    if (progress->lost == 0)
        return OUTCOME_OK;
    if (!progress->delivered)
        return outcome;
    outcome.verdict = VERDICT_OK;
    outcome.rejected = progress->lost < items ? progress->lost : items;
    return outcome;
}

static bool may_go_as_otlp(const struct pushing *pushing)
{
    return pushing->self->protocol == PROTOCOL_AUTO && !pushing->begun &&
           pushing->progress->mark.items == 0 && pushing->progress->mark.beyond == 0;
}

static struct outcome push_all(struct pushing *pushing, struct profiles_to_pprof *conversion,
                               struct bytes *made)
{
    struct profiles_part part;
    const char *reason;
    bool good = true;
    for (struct posting as = {0}; good; as.item++) {
        if (profiles_to_pprof_next(conversion, &part, made, &reason)) {
            as.profile = part.profile;
            good = take_series(pushing, &part, made, &as);
        } else if (!reason) {
            break;
        } else if (may_go_as_otlp(pushing)) {
            return send_otlp(pushing->self, pushing->batch);
        } else {
            struct outcome why = outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                                            "cannot be converted to pprof: %s", reason);
            as.profile = part.profile;
            good = profiles_give_up(pushing, &as, &why);
        }
    }
    if (pushing->progress->yielded)
        return OUTCOME_OK;
    if (!good || !flush(pushing))
        return pushing->retry;
    return pushing_outcome(pushing);
}

static struct pushing *pushing_new(struct pyroscope_exporter *self, const struct batch *batch,
                                   struct progress *progress)
{
    struct pushing *pushing = calloc(1, sizeof *pushing);
    if (!pushing)
        return NULL;
    pushing->self = self;
    pushing->batch = batch;
    pushing->progress = progress;
    pushing->retry = OUTCOME_OK;
    arena_init(&pushing->arena, INDEX_CAP);
    arena_charge(&pushing->arena, batch->payload->budget, budget_use, ARENA_SMALL);
    bytes_init(&pushing->part, MESSAGE_CAP, NULL);
    for (size_t i = 0; i < WAVE; i++)
        bytes_init(&pushing->wave[i].message, MESSAGE_CAP, NULL);
    return pushing;
}

static void pushing_free(struct pushing *pushing)
{
    for (size_t i = 0; i < WAVE; i++)
        bytes_release(&pushing->wave[i].message);
    bytes_release(&pushing->part);
    free(pushing->used.of);
    arena_release(&pushing->arena);
    free(pushing);
}

struct outcome send_profiles(struct pyroscope_exporter *self, const struct batch *batch,
                             struct progress *progress)
{
    struct pushing *pushing = pushing_new(self, batch, progress);
    struct profiles_to_pprof conversion;
    const struct profiles_policy policy = {.trace_ids = self->trace_id == TRACE_ID_KEEP,
                                           .now_ns = clock_wall(self->env->clock)};
    struct arena arena;
    struct bytes made;
    const char *reason;
    struct outcome outcome;
    if (!pushing)
        return profiles_no_memory();
    arena_init(&arena, INDEX_CAP);
    arena_charge(&arena, batch->payload->budget, budget_use, ARENA_SMALL);
    bytes_init(&made, MESSAGE_CAP, NULL);
    progress_recall(progress);
    if (profiles_to_pprof_begin(&conversion, buffer_view(batch->payload), &policy, &arena, &reason))
        outcome = push_all(pushing, &conversion, &made);
    else if (may_go_as_otlp(pushing))
        outcome = send_otlp(self, batch);
    else
        outcome =
            outcome_of(VERDICT_REJECT, CAUSE_INVALID, "cannot be converted to pprof: %s", reason);
    bytes_release(&made);
    pushing_free(pushing);
    arena_release(&arena);
    return outcome;
}
