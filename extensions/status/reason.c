#include "extensions/status/reason.h"

#include "extensions/status/known_find.h"
#include "extensions/status/known_owed.h"
#include "extensions/status/reason_lanes.h"
#include "extensions/status/trouble.h"
#include "pipeline/watch_texts.h"

#include <stdio.h>
#include <string.h>

static const struct watch_reason names_differ = {
    REASON_NAMES_DIFFER, "Samples with the ids of its spans came under another service name.",
    WATCH_NAMES_FIX};
static const struct watch_reason tenants_differ = {
    REASON_TENANTS_DIFFER, "Samples with the ids of its spans came from another tenant.",
    "Give the profiler the same X-Scope-OrgID as the exporter of the traces."};
static const struct watch_reason came_late = {
    REASON_CAME_LATE, "Samples with its id came after the span had been forwarded without a link.",
    "Let the profiler upload more often, or raise `hold` of the correlation processor above the "
    "time that its profiles take to arrive."};

static const struct watch_reason passed_child = {
    REASON_CAME_LATE,
    "Samples name it, and it was forwarded without a link, for it is no local root: such a span "
    "waits only once samples have named others of its service, or with `candidates: all` of the "
    "correlation processor.",
    NULL};

#define BEFORE       "before_start" /* as correlation calls it */
#define BEFORE_START "By its own time it started before spanlink did"

/* The same of one that looked too old to wait: to this process, or after a reload. */
#define OLD_TEXT ", so it was forwarded at once. Samples with its id came after that."
#define OLD_FIX                                                                                    \
    "Nothing needs to be done, unless the clock of its host is behind: later spans wait."
static const struct watch_reason came_late_old[] = {
    {"came_late", BEFORE_START OLD_TEXT, OLD_FIX},
    {"came_late", WATCH_BEFORE_RELOAD OLD_TEXT, OLD_FIX},
};

#define IDS_UNMATCHED "ids_unmatched" /* as correlation calls it */
#define NOT_PROFILED  "not_profiled"  /* the same */
#define BEFORE_FIRST  "It ended before the first profile of its service came, so it has no link. "
#define LATER_WAIT    "Nothing needs to be done: later spans wait for their profiles."
static const struct watch_reason before_first = {REASON_BEFORE_FIRST, BEFORE_FIRST LATER_WAIT,
                                                 NULL};
static const struct watch_reason stopped = {
    "hold_ran_out",
    "It waited as long as a profile of its time may take, and no profile of its service had come "
    "since it ended.",
    REASON_STOPPED_FIX};

/* The same of one that came when profiles of its service were known no more, and where samples with
 * its id were among these. */
static const struct watch_reason not_profiled_lately = {
    NOT_PROFILED,
    "Profiles of its service had come before, and none of them was remembered any more when it was "
    "decided.",
    REASON_STOPPED_FIX};
static const struct watch_reason forgotten = {
    "forgotten",
    "Samples with its id had come, and were not remembered any more when it was decided.",
    "Raise `remember` of the correlation processor, unless a reload replaced that meanwhile."};
static const struct watch_reason profiles_refused = {
    REASON_REFUSED, "Its profiles are refused: their clock is wrong.",
    "Set the clock of the profiled process's host."};

/* Uploads that take longer may come later than spans wait. */
#define LATE_AT_LEAST (45 * NS_PER_S)

/* A process that has nothing to do may upload nothing for a while. */
#define SILENT_AT_LEAST (120 * NS_PER_S)

/* What is said of a span that only samples name which do not confirm, whatever correlation said of
 * it: only those of wall time in a service that measures CPU time, or of other kinds. */
#define BESIDE_WALL "Only samples of wall time name it: the profiler did not catch it computing."
static const struct watch_reason beside[][2] = {
    {{"no_sample", REASON_BESIDE_KINDS, REASON_BESIDE_FIX}, {"no_sample", BESIDE_WALL, NULL}},
    {{"hold_ran_out", REASON_BESIDE_KINDS, REASON_BESIDE_FIX}, {"hold_ran_out", BESIDE_WALL, NULL}},
    {{"not_profiled", REASON_BESIDE_KINDS, REASON_BESIDE_FIX}, {"not_profiled", BESIDE_WALL, NULL}},
    {{"no_ids", REASON_BESIDE_KINDS, REASON_BESIDE_FIX}, {"no_ids", BESIDE_WALL, NULL}},
    {{"no_parent", REASON_BESIDE_KINDS, REASON_BESIDE_FIX}, {"no_parent", BESIDE_WALL, NULL}},
    {{REASON_NO_LOCAL_ROOT, REASON_BESIDE_KINDS, REASON_BESIDE_FIX},
     {REASON_NO_LOCAL_ROOT, BESIDE_WALL, NULL}},
};

