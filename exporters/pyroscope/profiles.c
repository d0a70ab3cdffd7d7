/* OTLP profiles by push.v1, several series a request. */
#include "exporters/pyroscope/pyroscope.h"

#include "base/log.h"
#include "wire/pprof_fields.h"
#include "wire/pprof_split.h"
#include "wire/profiles_to_pprof.h"
#include "wire/push.h"

#include <stdlib.h>

enum { INDEX_CAP = 1 << 30, MESSAGE_CAP = 1 << 30 };

/* Times of series that the request has had: the server keeps one of two profiles with equal labels
 * and time. */
struct used_times {
    uint64_t *of; /* hashes of labels and time; 0: free */
    size_t count, room;
};

/* One batch on its way out; freed as a whole. */
struct pushing {
    struct pyroscope_exporter *self;
    const struct batch *batch;
    struct arena arena; /* of the profile at hand */
    struct used_times used;
    struct bytes part;    /* of a profile that is cut */
    struct bytes message; /* the PushRequest at hand */
    size_t inflated;      /* profiles in it */
    uint64_t newest_ns;
    uint32_t profiles, last_profile; /* of the batch, in it; the last one's number, from 1 */
    bool delivered_any, begun;       /* a PushRequest was taken; was tried */
    uint32_t lost;
    struct outcome refusal; /* the last one */
};

static struct outcome no_memory(void)
{
    return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
}

static uint64_t mix(uint64_t hash, struct view text)
{
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ text.data[i]) * UINT64_C(0x100000001b3);
    return (hash ^ text.size) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t hash_of(const struct series *series)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < series->count; i++)
        hash = mix(mix(hash, series->labels[i].name), series->labels[i].value);
    return hash;
}

/* Where a hash stands, or would. */
static uint64_t *place_of(const struct used_times *used, uint64_t hash)
{
    size_t at = (size_t)(hash >> 7) & (used->room - 1);
    while (used->of[at] && used->of[at] != hash)
        at = (at + 1) & (used->room - 1);
    return &used->of[at];
}

static bool grow(struct used_times *used)
{
    struct used_times more = {.count = used->count, .room = used->room ? used->room * 2 : 64};
    if (used->count * 2 < used->room)
        return true;
    more.of = calloc(more.room, sizeof *more.of);
    if (!more.of)
        return false;
    for (size_t i = 0; i < used->room; i++)
        if (used->of[i])
            *place_of(&more, used->of[i]) = used->of[i];
    free(used->of);
    *used = more;
    return true;
}

/* The first time from `time` on that the series has not had. */
static bool take_time(struct used_times *used, const struct series *series, int64_t *time)
{
    uint64_t labels = hash_of(series);
    if (!grow(used))
        return false;
    for (;; ++*time) {
        uint64_t hash = mix(labels, (struct view){(const uint8_t *)time, sizeof *time}) | 1;
        uint64_t *place = place_of(used, hash);
        if (*place)
            continue;
        *place = hash;
        used->count++;
        return true;
    }
}

static void lose(struct pushing *pushing, uint32_t profiles, const struct outcome *why)
{
    pushing->lost += profiles;
    pushing->refusal = *why;
}

/* Sends what was gathered. False: it is to be tried again, with all the batch; refusal says why. */
static bool flush(struct pushing *pushing)
{
    if (pushing->message.size == 0)
        return true;
    struct post post = {.url = pushing->self->push_url,
                        .content_type = "application/proto",
                        .body = bytes_view(&pushing->message),
                        .gzip = true,
                        .time_ns = pushing->newest_ns};
    struct outcome outcome = send_post(pushing->self, pushing->batch, &post, push_outcome);
    pushing->begun = true;
    pushing->delivered_any |= outcome.verdict == VERDICT_OK;
    if (outcome.verdict == VERDICT_REJECT)
        lose(pushing, pushing->profiles, &outcome);
    if (outcome.verdict == VERDICT_RETRY)
        pushing->refusal = outcome;
    bytes_clear(&pushing->message);
    pushing->inflated = pushing->newest_ns = 0;
    pushing->profiles = pushing->last_profile = 0;
    return outcome.verdict != VERDICT_RETRY;
}

/* Adds a pprof to the PushRequest at hand; one that would grow past what the server takes at once
 * goes first. */
static bool gather(struct pushing *pushing, const struct series *series, struct view pprof,
                   int64_t time, uint32_t number)
{
    size_t most = (size_t)pushing->self->max_profile_bytes;
    if (pushing->inflated + pprof.size > most && !flush(pushing))
        return false;
    if (!push_encode(series, pprof, &pushing->message)) {
        pushing->refusal = no_memory();
        return false;
    }
    pushing->inflated += pprof.size;
    if (time > 0 && (uint64_t)time > pushing->newest_ns)
        pushing->newest_ns = (uint64_t)time;
    pushing->profiles += pushing->last_profile != number + 1;
    pushing->last_profile = number + 1;
    return true;
}

