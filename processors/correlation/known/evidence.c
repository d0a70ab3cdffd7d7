#include "processors/correlation/known/evidence.h"

#include "lib/base/clock.h"
#include "lib/settings/key.h"

/* For this long a service's slower profilers may not have sent anything: 60 s and the upload. For a
 * process identified by its resource: since its own start. */
#define FIRST_MINUTE (62 * NS_PER_S)
/* Two times of one clock, converted to ours at different moments. */
#define CLOCK_ERROR    (20 * NS_PER_MS)
#define SKEW_MAX       (30 * NS_PER_S)
#define SKEW_AT_LEAST  (250 * NS_PER_MS)
#define SKEW_OF_CAPPED (500 * NS_PER_MS) /* an upload rarely takes longer */

enum { PROFILES_WITHOUT = 2, FORGET_SKEW = 64 };

/* The windows of all kinds that confirm, combined. */
struct windows {
    uint64_t watermark, longest, lateness;
    uint64_t unsure_until; /* longer ones may arrive; 0: none is expected */
    bool unknown;          /* none of a kind was believed */
    unsigned count;
    struct timeline *only; /* set if only one kind is sent */
    unsigned kinds;
};

static uint64_t evidence_minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t evidence_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_active(const struct timeline *timeline, uint64_t mono, uint64_t remember)
{
    return timeline && timeline->count && evidence_minus(mono, timeline->uploaded) <= remember;
}

static void add_windows(struct windows *all, struct timeline *each, uint64_t early)
{
    uint64_t longest = timeline_longest(each), unsure = timeline_unsure_until(each, early);
    all->unsure_until = evidence_larger(all->unsure_until, unsure);
    all->only = all->kinds++ ? NULL : each;
    all->unknown |= each->aside == each->count;
    all->longest = evidence_larger(all->longest, longest);
    all->lateness = evidence_larger(all->lateness, timeline_lateness(each));
    if (each->watermark < all->watermark)
        all->watermark = each->watermark;
    if (each->count < all->count)
        all->count = each->count;
}

/* If several kinds confirm, a span has no samples once the windows of all have arrived. If no kind
 * arrived within `remember`, the last one counts. */
static struct windows read_windows(const struct service *service, unsigned kinds, uint64_t mono,
                                   uint64_t remember)
{
    for (int lately = 1; lately >= 0; lately--) {
        struct windows all = {.watermark = UINT64_MAX, .count = UINT32_MAX};
        for (enum kind kind = 0; kind < KIND_OTHER; kind++) {
            struct timeline *each = service->timelines[kind];
            if (kinds & KIND_BIT(kind) && each && each->count &&
                (!lately || is_active(each, mono, remember)))
                add_windows(&all, each, service->first_seen + FIRST_MINUTE);
        }
        if (all.kinds)
            return all;
    }
    return (struct windows){0};
}

/* Returns the one sequence that has all samples of the process; NULL: unknown. A resource that does
 * not identify a process may be shared by several, and samples of one of them may not have been
 * seen yet. */
static struct sequence *bound_sequence(const struct process *process, const struct windows *windows,
                                       uint64_t mono, uint64_t remember)
{
    if (!windows->only || !process || !process_is_bound(process, mono, remember))
        return NULL;
    struct sequence *bound = timeline_find(windows->only, process->sequence);
    unsigned wanted = process->identified ? 1 : 2;
    if (!bound || !sequence_is_steady(windows->only, bound, wanted, mono) ||
        (bound->contested && mono - bound->contested <= remember))
        return NULL;
    bool only =
        process->identified || (mono >= process->service->first_seen + FIRST_MINUTE &&
                                timeline_is_settled(windows->only, mono) &&
                                sequence_is_alone(windows->only, bound, process->resource, mono));
    return only ? bound : NULL;
}

/* Whether its profiles had enough time to carry a span id, and none did. */
static bool names_none(const struct service *service, const struct judge_known *known,
                       uint64_t mono)
{
    if (service->named || !service->first_candidate ||
        evidence_minus(mono, service->first_candidate) < known->first_hold)
        return false;
    if (known->profiled)
        return service->nameless >= PROFILES_WITHOUT;
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (service->others[kind] >= PROFILES_WITHOUT)
            return true;
    return false;
}