/* Of a linked span, which has no reason: it was counted as one whose link opens nothing. */
enum { TOLD_APART = UINT8_MAX };

/* The name under which the samples of a window came; 0: the window is forgotten. */
static uint32_t name_in(const struct known *known, const struct known_window *window)
{
    return window ? known->services[window->service]->name : 0;
}

/* The service under whose name all samples of a span came, if that is not its own; 0: none. */
static uint16_t other_service(const struct known *known, const struct known_span *span)
{
    const struct known_window *first = known_window(known, span->first_window);
    const struct known_window *last = known_window(known, span->last_window);
    uint32_t own = known->services[span->service]->name;
    if (!own || !(first || last) || name_in(known, first) == own || name_in(known, last) == own)
        return 0;
    return last ? last->service : first->service;
}

/* Of a reason that says that no sample of the span had come. */
static bool missed_samples(const struct watch_reason *reason)
{
    static const char *const words[] = {"no_sample",          "hold_ran_out", "not_profiled",
                                        "no_parent",          IDS_UNMATCHED,  REASON_NAMES_DIFFER,
                                        REASON_TENANTS_DIFFER};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(reason->word, words[i]) == 0)
            return true;
    return false;
}

static bool is_word(const struct watch_reason *reason, const char *word)
{
    return strcmp(reason->word, word) == 0;
}

/* Of such a reason: before what the span started. */
static bool is_before_reload(const struct watch_reason *reason)
{
    return strncmp(reason->text, WATCH_BEFORE_RELOAD, strlen(WATCH_BEFORE_RELOAD)) == 0;
}

static const char *started_before(const struct watch_reason *reason)
{
    return is_before_reload(reason) ? WATCH_BEFORE_RELOAD : BEFORE_START;
}

/* Whether its samples are missing because the profiles of its service are refused. */
static bool is_refused(const struct known *known, const struct known_span *span,
                       const struct watch_reason *decided)
{
    const struct known_service *service = known->services[span->service];
    return (missed_samples(decided) || is_word(decided, BEFORE)) &&
           clocks_find(&known->clocks, service->name, service->last_came, span->decided);
}

uint64_t reason_ended(const struct known_span *span)
{
    return span->ahead ? 0 : span->decided - (uint64_t)(span->waited_ms * (int64_t)NS_PER_MS);
}

/* Whether a reason has REASON_BESIDE_KINDS, and names the kinds. */
static bool names_kinds(const struct watch_reason *reason)
{
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (reason == &beside[i][0])
            return true;
    return false;
}

/* The kinds of the samples of a span that none confirms. */
static uint8_t named_by(const struct known_span *span)
{
    unsigned kinds = (span->samples || span->cpu_ns ? NAMED_BY_CPU : 0) |
                     (span->wall_samples || span->wall_ns ? NAMED_BY_WALL : 0);
    return (uint8_t)(kinds + span->untimed * NAMED_BY_UNTIMED);
}

/* NULL: no sample names it, or what was decided is not for want of one. */
static const struct watch_reason *beside_reason(const struct known *known,
                                                const struct known_span *span,
                                                const struct watch_reason *decided)
{
    bool wall = named_by(span) == NAMED_BY_WALL && known->services[span->service]->times_cpu;
    for (size_t i = 0; (span->beside || span->untimed) && i < sizeof beside / sizeof *beside; i++)
        if (is_word(decided, beside[i][wall].word))
            return &beside[i][wall];
    return NULL;
}

