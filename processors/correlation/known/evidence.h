/*
 * From what is known of a service and its processes to what the rules go by (judge.h). Pure but for
 * gaps between windows, which are given up on the way (timeline.h).
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_EVIDENCE_H
#define PROCESSORS_CORRELATION_KNOWN_EVIDENCE_H

#include "processors/correlation/known/services.h"

/* As configured. */
struct evidence_rules {
    struct confirm_by confirm;
    uint64_t hold;     /* DURATION_AUTO: by the windows */
    uint64_t remember; /* ns */
};

/* What the spans of one process are judged by now. process NULL: any of the service. */
struct judge_known evidence_known(const struct service *service, const struct process *process,
                                  const struct evidence_rules *rules, uint64_t mono);

/* A profile of a kind that confirms came, or of another one. samples: it has any; named: of a span.
 */
void evidence_note_profile(struct service *service, enum kind kind, bool confirms, bool samples,
                           bool named);

/* A window that cannot end where it says: its clock is ahead, nobody knows quite how far. */
void evidence_note_capped(struct service *service);

/* The sample of a span that ended then (local) came in a window that began then. */
void evidence_note_skew(struct service *service, uint64_t ended, uint64_t window_start);

#endif