static bool sent_others(const struct service *service)
{
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (service->others[kind])
            return true;
    return false;
}

/* The spans' clock may be slightly further behind than observed. */
static uint64_t skew_of(const struct service *service)
{
    uint64_t skew = service->skew;
    return skew ? skew + skew / 4 + SKEW_AT_LEAST : CLOCK_ERROR;
}

/* Returns until when profilers slower than the known ones may still send their first whole
 * window. */
static uint64_t careful_until(const struct service *service, const struct process *process,
                              const struct windows *windows, const struct sequence *bound)
{
    bool identified = process && process->identified;
    uint64_t minute = (identified ? process->first_seen : service->first_seen) + FIRST_MINUTE;
    if (bound && identified)
        return bound->count > 1 ? 0 : evidence_larger(minute, bound->frontier + FIRST_MINUTE);
    return evidence_larger(minute, windows->unsure_until);
}

static void judge_windows(struct judge_known *known, const struct service *service,
                          const struct process *process, struct windows *windows, uint64_t mono,
                          uint64_t remember)
{
    struct sequence *bound = bound_sequence(process, windows, mono, remember);
    uint64_t careful = careful_until(service, process, windows, bound);
    bool is_careful = known->hold == DURATION_AUTO && mono < careful;
    uint64_t slower = 0;
    if (is_careful || windows->unknown)
        slower = WINDOW_OF_SLOWER;
    else if (mono < careful) /* no span waits for longer than hold */
        slower = known->hold < WINDOW_OF_SLOWER ? known->hold : WINDOW_OF_SLOWER;
    known->window = judge_window(bound ? bound->longest : windows->longest,
                                 bound ? bound->count : windows->count, service->from_go, slower);
    known->margin = judge_margin(known->window, windows->lateness);
    known->watermark = bound ? sequence_reach(bound) : windows->watermark;
    known->skew = skew_of(service);
    if (bound)
        known->passed = sequence_passed(bound, mono, known->margin, &known->ask_at);
    else if (!is_careful && windows->only && service->process_count <= 1)
        known->passed =
            timeline_passed(windows->only, mono, known->margin, remember, &known->ask_at);
    if (mono < careful && careful < known->ask_at)
        known->ask_at = careful;
}

struct judge_known evidence_known(const struct service *service, const struct process *process,
                                  const struct evidence_rules *rules, uint64_t mono)
{
    uint64_t remember = rules->remember;
    unsigned kinds = service_kinds(service, &rules->confirm, mono, remember);
    struct windows windows = read_windows(service, kinds, mono, remember);
    struct judge_known known = {
        .profiled = windows.kinds > 0,
        .others = sent_others(service),
        .unread = service->unread && evidence_minus(mono, service->unread_at) <= remember,
        .first_seen = service->first_seen,
        .first_hold = judge_first_hold(rules->hold, service->from_node),
        .hold = rules->hold,
        .ask_at = UINT64_MAX,
    };
    known.no_ids = names_none(service, &known, mono);
    if (known.profiled)
        judge_windows(&known, service, process, &windows, mono, remember);
    return known;
}

void evidence_note_profile(struct service *service, enum kind kind, bool confirms, bool samples,
                           bool named)
{
    service->version++;
    service->skew -= service->skew / FORGET_SKEW;
    if (named)
        service->named = true;
    if (confirms) {
        service->nameless += samples && !named && service->first_candidate;
    } else if (service->others[kind] < UINT8_MAX) {
        service->others[kind]++;
    }
}

void evidence_note_capped(struct service *service)
{
    evidence_note_skew(service, 0, SKEW_OF_CAPPED);
}

void evidence_note_skew(struct service *service, uint64_t ended, uint64_t window_start)
{
    uint64_t skew = evidence_minus(window_start, ended);
    if (skew > SKEW_MAX)
        skew = SKEW_MAX;
    if (skew > service->skew)
        service->skew = skew;
}