/* Of a span that no sample names which confirms it. */
static const struct watch_reason *unnamed_reason(const struct known *known,
                                                 const struct known_span *span)
{
    const struct known_service *service = known->services[span->service];
    const struct watch_reason *decided = known->reasons[span->reason];
    uint64_t ended = reason_ended(span);
    if (is_refused(known, span, decided))
        return &profiles_refused;
    const struct watch_reason *aside = beside_reason(known, span, decided);
    if (aside)
        return aside;
    if (is_word(decided, "hold_ran_out") && !decided->fix && ended && service->last_came &&
        service->last_came < ended)
        return &stopped;
    if (is_word(decided, NOT_PROFILED) && service->tenant_under && !service->confirms_from)
        return &tenants_differ;
    const struct watch_reason *lane = reason_lane_of_profiles(known, span);
    if (lane && (is_word(decided, NOT_PROFILED) || is_word(decided, "hold_ran_out")))
        return lane;
    if (is_word(decided, NOT_PROFILED) && service->confirms_from)
        return service->confirms_from > span->decided ? &before_first : &not_profiled_lately;
    if (!is_word(decided, "no_sample"))
        return decided;
    if (service->tenant_under && known_sampled_elsewhere(known, span))
        return &tenants_differ;
    if (service->no_ids)
        return known->reasons[service->no_ids - 1];
    if (service->unmatched && span->decided > service->linked_at)
        return known->reasons[service->unmatched - 1];
    bool before =
        ended >= known->reloaded && ended < service->began && ended < service->confirms_from;
    return span->service && ended && before ? &before_first : decided;
}

/* NULL: the windows with its samples are forgotten, so that it stays as it was. */
static const struct watch_reason *reason_now(const struct known *known,
                                             const struct known_span *span)
{
    const struct known_window *first = known_window(known, span->first_window);
    const struct watch_reason *decided = known->reasons[span->reason];
    if (!span->first_window)
        return unnamed_reason(known, span);
    if (!first && !known_window(known, span->last_window))
        return NULL;
    if (other_service(known, span))
        return &names_differ;
    if (reason_lane_of_samples(known, span))
        return reason_lane_of_samples(known, span);
    /* A span whose clock is behind was forwarded at once, as one from before the start. */
    bool old = is_word(decided, BEFORE) && !known_out_of_reach(known, span, 0, reason_ended(span));
    bool late = first && first->arrived > span->decided && (missed_samples(decided) || old);
    if (is_word(decided, NOT_PROFILED))
        return late ? &before_first : &forgotten;
    return !late ? decided : old ? &came_late_old[is_before_reload(decided)] : &came_late;
}

static bool has_reason(const struct known_span *span)
{
    return span && span->decided && span->action != WATCH_LINKED;
}

static void move_one(uint64_t *from, uint64_t *to)
{
    *from -= *from > 0;
    ++*to;
}

void reason_take_back(struct known *known, const struct known_span *span)
{
    struct known_service *service = known->services[span->service];
    struct known_step *step =
        (struct known_step *)known_service_step(service, span->decided / KNOWN_HISTORY_STEP);
    service->not_linked -= service->not_linked > 0;
    service->reasons[span->told] -= service->reasons[span->told] > 0;
    if (step)
        step->reasons[span->told] -= step->reasons[span->told] > 0;
}

void reason_recount(struct known *known, struct known_span *span)
{
    const struct watch_reason *now = has_reason(span) ? reason_now(known, span) : NULL;
    if (!now || now == known->reasons[span->told])
        return;
    struct known_service *service = known->services[span->service];
    size_t from = span->told, to = known_reason_of(known, now);
    struct known_step *step =
        (struct known_step *)known_service_step(service, span->decided / KNOWN_HISTORY_STEP);
    move_one(&service->reasons[from], &service->reasons[to]);
    if (step) {
        step->reasons[from] -= step->reasons[from] > 0;
        step->reasons[to]++;
    }
    span->told = (uint8_t)to;
    reason_lane_note(service, now, span->decided);
    if (names_kinds(now))
        service->beside_kinds = named_by(span);
    if (now == &names_differ)
        service->profiles_under = other_service(known, span);
    else if (known->reasons[from] == &names_differ && !service->reasons[from])
        service->profiles_under = 0;
}

/* Notes once a link that opens an empty flame graph, since the clocks of span and profile differ.
 */
