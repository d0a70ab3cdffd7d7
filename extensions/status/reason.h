/*
 * Why a span has no link, as it is reported: what correlation decided, unless samples with the
 * span's id show more. Guarded by the watch's lock.
 */
#ifndef EXTENSIONS_STATUS_REASON_H
#define EXTENSIONS_STATUS_REASON_H

#include "extensions/status/known.h"

/* Samples with its id came under another service name; under its own, after the decision. */
#define REASON_NAMES_DIFFER "names_differ"
#define REASON_CAME_LATE    "came_late"
/* Its service has no profiles, and samples with its ids came from another tenant. */
#define REASON_TENANTS_DIFFER "tenants_differ"
/* It ended before the first profile of its service came. */
#define REASON_BEFORE_FIRST "before_first_profile"
/* No sample came, as its service's profiles are refused because of their clock. */
#define REASON_REFUSED "profiles_refused"

/* It passed without a decision, since it is none. */
#define REASON_NO_LOCAL_ROOT "no_local_root"

/* What to do about a profiler that seems to have stopped. */
#define REASON_STOPPED_FIX "Check that the profiler still runs and can reach this process."

/* text and fix may point into the buffers. */
struct told_reason {
    const char *word, *text, *fix; /* fix NULL: nothing to do */
    char text_buffer[4 * NAME_CUT + 160], fix_buffer[2 * NAME_CUT + 320];
};

/* False: it is linked, not decided, or NULL. */
bool reason_of(const struct known *known, const struct known_span *span, struct told_reason *told);

/* The same of a span that passed without a link and without a decision, if samples name it. False
 * of a local root, too: a decision about it is not remembered any more. */
bool reason_passed(const struct known *known, const struct known_span *span, bool local_root,
                   struct told_reason *told);

/* The same of one that is no local root, where no sample names it. service: its name. */
void reason_child(const struct known *known, struct view service, struct told_reason *told);

/* Writes what to do where the profiles of `service` come under the name of `other`, a sentence with
 * the setting that the profiler of its language has. */
void reason_names_fix(const struct known *known, const struct known_service *service,
                      const struct known_service *other, char *out, size_t size);

/* Notes that samples with the id of a span came under a service of another tenant. */
void reason_note_tenant(struct known *known, struct known_span *span, uint16_t other);

/* Says so of a service of which that was noted. */
void reason_tell_tenants(const struct known *known, const struct known_service *service,
                         struct told_reason *told);

/* Kinds of samples, as bits. */
enum { NAMED_BY_CPU = 1, NAMED_BY_WALL = 2, NAMED_BY_UNTIMED = 4 }; /* times enum known_untimed */

/* Says that samples of these kinds alone name `what`. */
#define REASON_BESIDE_KINDS                                                                        \
    "Only samples of %s name %s, and `confirm_by` of the correlation processor leaves these out."
#define REASON_BESIDE_FIX                                                                          \
    "List their kind in `confirm_by` of the correlation processor, if such samples are to link "   \
    "spans."
void reason_tell_kinds(unsigned kinds, const char *what, struct told_reason *told);

/* Writes "wall time and memory". */
void reason_kinds(unsigned kinds, char *out, size_t size);

/* The same of a reason that is counted for a service. */
void reason_of_service(const struct known *known, const struct known_service *service,
                       const struct watch_reason *reason, struct told_reason *told);

/* Whether a reason says that no sample names the span, although its profiles have come. */
bool reason_is_unnamed(const struct watch_reason *reason);

/* The time at which a span ended by its own clock; 0: not known. */
uint64_t reason_ended(const struct known_span *span);

/* Counts, for its service, what the samples of a span that was just decided show: another reason
 * than the one decided, which was counted, or a link that opens nothing. */
void reason_decided(struct known *known, struct known_span *span);

/* Takes a span out of what its service counts as not linked. */
void reason_take_back(struct known *known, const struct known_span *span);

/* Counts, for its service, what samples show that confirm the span. Call it when such came. */
void reason_sampled(struct known *known, struct known_span *span);

/* Moves a decided span, in what its service counts, to the reason that is reported now. Call it
 * when other samples with its id came, or samples went. */
void reason_recount(struct known *known, struct known_span *span);

/* Of a span that no sample names: says whether a profile has its time at all. */
void reason_tell_gap(const struct known *known, const struct known_span *span,
                     struct told_reason *told);

#endif
