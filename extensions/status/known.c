#include "extensions/status/known.h"

#include "lib/base/clock.h"

#include <stdlib.h>

/* Past so many rows at once, and so many a second, they are counted by service only: what a table
 * costs is small beside the rest at any load. */
enum { TOKENS_MAX = KNOWN_SPANS, TOKENS_A_SECOND = 2000, BUCKETS = 1 << 16 };

enum { OWED_FOR_S = 120, NAMES = 4096 };

/* One allocation of more than HEAP_MAPPED bytes. */
struct known_tables {
    struct known_span spans[KNOWN_SPANS];
    _Atomic uint32_t buckets[BUCKETS];
    struct known_route routes[KNOWN_ROUTES];
};

static uint64_t known_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
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
    return known->services[0];
}

void known_release(struct known *known)
{
    for (size_t i = 0; i < known->service_count; i++)
        free(known->services[i]);
    free(known->tables);
    names_release(&known->names);
    budget_give(known->budget, known->charged);
    *known = (struct known){0};
}

/* Whether a row more may be looked up. */
static bool known_may(struct known *known, uint64_t now)
{
    if (now > known->tokens_at + NS_PER_MS) {
        uint64_t ms = (now - known->tokens_at) / NS_PER_MS, more = ms * TOKENS_A_SECOND / 1000;
        if (!known->tokens_at || ms > 1000 * 60 || known->tokens + more > TOKENS_MAX)
            known->tokens = TOKENS_MAX;
        else
            known->tokens += more;
        known->tokens_at = now;
    }
    if (known->tokens == 0) {
        known->passed_over++;
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

static size_t known_service_of(struct known *known, const struct watch_service *service)
{
    size_t at = known_service_named(known, service->key, 0);
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

static size_t known_reason_of(struct known *known, const struct watch_reason *reason)
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
    size_t made = known->route_count++;
    known->routes[made] = (struct known_route){.service = service, .name = name, .next = *bucket};
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

static void known_route_add(struct known *known, size_t at, uint64_t samples, uint64_t cpu_ns,
                            uint64_t now)
{
    struct known_route *route = &known->routes[at];
    uint64_t step = now / KNOWN_SERIES_STEP;
    if (step > route->step) {
        uint64_t from = step - route->step > KNOWN_SERIES ? step - KNOWN_SERIES : route->step;
        for (uint64_t i = from + 1; i <= step; i++)
            route->series[i % KNOWN_SERIES] = 0;
        route->step = step;
    }
    route->series[route->step % KNOWN_SERIES] += (float)cpu_ns;
    if (!route->metered && at != 0 && cpu_ns)
        known_meter(known, route);
    if (!route->metered)
        known->metered_others += cpu_ns;
    route->samples += samples;
    route->cpu_ns += cpu_ns;
}

double known_route_cpu(const struct known_route *route, uint64_t step)
{
    if (step > route->step || step + KNOWN_SERIES <= route->step)
        return 0;
    return (double)route->series[step % KNOWN_SERIES];
}

/* ---- spans ---- */

static _Atomic uint32_t *known_bucket(const struct known *known, uint64_t id)
{
    return &known->buckets[known_mix(0, id) & (BUCKETS - 1)];
}

struct known_span *known_find(const struct known *known, uint64_t id)
{
    uint32_t at = atomic_load_explicit(known_bucket(known, id), memory_order_relaxed);
    for (; at; at = known->spans[at - 1].next)
        if (known->spans[at - 1].id == id)
            return &known->spans[at - 1];
    return NULL;
}

bool known_may_have(const struct known *known, uint64_t id)
{
    return atomic_load_explicit(known_bucket(known, id), memory_order_relaxed) != 0;
}

static void known_settle_span(struct known *known, struct known_span *span, uint64_t now)
{
    if (!span->owed && !span->owed_samples)
        return;
    size_t route = known_route_of(known, span->service, 0);
    known_route_add(known, route, span->owed_samples, span->owed, now);
    span->owed = 0;
    span->owed_samples = 0;
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

/* The span of an id, made where it is new; the oldest gives way. */
static struct known_span *known_put(struct known *known, uint64_t id, uint64_t now)
{
    struct known_span *span = known_find(known, id);
    if (span)
        return span;
    uint32_t number = known->newest;
    span = &known->spans[number];
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
    struct known_span *span = known_put(known, decision->span_id, decision->decided);
    uint64_t waited = decision->ended && decision->decided > decision->ended
                          ? (decision->decided - decision->ended) / NS_PER_MS
                          : 0;
    span->service = (uint16_t)at;
    span->action = (uint8_t)decision->action;
    span->reason = (uint8_t)reason;
    span->link = decision->link_id;
    span->decided = decision->decided;
    span->waited_ms = waited < UINT32_MAX ? (uint32_t)waited : UINT32_MAX;
}

void known_window_came(struct known *known, const struct watch_window *window)
{
    size_t at = known_service_of(known, &window->service);
    uint32_t serial = ++known->window_serial;
    known->services[at]->has_profiles = true;
    known->windows[serial % KNOWN_WINDOWS] = (struct known_window){
        .serial = serial,
        .service = (uint16_t)at,
        .kind = window->kind,
        .start = window->start,
        .end = window->end,
        .arrived = window->arrived,
    };
}

static void known_add_sample(struct known *known, uint16_t service,
                             const struct watch_sample *sample, uint64_t now)
{
    struct known_span *span = known_put(known, sample->id, now);
    span->samples += sample->samples;
    span->cpu_ns += sample->cpu_ns;
    if (!span->decided)
        span->service = service;
    if (!span->first_window)
        span->first_window = known->window_serial;
    span->last_window = known->window_serial;
    if (span->route) {
        known_route_add(known, span->route, sample->samples, sample->cpu_ns, now);
        return;
    }
    if (!span->owed)
        span->owed_at = (uint32_t)(now / NS_PER_S);
    span->owed += sample->cpu_ns;
    span->owed_samples += sample->samples;
}

void known_sampled(struct known *known, const struct watch_window *window,
                   const struct watch_sample *samples, size_t count)
{
    size_t at = known_service_of(known, &window->service);
    struct known_service *service = known->services[at];
    uint64_t over_cpu = 0, over_samples = 0;
    for (size_t i = 0; i < count; i++) {
        service->samples += samples[i].samples;
        service->cpu_ns += samples[i].cpu_ns;
        if (known_may(known, window->arrived)) {
            known_add_sample(known, (uint16_t)at, &samples[i], window->arrived);
        } else {
            over_cpu += samples[i].cpu_ns;
            over_samples += samples[i].samples;
        }
    }
    if (over_samples)
        known_route_add(known, known_route_of(known, (uint16_t)at, 0), over_samples, over_cpu,
                        window->arrived);
}

void known_seen(struct known *known, const struct known_seen *seen, uint64_t now)
{
    struct known_span *own = known_find(known, seen->id);
    struct known_span *span = seen->link ? known_put(known, seen->link, now) : own;
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
    known->routes[route].spans++;
    known->routes[route].linked += seen->link != 0;
    known_route_add(known, route, span->owed_samples, span->owed, now);
    span->owed = 0;
    span->owed_samples = 0;
}

void known_settle(struct known *known, uint64_t now)
{
    uint64_t second = now / NS_PER_S;
    for (uint32_t i = 0; i < known->span_count; i++) {
        struct known_span *span = &known->spans[i];
        if (span->owed && second > span->owed_at + OWED_FOR_S)
            known_settle_span(known, span, now);
    }
}