static void note_apart(const struct known *known, struct known_span *span, int64_t gap)
{
    struct known_service *service = known->services[span->service];
    if (span->told == TOLD_APART)
        return;
    service->apart++;
    service->apart_ns = gap;
    span->told = TOLD_APART;
}

void reason_sampled(struct known *known, struct known_span *span)
{
    int64_t gap = trouble_sampled(known, span);
    if (span->action != WATCH_LINKED)
        reason_recount(known, span);
    else if (gap)
        note_apart(known, span, gap);
}

/* It holds of the spans before, too, which were decided while that was not proved yet. */
static void note_ids(struct known *known, const struct known_span *span, uint8_t *noted)
{
    if (*noted || !span->service)
        return;
    *noted = (uint8_t)(span->reason + 1);
    for (uint32_t i = 0; i < known->span_count; i++) {
        struct known_span *each = known_at(known, i);
        if (each->service == span->service && each != span)
            reason_recount(known, each);
    }
}

/* Whether the last profile of its service came long before it ended, rather than just in time: as
 * correlation says, which knows how long its windows are, or after any of them. */
static bool is_silent(const struct known_service *service, const struct known_span *span,
                      const struct watch_reason *decided)
{
    uint64_t ended = reason_ended(span);
    bool silent = strcmp(decided->text, WATCH_SILENT) == 0;
    return service->last_came && (silent || ended > service->last_came + SILENT_AT_LEAST);
}

void reason_decided(struct known *known, struct known_span *span)
{
    span->told = span->reason;
    reason_sampled(known, span);
    struct known_service *service = known->services[span->service];
    const struct watch_reason *decided = has_reason(span) ? known->reasons[span->reason] : NULL;
    if (span->action == WATCH_LINKED)
        service->unmatched = 0;
    else if (decided && is_word(decided, "no_ids"))
        note_ids(known, span, &service->no_ids);
    else if (decided && is_word(decided, IDS_UNMATCHED))
        note_ids(known, span, &service->unmatched);
    if (decided && is_word(decided, "hold_ran_out") && is_silent(service, span, decided))
        service->vain_at = span->decided;
}

/* A span without samples has the reason if samples of others of its service came so. */
static void tell_names(const struct known *known, const struct known_span *span,
                       struct told_reason *told)
{
    bool sampled = span->first_window;
    uint16_t other =
        sampled ? other_service(known, span) : known->services[span->service]->profiles_under;
    if (!other)
        return;
    struct view spans = names_get(&known->names, known->services[span->service]->name);
    struct view profiles = names_get(&known->names, known->services[other]->name);
    snprintf(told->text_buffer, sizeof told->text_buffer,
             "The service names do not match: samples with %s came under \"%.*s\", but the span is "
             "of \"%.*s\".",
             sampled ? "its id" : "ids of other spans of its service", VIEW_ARG(profiles),
             VIEW_ARG(spans));
    reason_names_fix(known, known->services[span->service], known->services[other],
                     told->fix_buffer, sizeof told->fix_buffer);
    told->text = told->text_buffer;
    told->fix = told->fix_buffer;
}

/* Where the profiles of a service come later than its spans wait, that is the reason. Returns
 * whether they do. */
static bool tell_late_uploads(const struct known_service *service, struct told_reason *told)
{
    if (!trouble_is_late(service, told->text_buffer, sizeof told->text_buffer, told->fix_buffer,
                         sizeof told->fix_buffer))
        return false;
    told->text = told->text_buffer;
    told->fix = told->fix_buffer;
    return true;
}

/* Adds to the text what becomes of later spans. */
static void tell_later(const struct known_service *service, struct told_reason *told)
{
    char *rest = told->text_buffer + strlen(told->text_buffer);
    size_t size = sizeof told->text_buffer - strlen(told->text_buffer);
    if (trouble_is_late(service, rest, size, told->fix_buffer, sizeof told->fix_buffer))
        told->fix = told->fix_buffer;
    else if (service->hold || service->late <= LATE_AT_LEAST)
        snprintf(rest, size, LATER_WAIT);
    told->text = told->text_buffer;
}

