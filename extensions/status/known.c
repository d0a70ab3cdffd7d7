#include "extensions/status/known_find.h"
#include "extensions/status/reason.h"

#include "lib/base/clock.h"

#include <stdlib.h>

/* Past so many rows at once, and so many a second, they are counted by service only: what a table
 * costs is small beside the rest at any load. */
enum { TOKENS_MAX = KNOWN_SPANS, TOKENS_A_SECOND = 2000 };

enum { OWED_FOR_S = 120, NAMES = 4096 };

/* One allocation of more than HEAP_MAPPED bytes. */
struct known_tables {
    struct known_span spans[KNOWN_SPANS];
    _Atomic uint32_t buckets[KNOWN_BUCKETS];
    struct known_route routes[KNOWN_ROUTES];
};

/* The series is allocated with the route, so that unused routes take no room. */
static bool known_route_init(struct known *known, struct known_route *route)
{
    route->series = calloc(KNOWN_SERIES, sizeof *route->series);
    if (!route->series)
        return false;
    budget_force(known->budget, KNOWN_SERIES * sizeof *route->series);
    known->charged += KNOWN_SERIES * sizeof *route->series;
    return true;
}

bool known_init(struct known *known, struct budget *budget)
{
    *known = (struct known){.budget = budget, .tokens = TOKENS_MAX};
    names_init(&known->names, NAMES, budget);
    known->services[0] = calloc(1, sizeof **known->services);
    known->tables = calloc(1, sizeof *known->tables);
    known->service_count = known->route_count = 1;
    known->charged = sizeof *known->tables + sizeof **known->services;
    budget_force(budget, known->charged);
    if (!known->tables)
        return false;
    known->spans = known->tables->spans;
    known->buckets = known->tables->buckets;
    known->routes = known->tables->routes;
    return known->services[0] && known_route_init(known, &known->routes[0]);
}

void known_release(struct known *known)
{
    for (size_t i = 0; i < known->service_count; i++)
        free(known->services[i]);
    for (size_t i = 0; known->routes && i < known->route_count; i++)
        free(known->routes[i].series);
    free(known->tables);
    names_release(&known->names);
    budget_give(known->budget, known->charged);
    *known = (struct known){0};
}

static void known_refill(struct known *known, uint64_t now)
{
    uint64_t ms = (now - known->tokens_at) / NS_PER_MS, more = ms * TOKENS_A_SECOND / 1000;
    if (!known->tokens_at || ms > 1000 * 60 || known->tokens + more > TOKENS_MAX)
        known->tokens = TOKENS_MAX;
    else
        known->tokens += more;
    known->tokens_at = now;
}

/* Whether a row more may be looked up. */
static inline bool known_may(struct known *known, uint64_t now)
{
    if (now > known->tokens_at + NS_PER_MS)
        known_refill(known, now);
    if (known->tokens == 0) {
        known->passed_over++;
        known->passed_over_at = now;
        return false;
    }
    known->tokens--;
    return true;
}

/* ---- services ---- */

static size_t known_service_named(const struct known *known, uint64_t key, uint32_t name)
{
    for (size_t i = 1; i < known->service_count; i++)
        if (key ? known->services[i]->key == key : known->services[i]->name == name)
            return i;
    return 0;
}

size_t known_service_find(const struct known *known, struct view name)
{
    for (size_t i = 1; i < known->service_count; i++)
        if (view_eq(names_get(&known->names, known->services[i]->name), name))
            return i;
    return 0;
}

static size_t known_service_of(struct known *known, const struct watch_service *service)
{
    size_t at = known->service_last;
    if (service->key && known->services[at]->key == service->key)
        return at;
    at = known_service_named(known, service->key, 0);
    known->service_last = at;
    if (at || !service->key || known->service_count == KNOWN_SERVICES)
        return at;
    struct known_service *made = calloc(1, sizeof *made);
    if (!made)
        return 0;
    budget_force(known->budget, sizeof *made);
    known->charged += sizeof *made;
    made->key = service->key;
    made->name = names_put(&known->names, service->name);
    known->services[known->service_count] = made;
    return known->service_count++;
}

