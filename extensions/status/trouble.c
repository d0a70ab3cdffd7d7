#include "extensions/status/trouble.h"

#include "extensions/status/known_find.h"
#include "extensions/status/reason.h"
#include "extensions/status/reason_lanes.h"

#include <stdio.h>

/* Spans in a row whose samples are far from them; one alone may be a mistake of its own. */
enum { APART_AT_LEAST = 3 };

static uint64_t trouble_apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

void trouble_decided(struct known_service *service, const struct watch_decision *decision)
{
    service->has_spans = true;
    if (decision->service.language)
        service->language = decision->service.language;
    if (decision->hold)
        service->hold = decision->hold;
    if (decision->action == WATCH_LINKED)
        service->linked_at = decision->decided;
    if (decision->ended && decision->arrived >= decision->ended)
        service->sent_after = decision->arrived - decision->ended;
}

void trouble_seen(struct known_service *service, uint64_t ended, uint64_t now)
{
    service->ahead = ended > now ? ended - now : 0;
    service->ahead_run = service->ahead > KNOWN_OPENS ? service->ahead_run + 1 : 0;
}

#define BEHIND_AT_LEAST (15 * NS_PER_S)

bool trouble_is_behind(const struct known_service *service, uint64_t *late)
{
    *late = service->any_end && service->any_came > service->any_end
                ? service->any_came - service->any_end
                : 0;
    return !service->apart_run && service->sent_after >= BEHIND_AT_LEAST &&
           *late >= BEHIND_AT_LEAST;
}

/* Whether its spans end in the future, and its profiles do not. */
static bool trouble_is_ahead(const struct known_service *service)
{
    uint64_t profiles =
        service->any_end > service->any_came ? service->any_end - service->any_came : 0;
    return service->ahead_run >= APART_AT_LEAST && service->any_came &&
           trouble_apart(service->ahead, profiles) > KNOWN_OPENS;
}

/* The first window with samples of a span; NULL: it is forgotten, or of another service. */
static const struct known_window *trouble_window(const struct known *known,
                                                 const struct known_span *span)
{
    const struct known_window *window = known_window(known, span->first_window);
    return window && window->service == span->service ? window : NULL;
}

const char *trouble_clock_fix(const struct known *known, const struct known_span *span,
                              uint64_t ended)
{
    const struct known_window *window = trouble_window(known, span);
    if (!window)
        return "Set the clocks of the hosts of the span's SDK and of the profiler.";
    uint64_t profile = window->end ? trouble_apart(window->arrived, window->end) : 0;
    if (profile > trouble_apart(span->decided, ended))
        return "Set the clock of the profiled process's host: the profile's time differs from "
               "this process's clock, the span's does not.";
    return "Set the clock of the host of the span's SDK: the span's time differs from this "
           "process's clock, the profile's does not.";
}

/* An upload seems late, too, where the clock of its host is behind; but so do the spans then. */
static void trouble_note_late(struct known_service *service, const struct known_window *window)
{
    uint64_t late = window->arrived > window->end ? window->arrived - window->end : 0;
    service->late = late > service->sent_after ? late - service->sent_after : 0;
    service->late_window = window->end - window->start;
}

/* Whether the span, whose start is not known, went on for long after its samples. */
static bool trouble_went_on(const struct known_span *span, const struct known_window *window,
                            int64_t gap, uint64_t ended)
{
    return window && gap < 0 && window->arrived < ended && ended <= span->decided;
}

/* Times are cut to milliseconds on the way. */
static bool trouble_covers(const struct known_window *window, uint64_t ended)
{
    int64_t gap = known_window_gap(window, ended, ended);
    return gap > -(int64_t)NS_PER_S && gap < (int64_t)NS_PER_S;
}

/* Of a span whose samples are in one window, `gap` from it. */
static void trouble_note(const struct known *known, const struct known_span *span,
                         const struct known_window *window, int64_t gap)
{
    struct known_service *service = known->services[span->service];
    uint64_t ended = reason_ended(span);
    service->apart_run = gap ? service->apart_run + 1 : 0;
    if (gap) {
        service->apart_ns = gap;
        service->apart_fix = trouble_clock_fix(known, span, ended);
    } else if (window->start && window->end > window->start && trouble_covers(window, ended)) {
        trouble_note_late(service, window);
    }
}