/* Whether its samples came after the decision and are, by their time, far from it. */
static bool tell_apart(const struct known *known, const struct known_span *span,
                       struct told_reason *told)
{
    int64_t apart = known_out_of_reach(known, span, 0, reason_ended(span));
    if (!apart)
        return false;
    snprintf(told->text_buffer, sizeof told->text_buffer,
             "Samples with its id came after it had been forwarded without a link: by their "
             "profile's time they are %.0f s %s the span.",
             (double)(apart < 0 ? -apart : apart) / 1e9, apart < 0 ? "before" : "after");
    told->text = told->text_buffer;
    told->fix = trouble_clock_fix(known, span, reason_ended(span));
    return true;
}

static void tell_before_first(const struct known *known, const struct known_span *span,
                              struct told_reason *told)
{
    const struct known_window *first = known_window(known, span->first_window);
    uint64_t ended = reason_ended(span), began = known->services[span->service]->began;
    if (!ended || tell_apart(known, span, told))
        return;
    if (first && first->arrived > ended)
        snprintf(told->text_buffer, sizeof told->text_buffer,
                 "It ended %.0f s before the first profile of its service came, which holds its "
                 "samples, and had been forwarded by then. ",
                 (double)(first->arrived - ended) / 1e9);
    else if (began > ended)
        snprintf(told->text_buffer, sizeof told->text_buffer,
                 "It ended %.0f s before the first profile of its service begins, so no profile "
                 "covers its time. ",
                 (double)(began - ended) / 1e9);
    else
        return;
    tell_later(known->services[span->service], told);
}

static void tell_late(const struct known *known, const struct known_span *span,
                      struct told_reason *told)
{
    const struct known_window *first = known_window(known, span->first_window);
    if (!first || first->arrived <= span->decided)
        return;
    if (tell_apart(known, span, told) || tell_late_uploads(known->services[span->service], told))
        return;
    told->text = told->text_buffer;
    told->fix = came_late.fix;
    double waited = span->waited_ms > 0 ? span->waited_ms / 1e3 : 0;
    double late = (double)(first->arrived - span->decided) / 1e9 + waited;
    bool is_ahead = span->ahead || span->waited_ms < 0;
    snprintf(told->text_buffer, sizeof told->text_buffer,
             is_ahead
                 ? "By its own time it ended after it had arrived. Samples with its id came %.0f s "
                   "after the span did, but it was forwarded without a link after %.0f s."
                 : "Samples with its id arrived %.0f s after its end, but it was forwarded without "
                   "a link %.0f s after its end.",
             late, waited);
}

/* A clock that is behind makes all spans of a service old. Returns whether it is. */
static bool tell_behind(const struct known_service *service, const struct watch_reason *reason,
                        struct told_reason *told)
{
    uint64_t late;
    if (!trouble_is_behind(service, &late))
        return false;
    snprintf(told->text_buffer, sizeof told->text_buffer,
             "%s. Spans of its service come %.0f s after their end, and profiles %.0f s after "
             "theirs: its clock seems to be behind.",
             started_before(reason), (double)service->sent_after / 1e9, (double)late / 1e9);
    told->text = told->text_buffer;
    told->fix = "Set the clock of its host.";
    return true;
}

static void tell_before_start(const struct known_service *service,
                              const struct watch_reason *reason, struct told_reason *told)
{
    int64_t apart = service->apart_ns;
    tell_behind(service, reason, told);
    if (!service->apart_run)
        return;
    snprintf(told->text_buffer, sizeof told->text_buffer,
             "%s; but the profiles of other spans of its service are %.0f s %s these.",
             started_before(reason), (double)(apart < 0 ? -apart : apart) / 1e9,
             apart < 0 ? "before" : "after");
    told->text = told->text_buffer;
    told->fix = service->apart_fix;
}

/* Where the clock of a service's spans or profiles is wrong, samples seem to come late. */
static bool tell_clocks(const struct known_service *service, struct told_reason *told)
{
    int64_t apart = service->apart_ns;
    if (!service->apart_run)
        return false;
    snprintf(told->text_buffer, sizeof told->text_buffer,
             "Samples with its id came after the span had been forwarded without a link: by their "
             "profile's time they are %.0f s %s the span.",
             (double)(apart < 0 ? -apart : apart) / 1e9, apart < 0 ? "before" : "after");
    told->text = told->text_buffer;
    told->fix = service->apart_fix;
    return true;
}