size_t known_reason_of(struct known *known, const struct watch_reason *reason)
{
    size_t at = 0;
    while (at < known->reason_count && known->reasons[at] != reason)
        at++;
    if (at == KNOWN_REASONS)
        return KNOWN_REASONS - 1;
    if (at == known->reason_count)
        known->reasons[known->reason_count++] = reason;
    return at;
}

static struct known_step *known_step_of(struct known_service *service, uint64_t now)
{
    uint64_t step = now / KNOWN_HISTORY_STEP;
    if (step > service->step) {
        uint64_t from = service->step + 1;
        if (step - service->step > KNOWN_HISTORY)
            from = step - KNOWN_HISTORY + 1;
        for (uint64_t i = from; i <= step; i++)
            service->history[i % KNOWN_HISTORY] = (struct known_step){0};
        service->step = step;
    }
    return &service->history[service->step % KNOWN_HISTORY];
}

const struct known_step *known_service_step(const struct known_service *service, uint64_t step)
{
    if (step > service->step || step + KNOWN_HISTORY <= service->step)
        return NULL;
    return &service->history[step % KNOWN_HISTORY];
}

/* ---- routes ---- */

static size_t known_route_of(struct known *known, uint16_t service, uint32_t name)
{
    uint64_t hash = known_mix(known_mix(0, service), name);
    uint16_t *bucket = &known->route_buckets[hash % (KNOWN_ROUTES * 2)];
    for (size_t at = *bucket; at; at = known->routes[at - 1].next)
        if (known->routes[at - 1].service == service && known->routes[at - 1].name == name)
            return at - 1;
    if (known->route_count == KNOWN_ROUTES)
        return 0;
    size_t made = known->route_count;
    known->routes[made] = (struct known_route){.service = service, .name = name, .next = *bucket};
    if (!known_route_init(known, &known->routes[made]))
        return 0;
    known->route_count++;
    *bucket = (uint16_t)(made + 1);
    return made;
}

/* The metrics page has the busiest: one that has come to twice the least of them takes its place.
 * It counts there from 0, and what counted until then stays among the others. */
static void known_meter(struct known *known, struct known_route *route)
{
    struct known_route *least = NULL;
    if (known->metered_count < KNOWN_METERED) {
        known->metered_count++;
    } else {
        for (size_t i = 0; i < known->route_count; i++) {
            struct known_route *each = &known->routes[i];
            if (each->metered && (!least || each->cpu_ns < least->cpu_ns))
                least = each;
        }
        if (!least || route->cpu_ns < 2 * least->cpu_ns)
            return;
        known->metered_others += least->cpu_ns - least->metered_from;
        least->metered = false;
    }
    route->metered = true;
    route->metered_from = route->cpu_ns;
}

/* Wall times between which samples were taken. */
struct known_stretch {
    uint64_t from, to;
};

/* A window that begins before what a series keeps, such as that of a sender whose clock is wrong,
 * is taken to end when it arrived. */
static struct known_stretch known_stretch_of(uint64_t start, uint64_t end, uint64_t arrived)
{
    uint64_t kept = (KNOWN_SERIES - 1) * KNOWN_SERIES_STEP;
    uint64_t oldest = arrived > kept ? arrived - kept : 0;
    struct known_stretch stretch = {.to = end && end < arrived ? end : arrived};
    stretch.from = start && start < stretch.to ? start : stretch.to;
    if (stretch.from < oldest) {
        uint64_t length = stretch.to - stretch.from;
        stretch.to = arrived;
        stretch.from = length < kept ? arrived - length : oldest;
    }
    return stretch;
}

/* The step of a series to add to; what is older than the series goes into its oldest. */
static struct known_route_step *known_route_at(struct known_route *route, uint64_t step)
{
    if (step > route->step) {
        uint64_t from = step - route->step > KNOWN_SERIES ? step - KNOWN_SERIES : route->step;
        for (uint64_t i = from + 1; i <= step; i++)
            route->series[i % KNOWN_SERIES] = (struct known_route_step){0};
        route->step = step;
    }
    if (step + KNOWN_SERIES <= route->step)
        step = route->step - KNOWN_SERIES + 1;
    return &route->series[step % KNOWN_SERIES];
}

static uint64_t known_share(uint64_t value, double share)
{
    uint64_t part = share < 1 ? (uint64_t)((double)value * share + 0.5) : value;
    return part < value ? part : value;
}

