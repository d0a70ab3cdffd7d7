/*
 * What is wrong with a service as a whole: its samples name no span that came, its profiles are far
 * from its spans by their time, come later than spans wait, or come no more. Guarded by the watch's
 * lock.
 */
#ifndef EXTENSIONS_STATUS_TROUBLE_H
#define EXTENSIONS_STATUS_TROUBLE_H

#include "extensions/status/known.h"

struct told_reason;

/* Notes what a decision says about its service. */
void trouble_decided(struct known_service *service, const struct watch_decision *decision);

/* Notes that a span of a service passed; ended: by its own clock; both wall. */
void trouble_seen(struct known_service *service, uint64_t ended, uint64_t now);

/* Whether spans and profiles alike come so long after their end, by their own time, that the clock
 * of their host must be behind. late: of its profiles. */
bool trouble_is_behind(const struct known_service *service, uint64_t *late);

/* Notes what its samples say of a span. Returns known_out_of_reach of one that was decided, unless
 * it may have begun near its profiles. */
int64_t trouble_sampled(const struct known *known, const struct known_span *span);

/* What to do where a window and a span that it has samples of are far apart: which clock is wrong.
 * ended: the span's end by its own clock. The result is static. */
const char *trouble_clock_fix(const struct known *known, const struct known_span *span,
                              uint64_t ended);

/* Whether its profiles come later than its spans wait; then writes a sentence and what to do. */
bool trouble_is_late(const struct known_service *service, char *text, size_t text_size, char *fix,
                     size_t fix_size);

/* Whether something is wrong, as text and fix: which may be in the buffers of told. */
bool trouble_of(const struct known *known, const struct known_service *service,
                struct told_reason *told);

#endif