/* Of a span that is no local root, passed without a decision, and has samples. */
static const struct watch_reason *child_reason(const struct known *known,
                                               const struct known_span *span,
                                               const struct known_service *service)
{
    static const struct watch_reason child = {REASON_NO_LOCAL_ROOT, "", NULL};
    const struct watch_reason *aside =
        span->first_window ? NULL : beside_reason(known, span, &child);
    return aside ? aside : service->roots_only ? service->roots_only : &passed_child;
}

bool reason_passed(const struct known *known, const struct known_span *span, bool local_root,
                   struct told_reason *told)
{
    if (!span || span->decided || !(span->dealt || span->untimed) || !known_has_samples(span))
        return false;
    bool differs = span->under && span->under != span->service;
    if (local_root && !differs)
        return false;
    const struct watch_reason *reason =
        differs ? &names_differ : child_reason(known, span, known->services[span->service]);
    told->word = reason->word;
    told->text = reason->text;
    told->fix = reason->fix;
    if (differs) {
        tell_names(known, span, told);
    } else if (names_kinds(reason)) {
        reason_tell_kinds(named_by(span), "it", told);
    }
    return true;
}

/* Of a reason that does not say what to do, or that the profiler has stopped. */
static bool is_vain(const struct watch_reason *reason)
{
    bool wall = false;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        wall |= reason == &beside[i][1];
    return is_word(reason, "hold_ran_out") && (!reason->fix || reason == &stopped) && !wall;
}

void reason_of_service(const struct known *known, const struct known_service *service,
                       const struct watch_reason *reason, struct told_reason *told)
{
    const struct clock_refusal *refusal = NULL;
    told->word = reason->word;
    told->text = reason->text;
    told->fix = reason->fix;
    if (reason == &profiles_refused)
        refusal = clocks_find(&known->clocks, service->name, service->last_came, 0);
    if (names_kinds(reason)) {
        reason_tell_kinds(service->beside_kinds, "it", told);
    } else if (is_word(reason, "no_ids") && service->beside_kinds) {
        reason_tell_kinds(service->beside_kinds, "spans of its service", told);
    } else if (refusal) {
        clocks_tell(refusal, told->text_buffer, sizeof told->text_buffer);
        told->text = told->text_buffer;
    } else if (is_word(reason, REASON_TENANTS_DIFFER) && service->tenant_under) {
        reason_tell_tenants(known, service, told);
    } else if (reason == &before_first) {
        snprintf(told->text_buffer, sizeof told->text_buffer, BEFORE_FIRST);
        tell_later(service, told);
    } else if (is_word(reason, BEFORE)) {
        tell_before_start(service, reason, told);
    } else if (reason == &came_late_old[0] || reason == &came_late_old[1]) {
        tell_behind(service, reason, told);
    } else if (reason == &came_late && tell_clocks(service, told)) {
        return;
    } else if (reason == &came_late || is_vain(reason)) {
        tell_late_uploads(service, told);
    }
}

bool reason_is_unnamed(const struct watch_reason *reason)
{
    if (names_kinds(reason) || !is_word(reason, "no_sample"))
        return false;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (reason == &beside[i][1])
            return false;
    return true;
}

bool reason_of(const struct known *known, const struct known_span *span, struct told_reason *told)
{
    if (!has_reason(span))
        return false;
    const struct watch_reason *reason = known->reasons[span->told];
    reason_of_service(known, known->services[span->service], reason, told);
    if (names_kinds(reason))
        reason_tell_kinds(named_by(span), "it", told);
    if (reason_is_unnamed(reason))
        reason_tell_gap(known, span, told);
    else if (is_word(reason, "shutdown") && span->first_window)
        told->text =
            "A reload replaced the correlation processor before it could be judged; samples "
            "with its id came later.";
    else if (strcmp(reason->word, REASON_NAMES_DIFFER) == 0)
        tell_names(known, span, told);
    else if (reason == &before_first)
        tell_before_first(known, span, told);
    else if (reason == &came_late)
        tell_late(known, span, told);
    else if (is_word(reason, BEFORE) && span->first_window)
        tell_apart(known, span, told);
    return true;
}
