#include "extensions/status/known_find.h"

#include "lib/base/clock.h"
#include "lib/wire/otlp/otlp_span.h"

enum { HELD_BITS = 64 };

/* The first in a bucket from `at` on. */
static struct known_span *known_from(const struct known *known, uint32_t at, uint64_t id)
{
    for (; at; at = known->spans[at - 1].next)
        if (known->spans[at - 1].id == id)
            return &known->spans[at - 1];
    return NULL;
}

struct known_span *known_find(const struct known *known, uint64_t id)
{
    uint32_t at = atomic_load_explicit(known_bucket(known, id), memory_order_relaxed);
    return known_from(known, at, id);
}

struct known_span *known_next(const struct known *known, const struct known_span *span)
{
    return known_from(known, span->next, span->id);
}

uint64_t known_named(const struct known_span *span)
{
    return span->reversed ? span_id_reversed(span->id) : span->id;
}

struct known_span *known_find_named(const struct known *known, uint64_t id)
{
    struct known_span *span = known_find(known, id);
    if (span)
        return span;
    span = known_find(known, span_id_reversed(id));
    while (span && !span->reversed)
        span = known_next(known, span);
    return span;
}

bool known_shares_tenant(const struct known *known, const struct known_span *span, uint16_t service)
{
    return !span->service ||
           known->services[span->service]->tenant == known->services[service]->tenant;
}

/* Tenants may not be separated. */
static bool known_is_in(const struct known *known, const struct known_span *span,
                        struct view tenant)
{
    uint32_t own = known->services[span->service]->tenant;
    return !tenant.size || !own || names_eq(&known->names, own, tenant);
}

struct known_span *known_find_in(const struct known *known, uint64_t id, struct view service,
                                 struct view tenant)
{
    struct known_span *open = NULL, *sampled = NULL;
    for (struct known_span *span = known_find(known, id); span; span = known_next(known, span)) {
        if (!known_is_in(known, span, tenant))
            continue;
        bool named = names_eq(&known->names, known->services[span->service]->name, service);
        if (named && (span->decided || span->dealt))
            return span;
        if (named)
            sampled = span;
        else if (!span->decided || !span->service)
            open = span;
    }
    return sampled ? sampled : open;
}

struct known_span *known_find_of(const struct known *known, uint64_t id, struct view service)
{
    return known_find_in(known, id, service, (struct view){0});
}

struct known_span *known_find_as(const struct known *known, uint64_t id, struct view service,
                                 uint64_t trace, bool linked)
{
    struct known_span *best = known_find_of(known, id, service);
    unsigned most = 0;
    for (struct known_span *span = known_find(known, id); span; span = known_next(known, span)) {
        bool named = names_eq(&known->names, known->services[span->service]->name, service);
        if (!named || !(span->decided || span->dealt))
            continue;
        unsigned fit = span->trace == trace ? 3 : 1;
        fit += (span->action == WATCH_LINKED) == linked;
        best = fit > most ? span : best;
        most = fit > most ? fit : most;
    }
    return best;
}

bool known_may_have(const struct known *known, uint64_t id)
{
    return atomic_load_explicit(known_bucket(known, id), memory_order_relaxed) != 0;
}

uint64_t known_forgotten_until(const struct known *known)
{
    uint64_t until = known->passed_over ? known->passed_over_at : 0;
    for (uint32_t i = 0; known->span_count == KNOWN_SPANS && i < KNOWN_SPANS; i++) {
        uint64_t decided = known_at(known, (known->newest + i) % KNOWN_SPANS)->decided;
        if (decided)
            return decided > until ? decided : until;
    }
    return until;
}

/* How many windows of the same service came between; at least HELD_BITS: too many, or the first is
 * forgotten or of another service. */
static uint32_t known_apart(const struct known *known, uint32_t first,
                            const struct known_window *window)
{
    const struct known_window *from = known_window(known, first);
    return from && from->service == window->service ? window->nth - from->nth : HELD_BITS;
}