/* Spreads what was sampled evenly over the steps of a stretch. Each gets the difference between two
 * rounded running sums, so that nothing is lost or made up. */
static void known_route_spread(struct known_route *route, const struct known_route_step *sampled,
                               const struct known_stretch *over)
{
    uint64_t last = (over->to > over->from ? over->to - 1 : over->to) / KNOWN_SERIES_STEP;
    double length = (double)(over->to - over->from);
    struct known_route_step done = {0};
    for (uint64_t step = over->from / KNOWN_SERIES_STEP; step <= last; step++) {
        uint64_t passed = (step + 1) * KNOWN_SERIES_STEP - over->from;
        double share = step == last ? 1 : (double)passed / length;
        struct known_route_step *at = known_route_at(route, step);
        struct known_route_step until = {
            .cpu_ns = known_share(sampled->cpu_ns, share),
            .wall_ns = known_share(sampled->wall_ns, share),
            .samples = known_share(sampled->samples, share),
        };
        at->cpu_ns += until.cpu_ns - done.cpu_ns;
        at->wall_ns += until.wall_ns - done.wall_ns;
        at->samples += until.samples - done.samples;
        done = until;
    }
}

static void known_route_add(struct known *known, size_t number,
                            const struct known_route_step *sampled,
                            const struct known_stretch *over)
{
    struct known_route *route = &known->routes[number];
    known_route_spread(route, sampled, over);
    if (!route->metered && number != 0 && sampled->cpu_ns)
        known_meter(known, route);
    if (!route->metered)
        known->metered_others += sampled->cpu_ns;
    route->samples += sampled->samples;
    route->cpu_ns += sampled->cpu_ns;
    route->wall_ns += sampled->wall_ns;
}

const struct known_route_step *known_route_step(const struct known_route *route, uint64_t step)
{
    if (step > route->step || step + KNOWN_SERIES <= route->step)
        return NULL;
    return &route->series[step % KNOWN_SERIES];
}

/* ---- spans ---- */

static bool known_links(const struct known_span *own, uint64_t link)
{
    return own && own->decided ? own->action == WATCH_LINKED : link != 0;
}

bool known_is_linked(const struct known *known, uint64_t id, struct view service, uint64_t link)
{
    return known_links(known_find_of(known, id, service), link);
}

bool known_times_cpu(const struct known *known, const struct known_span *span)
{
    return span->samples ? span->times_cpu : known->services[span->service]->times_cpu;
}

static bool known_owes(const struct known_span *span)
{
    return span->owed || span->owed_wall || span->owed_samples;
}

/* The stretch of the windows that a span's owed samples came in; now, where they are forgotten. */
static struct known_stretch known_owed_over(const struct known *known,
                                            const struct known_span *span, uint64_t now)
{
    const struct known_window *first = &known->windows[span->owed_from % KNOWN_WINDOWS];
    const struct known_window *last = &known->windows[span->last_window % KNOWN_WINDOWS];
    if (first->serial != span->owed_from || last->serial != span->last_window)
        return (struct known_stretch){now, now};
    struct known_stretch a = known_stretch_of(first->start, first->end, first->arrived);
    struct known_stretch b = known_stretch_of(last->start, last->end, last->arrived);
    return (struct known_stretch){.from = a.from < b.from ? a.from : b.from,
                                  .to = a.to > b.to ? a.to : b.to};
}

/* Gives a route what a span owes. */
static void known_pay(struct known *known, struct known_span *span, size_t route, uint64_t now)
{
    if (!known_owes(span))
        return;
    const struct known_route_step owed = {
        .cpu_ns = span->owed, .wall_ns = span->owed_wall, .samples = span->owed_samples};
    struct known_stretch over = known_owed_over(known, span, now);
    known_route_add(known, route, &owed, &over);
    span->owed = span->owed_wall = span->owed_samples = 0;
}

static void known_settle_span(struct known *known, struct known_span *span, uint64_t now)
{
    if (known_owes(span))
        known_pay(known, span, known_route_of(known, span->service, 0), now);
}