static bool gather_parts(struct pushing *pushing, const struct series *series,
                         const struct pprof *pprof, uint32_t number)
{
    struct pprof_split split;
    const char *fault = NULL;
    bool good = pprof_split_begin(&split, pprof, (size_t)pushing->self->max_profile_samples,
                                  (size_t)pushing->self->max_profile_bytes, &pushing->arena);
    int64_t time = pprof->time_nanos;
    if (!good)
        pushing->refusal = no_memory();
    while (good && pprof_split_next(&split, &pushing->part, &fault)) {
        /* The first part has the time that was taken; each one's moves on by a nanosecond. */
        if (split.part > 1)
            good = take_time(&pushing->used, series, &time);
        good = good && gather(pushing, series, bytes_view(&pushing->part), time, number);
    }
    if (good && fault) {
        struct outcome why =
            outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE, "cannot be split: %s", fault);
        lose(pushing, 1, &why);
    }
    return good;
}

/* Opens a pprof that was made, moved on where its series has had its time. */
static bool open_made(struct pushing *pushing, struct series *series, struct bytes *made,
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

/* Takes a pprof up that was made of the request. False: refusal says why the batch stops. */
static bool take_part(struct pushing *pushing, const struct profiles_part *part, struct bytes *made)
{
    struct pyroscope_exporter *self = pushing->self;
    struct pprof pprof;
    struct proto_fault fault;
    arena_release(&pushing->arena);
    arena_init(&pushing->arena, INDEX_CAP);
    if (!pprof_open(&pprof, bytes_view(made), &pushing->arena, &fault)) {
        struct outcome why =
            outcome_of(VERDICT_REJECT, CAUSE_INVALID, "not a valid pprof: %s", fault.reason);
        series_unref(part->series);
        lose(pushing, 1, &why);
        return true;
    }
    struct series *series = limited_series(self, part->series, &pprof, &pushing->arena);
    bool good = series && open_made(pushing, series, made, &pprof);
    if (!good)
        pushing->refusal = no_memory();
    else if (pprof_split_fits(&pprof, (size_t)self->max_profile_samples,
                              (size_t)self->max_profile_bytes))
        good = gather(pushing, series, pprof.raw, pprof.time_nanos, part->profile);
    else
        good = gather_parts(pushing, series, &pprof, part->profile);
    series_unref(series);
    return good;
}

/* What becomes of the batch when all of it had its turn. */
static struct outcome ended(const struct pushing *pushing)
{
    struct outcome outcome = pushing->refusal;
    uint32_t items = pushing->batch->items;
    if (pushing->lost == 0)
        return OUTCOME_OK;
    if (!pushing->delivered_any)
        return outcome;
    outcome.verdict = VERDICT_OK;
    outcome.rejected = pushing->lost < items ? pushing->lost : items;
    return outcome;
}

static bool may_go_as_otlp(const struct pushing *pushing)
{
    return pushing->self->protocol == PROTOCOL_AUTO && !pushing->begun;
}

static struct outcome push_all(struct pushing *pushing, struct profiles_to_pprof *conversion,
                               struct bytes *made)
{
    struct profiles_part part;
    const char *reason;
    bool good = true;
    while (good) {
        if (profiles_to_pprof_next(conversion, &part, made, &reason)) {
            good = take_part(pushing, &part, made);
        } else if (!reason) {
            break;
        } else if (may_go_as_otlp(pushing)) {
            return send_otlp(pushing->self, pushing->batch);
        } else {
            struct outcome why =
                outcome_of(VERDICT_REJECT, CAUSE_INVALID, "cannot become pprof: %s", reason);
            lose(pushing, 1, &why);
        }
    }
    if (!good || !flush(pushing))
        return pushing->refusal;
    return ended(pushing);
}

struct outcome send_profiles(struct pyroscope_exporter *self, const struct batch *batch)
{
    struct pushing pushing = {.self = self, .batch = batch, .refusal = OUTCOME_OK};
    struct profiles_to_pprof conversion;
    const struct profiles_policy policy = {.trace_ids = self->trace_id == TRACE_ID_KEEP,
                                           .now_ns = clock_wall(self->env->clock)};
    struct arena arena;
    struct bytes made;
    const char *reason;
    struct outcome outcome;
    arena_init(&arena, INDEX_CAP);
    arena_init(&pushing.arena, INDEX_CAP);
    bytes_init(&made, MESSAGE_CAP, NULL);
    bytes_init(&pushing.part, MESSAGE_CAP, NULL);
    bytes_init(&pushing.message, MESSAGE_CAP, NULL);
    if (profiles_to_pprof_begin(&conversion, buffer_view(batch->payload), &policy, &arena, &reason))
        outcome = push_all(&pushing, &conversion, &made);
    else if (may_go_as_otlp(&pushing))
        outcome = send_otlp(self, batch);
    else
        outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "cannot become pprof: %s", reason);
    bytes_release(&pushing.message);
    bytes_release(&pushing.part);
    bytes_release(&made);
    free(pushing.used.of);
    arena_release(&pushing.arena);
    arena_release(&arena);
    return outcome;
}