int64_t trouble_sampled(const struct known *known, const struct known_span *span)
{
    if (!span->decided || !span->first_window)
        return 0;
    const struct known_window *window = trouble_window(known, span);
    uint64_t ended = reason_ended(span);
    int64_t gap = known_out_of_reach(known, span, 0, ended);
    if (trouble_went_on(span, window, gap, ended))
        return 0; /* nothing is known */
    if (window && span->first_window == span->last_window && ended)
        trouble_note(known, span, window, gap);
    return gap;
}

bool trouble_is_late(const struct known_service *service, char *text, size_t text_size, char *fix,
                     size_t fix_size)
{
    if (!service->hold || service->late <= service->hold)
        return false;
    snprintf(text, text_size,
             "Uploads of its service come %.0f s after the end of their window, and the hold is "
             "%.0f s.",
             (double)service->late / 1e9, (double)service->hold / 1e9);
    snprintf(fix, fix_size,
             "Raise `hold` of the correlation processor above %.0f s, or see what delays the "
             "uploads.",
             (double)(service->late + service->late_window) / 1e9);
    return true;
}

static void trouble_tell_apart(const struct known_service *service, struct told_reason *told)
{
    int64_t apart = service->apart_ns;
    snprintf(told->text_buffer, sizeof told->text_buffer,
             "By their time, the profiles of its last spans are %.0f s %s these: Grafana, which "
             "asks for 30 s around a span, finds none.",
             (double)(apart < 0 ? -apart : apart) / 1e9, apart < 0 ? "before" : "after");
    told->text = told->text_buffer;
    told->fix = service->apart_fix;
}

static void trouble_tell_ahead(const struct known_service *service, struct told_reason *told)
{
    snprintf(told->text_buffer, sizeof told->text_buffer,
             "By this process's clock, its spans end %.0f s in the future, and its profiles do "
             "not: Grafana, which asks for 30 s around a span, finds none.",
             (double)service->ahead / 1e9);
    told->text = told->text_buffer;
    told->fix = "Set the clock of the host of the span's SDK.";
}

static void trouble_tell_behind(const struct known_service *service, uint64_t late,
                                struct told_reason *told)
{
    snprintf(told->text_buffer, sizeof told->text_buffer,
             "Its spans come %.0f s after their end, and its profiles %.0f s after theirs: its "
             "clock seems to be behind.",
             (double)service->sent_after / 1e9, (double)late / 1e9);
    told->text = told->text_buffer;
    told->fix = "Set the clock of its host.";
}

static void trouble_tell_silent(const struct known_service *service, struct told_reason *told)
{
    snprintf(told->text_buffer, sizeof told->text_buffer,
             "No profile of its service has come for %.0f s, while its spans go on.",
             (double)(service->vain_at - service->last_came) / 1e9);
    told->text = told->text_buffer;
    told->fix = REASON_STOPPED_FIX;
}

bool trouble_of(const struct known *known, const struct known_service *service,
                struct told_reason *told)
{
    uint64_t late;
    *told = (struct told_reason){0};
    if (service->unmatched) {
        told->text = known->reasons[service->unmatched - 1]->text;
        told->fix = known->reasons[service->unmatched - 1]->fix;
    } else if (reason_lane_is_trouble(service, &told->text, &told->fix)) {
        return true;
    } else if (service->apart_run >= APART_AT_LEAST) {
        trouble_tell_apart(service, told);
    } else if (trouble_is_ahead(service)) {
        trouble_tell_ahead(service, told);
    } else if (trouble_is_behind(service, &late) && late > KNOWN_OPENS) {
        trouble_tell_behind(service, late, told);
    } else if (trouble_is_late(service, told->text_buffer, sizeof told->text_buffer,
                               told->fix_buffer, sizeof told->fix_buffer)) {
        told->text = told->text_buffer;
        told->fix = told->fix_buffer;
    } else if (service->vain_at > service->last_came) {
        trouble_tell_silent(service, told);
    } else if (service->tenant_under && !service->confirms_from) {
        reason_tell_tenants(known, service, told);
    }
    return told->text;
}