static void known_forget(struct known *known, struct known_span *span, uint64_t now)
{
    uint32_t number = (uint32_t)(span - known->spans) + 1;
    known_settle_span(known, span, now);
    _Atomic uint32_t *bucket = known_bucket(known, span->id);
    uint32_t first = atomic_load_explicit(bucket, memory_order_relaxed), *at = &first;
    while (*at && *at != number)
        at = &known->spans[*at - 1].next;
    if (*at)
        *at = span->next;
    atomic_store_explicit(bucket, first, memory_order_relaxed);
}

/* A new span; the oldest gives way. */
static struct known_span *known_make(struct known *known, uint64_t id, uint64_t now)
{
    uint32_t number = known->newest;
    struct known_span *span = &known->spans[number];
    known->newest = (number + 1) % KNOWN_SPANS;
    if (known->span_count == KNOWN_SPANS)
        known_forget(known, span, now);
    else
        known->span_count++;
    _Atomic uint32_t *bucket = known_bucket(known, id);
    *span =
        (struct known_span){.id = id, .next = atomic_load_explicit(bucket, memory_order_relaxed)};
    atomic_store_explicit(bucket, number + 1, memory_order_relaxed);
    return span;
}

/* The span that a service's decision is about. */
static struct known_span *known_put_decided(struct known *known, uint64_t id, uint16_t service,
                                            uint64_t now)
{
    struct known_span *near = known_near(known, id, service);
    if (near && (!near->decided || near->service == service))
        return near;
    struct known_span *made = known_make(known, id, now);
    made->service = service;
    if (near && near != made) {
        known_take_samples(known, made, near);
        reason_recount(known, near);
    }
    return made;
}

void known_decided(struct known *known, const struct watch_decision *decision)
{
    size_t at = known_service_of(known, &decision->service);
    struct known_service *service = known->services[at];
    size_t reason = decision->reason ? known_reason_of(known, decision->reason) : 0;
    struct known_step *step = known_step_of(service, decision->decided);
    service->has_spans = true;
    service->linked += decision->action == WATCH_LINKED;
    step->linked += decision->action == WATCH_LINKED;
    if (decision->reason) {
        service->not_linked++;
        service->reasons[reason]++;
        step->reasons[reason]++;
    }
    if (!decision->span_id || !known_may(known, decision->decided))
        return;
    if (known->row_count == KNOWN_ROWS)
        known_fold(known);
    uint64_t waited = decision->ended && decision->decided > decision->ended
                          ? (decision->decided - decision->ended) / NS_PER_MS
                          : 0;
    known->rows[known->row_count++] = (struct known_row){
        .id = decision->span_id,
        .link = decision->link_id,
        .decided = decision->decided,
        .waited_ms = waited < UINT32_MAX ? (uint32_t)waited : UINT32_MAX,
        .service = (uint16_t)at,
        .action = (uint8_t)decision->action,
        .reason = (uint8_t)reason,
    };
}

static void known_apply(struct known *known, const struct known_row *row)
{
    struct known_span *span = known_put_decided(known, row->id, row->service, row->decided);
    span->service = row->service;
    span->action = row->action;
    span->reason = row->reason;
    span->link = row->link;
    span->decided = row->decided;
    span->waited_ms = row->waited_ms;
    reason_decided(known, span);
}

void known_fold(struct known *known)
{
    const struct known_row *rows = known->rows;
    size_t count = known->row_count;
    for (size_t i = 0; i < count; i++) {
        if (i + FAR < count)
            known_fetch_bucket(known, rows[i + FAR].id);
        if (i + NEAR < count)
            known_fetch_span(known, rows[i + NEAR].id);
        known_apply(known, &rows[i]);
    }
    known->row_count = 0;
}

void known_window_came(struct known *known, const struct watch_window *window)
{
    size_t at = known_service_of(known, &window->service);
    uint32_t serial = ++known->window_serial;
    known->services[at]->has_profiles = true;
    known->services[at]->times_cpu |= window->times_cpu;
    known->services[at]->last_came = window->arrived;
    known->services[at]->last_end = window->end;
    known->windows[serial % KNOWN_WINDOWS] = (struct known_window){
        .serial = serial,
        .nth = known->services[at]->windows++,
        .service = (uint16_t)at,
        .kind = window->kind,
        .start = window->start,
        .end = window->end,
        .arrived = window->arrived,
    };
}

