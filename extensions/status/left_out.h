/* Profiles that were not kept: whose, when and why; and when traces were not. Bounded; not
 * thread-safe. */
#ifndef EXTENSIONS_STATUS_LEFT_OUT_H
#define EXTENSIONS_STATUS_LEFT_OUT_H

#include "lib/base/view.h"
#include "lib/wire/pprof/series.h"

enum { LEFT_OUT_MAX = 64 };

enum left_out_why {
    LEFT_OUT_LARGE, /* larger than keep_mib, or than a quarter of it when compressed */
    LEFT_OUT_BUSY   /* more arrived than the extension may keep at once */
};

/* Profiles of one service, or traces, lost for one reason, with less than 10 s between two. */
struct left_out {
    uint64_t service;     /* hash; 0: not known, may be any */
    uint64_t first, last; /* arrival, wall time, ns */
    enum left_out_why why;
};

struct left_outs {
    struct left_out ring[LEFT_OUT_MAX];
    size_t count; /* ever added; the newest is at (count - 1) % LEFT_OUT_MAX */
};

/* A service for left_outs_add: a hash of its name; of a series, 0 if the series is NULL. */
uint64_t left_out_service(struct view name);
uint64_t left_out_service_of(const struct series *series, bool by_ingest);

void left_outs_add(struct left_outs *all, uint64_t service, uint64_t arrived,
                   enum left_out_why why);

/* One of traces, of no service. */
static inline void left_outs_add_traces(struct left_outs *all, uint64_t arrived)
{
    left_outs_add(all, 0, arrived, LEFT_OUT_BUSY);
}

/* The newest of this service, or of an unknown one, that arrived between from and to. NULL: none.
 */
const struct left_out *left_outs_find(const struct left_outs *all, struct view service,
                                      uint64_t from, uint64_t to);

/* A sentence for people, and what to do about it. */
const char *left_out_text(const struct left_out *left);
const char *left_out_fix(const struct left_out *left);

/* The service of a series, as Pyroscope determines it; "unknown_service" if it names none. */
struct view series_service(const struct series *series, bool by_ingest);

#endif
