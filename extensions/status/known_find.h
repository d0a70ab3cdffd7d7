/* Finds spans in what is known, and whether a window holds their samples. Guarded by the watch's
 * lock, but for known_may_have. */
#ifndef EXTENSIONS_STATUS_KNOWN_FIND_H
#define EXTENSIONS_STATUS_KNOWN_FIND_H

#include "extensions/status/known.h"

/* The first span with an id, and the next after one; NULL: none, or forgotten. */
struct known_span *known_find(const struct known *known, uint64_t id);
struct known_span *known_next(const struct known *known, const struct known_span *span);

/* The id by which its samples name a span, and the first span that samples name so. */
uint64_t known_named(const struct known_span *span);
struct known_span *known_find_named(const struct known *known, uint64_t id);

/* The span with an id that a service sent, else one of which only samples are known. tenant: empty:
 * of any. NULL: none. */
struct known_span *known_find_in(const struct known *known, uint64_t id, struct view service,
                                 struct view tenant);
struct known_span *known_find_of(const struct known *known, uint64_t id, struct view service);

/* The same where spans of several tenants have id and name, as where each is sent to two: the one
 * of a trace (the last eight bytes of its id; 0: not known), and with a link or without. */
struct known_span *known_find_as(const struct known *known, uint64_t id, struct view service,
                                 uint64_t trace, bool linked);

/* Whether a span may be of a service's tenant. */
bool known_shares_tenant(const struct known *known, const struct known_span *span,
                         uint16_t service);

/* A window that came; NULL: it is forgotten, or there is none (0). */
static inline const struct known_window *known_window(const struct known *known, uint32_t serial)
{
    const struct known_window *window = &known->windows[serial % KNOWN_WINDOWS];
    return serial && window->serial == serial ? window : NULL;
}

/* How far the clock of a window is ahead at least, ns: it ends so long after its arrival. Such a
 * window is taken to end as it arrives. */
static inline uint64_t known_ahead(uint64_t end, uint64_t arrived)
{
    return end > arrived ? end - arrived : 0;
}

/* Whether samples of a span came with a window of its service. */
enum known_held { KNOWN_NOT_HELD, KNOWN_HELD, KNOWN_HELD_UNKNOWN };
enum known_held known_holds(const struct known *known, const struct known_span *span,
                            const struct known_window *window);

/* How far a window is from the time between two others, ns: below 0 where it ends before them, 0
 * where it overlaps. A window that states no time is at its arrival. */
int64_t known_window_gap(const struct known_window *window, uint64_t from, uint64_t to);

/* How far Grafana looks for the profiles of a span, before its start and after its end. */
#define KNOWN_OPENS (30 * NS_PER_S)

/* How far the windows with a span's samples are from its time, ns, where that is too far for its
 * link to open them; else, and where they are forgotten, 0. start 0: as end; end 0: not known. */
int64_t known_out_of_reach(const struct known *known, const struct known_span *span, uint64_t start,
                           uint64_t end);

/* Whether a sampled span that is not kept may have begun before a time; wall, 0: none. */
bool known_may_predate(const struct known *known, const struct known_span *span, uint64_t time);

/* Whether profiles with more samples of a span may come: none of its service, or of the one under
 * whose name its samples come, covers its end yet, and its spans wait for as long. end: wall; 0:
 * not known. now: wall. */
bool known_may_grow(const struct known *known, const struct known_span *span, uint64_t end,
                    uint64_t now);
bool known_service_may_grow(const struct known_service *service, uint64_t end, uint64_t now);

/* Spans that were decided up to then are not remembered, or not all of them; 0: all are. Wall, ns.
 */
uint64_t known_forgotten_until(const struct known *known);

/* False: the id is not known; true: it may be. Any thread, without the lock. */
bool known_may_have(const struct known *known, uint64_t id);

/* Internal to known.c. */

/* Past so many rows at once, and so many a second, they are counted by service only: what a table
 * costs is small beside the rest at any load. */
enum { TOKENS_MAX = KNOWN_SPANS, TOKENS_A_SECOND = 2000 };
void known_refill(struct known *known, uint64_t now);

enum { KNOWN_BUCKETS = 1 << 16 };

/* One allocation of more than HEAP_MAPPED bytes. */
struct known_tables {
    struct known_span spans[KNOWN_SPANS];
    _Atomic uint32_t buckets[KNOWN_BUCKETS];
    struct known_route routes[KNOWN_ROUTES];
};

static inline uint64_t known_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static inline _Atomic uint32_t *known_bucket(const struct known *known, uint64_t id)
{
    return &known->buckets[known_mix(0, id) & (KNOWN_BUCKETS - 1)];
}

/* Where there are too many ids, a part is chosen by their hash: of those, the decision and all
 * samples are looked up, so that a route's CPU time is that of the spans that it counts. */
static inline bool known_chooses(const struct known *known, uint64_t id)
{
    return known_mix(0, id) >> 32 <= known->share;
}

/* Whether a row more may be looked up. */
static inline bool known_may(struct known *known, uint64_t id, uint64_t now)
{
    if (now > known->tokens_at + NS_PER_MS)
        known_refill(known, now);
    if (known->tokens == 0 || !known_chooses(known, id)) {
        known->passed_over++;
        known->passed_over_at = now;
        return false;
    }
    known->tokens--;
    return true;
}

/* Rows are looked up in a row, mostly not in the cache: the bucket of one FAR ahead is fetched, and
 * the span of one NEAR ahead. */
enum { FAR = 16, NEAR = 8 };

static inline void known_fetch_bucket(const struct known *known, uint64_t id)
{
    __builtin_prefetch((const void *)known_bucket(known, id));
}

static inline void known_fetch_span(const struct known *known, uint64_t id)
{
    uint32_t at = atomic_load_explicit(known_bucket(known, id), memory_order_relaxed);
    const struct known_span *span = &known->spans[at ? at - 1 : known->newest];
    __builtin_prefetch(span, 1);
    __builtin_prefetch((const char *)span + 64, 1);
}

/* Gives a span without samples those of another with the same id. */
void known_take_samples(struct known_span *span, struct known_span *from);

/* Notes that samples of a span came with the newest window. */
void known_hold(const struct known *known, struct known_span *span);

#endif
