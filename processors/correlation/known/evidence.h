/*
 * Turns what is known of a service and its processes into the inputs of the rules (judge.h). Pure,
 * except that it gives up gaps between windows on the way (timeline.h).
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_EVIDENCE_H
#define PROCESSORS_CORRELATION_KNOWN_EVIDENCE_H

#include "processors/correlation/known/services.h"

/* As configured. */
struct evidence_rules {
    struct confirm_by confirm;
    uint64_t hold;     /* DURATION_AUTO: from the windows */
    uint64_t remember; /* ns */
};

/* Returns what decisions about spans of one process are based on now. process NULL: any of the
 * service. */
struct judge_known evidence_known(const struct service *service, const struct process *process,
                                  const struct evidence_rules *rules, uint64_t mono);

/* Notes a profile of a kind that confirms, or of another. samples: it has any; named: some have
 * span ids. */
void evidence_note_profile(struct service *service, enum kind kind, bool confirms, bool samples,
                           bool named);

/* Notes a window that cannot end when it says: its clock is ahead, by an unknown amount. */
void evidence_note_capped(struct service *service);

/* Notes that a span that ended then (local) had a sample in a window that began then. */
void evidence_note_skew(struct service *service, uint64_t ended, uint64_t window_start);

#endif