void known_hold(const struct known *known, struct known_span *span)
{
    uint32_t apart = known_apart(known, span->first_window,
                                 &known->windows[known->window_serial % KNOWN_WINDOWS]);
    if (apart < HELD_BITS)
        span->held |= UINT64_C(1) << apart;
}

int64_t known_window_gap(const struct known_window *window, uint64_t from, uint64_t to)
{
    uint64_t end = window->end ? window->end : window->arrived;
    uint64_t start = window->start ? window->start : end;
    return start > to ? (int64_t)(start - to) : end < from ? -(int64_t)(from - end) : 0;
}

int64_t known_out_of_reach(const struct known *known, const struct known_span *span, uint64_t start,
                           uint64_t end)
{
    int64_t nearest = 0;
    const uint32_t serials[] = {span->first_window, span->last_window};
    size_t count = serials[0] == serials[1] ? 1 : 2;
    for (size_t i = 0; end && i < count; i++) {
        const struct known_window *window = known_window(known, serials[i]);
        if (!window)
            return 0;
        int64_t gap = known_window_gap(window, start ? start : end, end);
        if (gap >= -(int64_t)KNOWN_OPENS && gap <= (int64_t)KNOWN_OPENS)
            return 0;
        nearest = gap;
    }
    return nearest;
}

bool known_may_predate(const struct known *known, const struct known_span *span, uint64_t time)
{
    const struct known_window *window = known_window(known, span->first_window);
    return time && (!window || window->start <= time);
}

bool known_service_may_grow(const struct known_service *service, uint64_t end, uint64_t now)
{
    uint64_t hold = service->hold ? service->hold : KNOWN_OPENS;
    return end && service->last_end && service->last_end < end && now < end + hold;
}

bool known_may_grow(const struct known *known, const struct known_span *span, uint64_t end,
                    uint64_t now)
{
    const struct known_window *window = known_window(known, span->last_window);
    uint16_t service = window ? window->service : span->service;
    return known_has_samples(span) && known_service_may_grow(known->services[service], end, now);
}

enum known_held known_holds(const struct known *known, const struct known_span *span,
                            const struct known_window *window)
{
    if (window->serial == span->first_window || window->serial == span->last_window)
        return KNOWN_HELD;
    bool outside = window->serial < span->first_window || window->serial > span->last_window;
    uint32_t apart = outside ? 0 : known_apart(known, span->first_window, window);
    if (apart >= HELD_BITS || window->arrived <= known->passed_over_at)
        return KNOWN_HELD_UNKNOWN;
    return !outside && span->held >> apart & 1 ? KNOWN_HELD : KNOWN_NOT_HELD;
}

void known_take_samples(struct known_span *span, struct known_span *from)
{
    struct known_span own = *span, other = *from;
    *span = other;
    span->link = own.link;
    span->trace = own.trace;
    span->decided = own.decided;
    span->waited_ms = own.waited_ms;
    span->ahead = own.ahead;
    span->lane = own.lane;
    span->next = own.next;
    span->service = own.service;
    span->route = own.route;
    span->turn = own.turn;
    span->action = own.action;
    span->reason = own.reason;
    span->told = own.told;
    span->dealt = own.dealt;
    span->missed = own.missed;
    span->passed = own.passed;
    span->inherits = own.inherits;
    span->unproven = own.unproven;
    *from = (struct known_span){
        .id = other.id,
        .link = other.link,
        .trace = other.trace,
        .decided = other.decided,
        .waited_ms = other.waited_ms,
        .ahead = other.ahead,
        .next = other.next,
        .service = other.service,
        .route = other.route,
        .turn = other.turn,
        .action = other.action,
        .reason = other.reason,
        .told = other.told,
        .dealt = other.dealt,
        .missed = other.missed,
        .passed = other.passed,
        .inherits = other.inherits,
        .unproven = other.unproven,
    };
}