static void known_owe(struct known_span *span, const struct watch_sample *sample, uint32_t window,
                      uint64_t now)
{
    if (!known_owes(span)) {
        span->owed_at = (uint32_t)(now / NS_PER_S);
        span->owed_from = window;
    }
    span->owed += sample->cpu_ns;
    span->owed_wall += sample->wall_ns;
    span->owed_samples += sample->samples;
}

static void known_add_sample(struct known *known, uint16_t service,
                             const struct watch_window *window, const struct watch_sample *sample,
                             const struct known_stretch *over)
{
    struct known_span *span = known_near(known, sample->id, service);
    if (!span)
        span = known_make(known, sample->id, window->arrived);
    span->samples += sample->samples;
    span->cpu_ns += sample->cpu_ns;
    span->wall_ns += sample->wall_ns;
    span->times_cpu |= window->times_cpu || sample->cpu_ns;
    if (!span->decided)
        span->service = service;
    if (!span->first_window)
        span->first_window = known->window_serial;
    span->last_window = known->window_serial;
    known_hold(known, span);
    reason_recount(known, span);
    if (!span->route) {
        known_owe(span, sample, known->window_serial, window->arrived);
        return;
    }
    const struct known_route_step sampled = {
        .cpu_ns = sample->cpu_ns, .wall_ns = sample->wall_ns, .samples = sample->samples};
    known_route_add(known, span->route, &sampled, over);
}

void known_sampled(struct known *known, const struct watch_window *window,
                   const struct watch_sample *samples, size_t count)
{
    size_t at = known_service_of(known, &window->service);
    struct known_service *service = known->services[at];
    struct known_stretch over = known_stretch_of(window->start, window->end, window->arrived);
    struct known_route_step rest = {0};
    known_fold(known);
    for (size_t i = 0; i < count; i++) {
        if (i + FAR < count)
            known_fetch_bucket(known, samples[i + FAR].id);
        if (i + NEAR < count)
            known_fetch_span(known, samples[i + NEAR].id);
        service->samples += samples[i].samples;
        service->cpu_ns += samples[i].cpu_ns;
        service->times_cpu |= samples[i].cpu_ns > 0; /* recalled after a crash, too */
        service->wall_ns += samples[i].wall_ns;
        if (known_may(known, window->arrived)) {
            known_add_sample(known, (uint16_t)at, window, &samples[i], &over);
        } else {
            rest.cpu_ns += samples[i].cpu_ns;
            rest.wall_ns += samples[i].wall_ns;
            rest.samples += samples[i].samples;
        }
    }
    if (rest.samples || rest.cpu_ns || rest.wall_ns)
        known_route_add(known, known_route_of(known, (uint16_t)at, 0), &rest, &over);
}

void known_seen(struct known *known, const struct known_seen *seen, uint64_t now)
{
    known_fold(known);
    struct known_span *own = known_find_of(known, seen->id, seen->service), *span = own;
    if (seen->link && seen->link != seen->id)
        span = known_find_of(known, seen->link, seen->service);
    if (!span && seen->link)
        span = known_make(known, seen->link, now);
    if (!span)
        return;
    if (own)
        own->trace = seen->trace;
    span->trace = seen->trace;
    if (span->dealt)
        return;
    size_t service = span->decided || span->samples ? span->service : 0;
    if (!service)
        service = known_service_named(known, 0, names_put(&known->names, seen->service));
    size_t route = known_route_of(known, (uint16_t)service, names_put(&known->names, seen->name));
    span->dealt = true;
    span->route = (uint16_t)route;
    struct known_route_step *at = known_route_at(&known->routes[route], now / KNOWN_SERIES_STEP);
    bool linked = known_links(own, seen->link);
    known->routes[route].spans++;
    known->routes[route].linked += linked;
    at->spans++;
    at->linked += linked;
    known_pay(known, span, route, now);
}

void known_settle(struct known *known, uint64_t now)
{
    uint64_t second = now / NS_PER_S;
    known_fold(known);
    for (uint32_t i = 0; i < known->span_count; i++) {
        struct known_span *span = &known->spans[i];
        if (known_owes(span) && second > span->owed_at + OWED_FOR_S)
            known_settle_span(known, span, now);
    }
}
