/* Services and their history. */
#include "extensions/status/known_routes.h"

#include <stdlib.h>

/* A service without data for so long gives way first. */
#define STALE_AFTER (600 * NS_PER_S)

/* How many may give way at once, and how many a second: each looks through all spans. */
enum { TURNS_MAX = 32, TURNS_A_SECOND = 10 };

size_t known_service_find(const struct known *known, struct view name)
{
    for (size_t i = 1; i < known->service_count; i++)
        if (view_eq(names_get(&known->names, known->services[i]->name), name))
            return i;
    return 0;
}

struct view known_tenant(const struct known *known, size_t service)
{
    uint32_t tenant = known->services[service]->tenant;
    return tenant ? names_get(&known->names, tenant) : (struct view){0};
}

struct known_step *known_step_of(struct known_service *service, uint64_t now)
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

/* ---- one gives way to another ---- */

/* What gives way counts for no service. */
static void known_service_merge(struct known_service *from, struct known_service *to)
{
    to->has_spans |= from->has_spans;
    to->has_profiles |= from->has_profiles;
    to->times_cpu |= from->times_cpu;
    to->linked += from->linked;
    to->not_linked += from->not_linked;
    to->cpu_ns += from->cpu_ns;
    to->wall_ns += from->wall_ns;
    to->samples += from->samples;
    to->wall_samples += from->wall_samples;
    for (size_t i = 0; i < KNOWN_REASONS; i++)
        to->reasons[i] += from->reasons[i];
    known_step_of(to, from->step * KNOWN_HISTORY_STEP);
    for (uint64_t i = 0; i < KNOWN_HISTORY && i <= from->step; i++) {
        const struct known_step *step = known_service_step(from, from->step - i);
        struct known_step *at = (struct known_step *)known_service_step(to, from->step - i);
        for (size_t j = 0; at && j < KNOWN_REASONS; j++)
            at->reasons[j] += step->reasons[j];
        if (at)
            at->linked += step->linked;
    }
}

/* Its spans and windows are of no service from now on. */
static void known_service_give_way(struct known *known, size_t number)
{
    known_fold(known);
    known_routes_give_way(known, (uint16_t)number);
    for (uint32_t i = 0; i < known->span_count; i++) {
        struct known_span *span = &known->spans[i];
        span->service = span->service == number ? 0 : span->service;
        span->under = span->under == number ? 0 : span->under;
    }
    for (size_t i = 0; i < KNOWN_WINDOWS; i++)
        if (known->windows[i].service == number)
            known->windows[i].service = 0;
    for (size_t i = 0; i < known->service_count; i++) {
        struct known_service *each = known->services[i];
        each->profiles_under = each->profiles_under == number ? 0 : each->profiles_under;
        each->tenant_under = each->tenant_under == number ? 0 : each->tenant_under;
    }
    known_service_merge(known->services[number], known->services[0]);
}

static bool known_service_is_less(const struct known_service *a, const struct known_service *b,
                                  uint64_t now)
{
    bool x = a->last + STALE_AFTER < now, y = b->last + STALE_AFTER < now;
    if (x != y)
        return x;
    return x || a->uses == b->uses ? a->last < b->last : a->uses < b->uses;
}

static bool known_service_may_turn(struct known *known, uint64_t now)
{
    uint64_t passed = now > known->service_turned ? now - known->service_turned : 0;
    uint64_t more = passed / (NS_PER_S / TURNS_A_SECOND);
    if (more) {
        uint64_t turns = more < TURNS_MAX ? known->service_turns + more : TURNS_MAX;
        known->service_turns = turns < TURNS_MAX ? turns : TURNS_MAX;
        known->service_turned = now;
    }
    if (!known->service_turns)
        return false;
    known->service_turns--;
    return true;
}

/* The new one gets the rank of the one that gives way, as a route does. 0: not now. */
static size_t known_service_replace(struct known *known, uint64_t now)
{
    size_t least = 1;
    if (!known_service_may_turn(known, now))
        return 0;
    for (size_t i = 2; i < known->service_count; i++)
        if (known_service_is_less(known->services[i], known->services[least], now))
            least = i;
    struct known_service *service = known->services[least];
    known_service_give_way(known, least);
    *service = (struct known_service){.uses = service->uses};
    return least;
}

static size_t known_service_make(struct known *known)
{
    bool may = budget_may_remember(known->budget, known->charged, sizeof(struct known_service));
    struct known_service *made = may ? calloc(1, sizeof *made) : NULL;
    if (!made)
        return 0;
    budget_force(known->budget, sizeof *made);
    known->charged += sizeof *made;
    known->services[known->service_count] = made;
    return known->service_count++;
}

static size_t known_service_keyed(const struct known *known, uint64_t key)
{
    for (size_t i = 1; i < known->service_count; i++)
        if (known->services[i]->key == key)
            return i;
    return 0;
}

/* One that a span named as it passed; its key is not known. 0: none. */
static size_t known_service_keyless(const struct known *known, const struct watch_service *service)
{
    for (size_t i = 1; i < known->service_count; i++)
        if (!known->services[i]->key &&
            names_eq(&known->names, known->services[i]->name, service->name) &&
            view_eq(known_tenant(known, i), names_cut(service->tenant)))
            return i;
    return 0;
}

static size_t known_service_add(struct known *known, struct view name, uint64_t now)
{
    size_t at = known->service_count < KNOWN_SERVICES ? known_service_make(known)
                                                      : known_service_replace(known, now);
    if (!at)
        return 0;
    known->services[at]->name = known_name(known, name);
    known->services[at]->hash =
        known_figures_service(names_get(&known->names, known->services[at]->name));
    return at;
}

size_t known_service_named(struct known *known, struct view name, size_t like, uint64_t now)
{
    size_t at = known_service_add(known, name, now);
    if (!at)
        return 0;
    known->services[at]->tenant = known->services[like]->tenant;
    known->services[at]->uses++;
    known->services[at]->last = now;
    return at;
}

static size_t known_service_put(struct known *known, const struct watch_service *service,
                                uint64_t now)
{
    size_t at = known->service_last;
    if (!service->key || (at && known->services[at]->key == service->key))
        return service->key ? at : 0;
    at = known_service_keyed(known, service->key);
    if (at)
        return known->service_last = at;
    at = known_service_keyless(known, service);
    if (at) {
        known->services[at]->key = service->key;
        return known->service_last = at;
    }
    at = known_service_add(known, service->name, now);
    if (!at)
        return 0;
    known->services[at]->key = service->key;
    known->services[at]->tenant = service->tenant.size ? known_name(known, service->tenant) : 0;
    known->has_tenants |= service->tenant.size > 0;
    return known->service_last = at;
}

size_t known_service_of(struct known *known, const struct watch_service *service, uint64_t now)
{
    size_t at = known_service_put(known, service, now);
    known->services[at]->uses++;
    known->services[at]->last = now;
    return at;
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

bool known_times_cpu(const struct known *known, const struct known_span *span)
{
    bool counted = span->samples || span->wall_samples;
    return counted ? span->times_cpu : known->services[span->service]->times_cpu;
}

uint64_t known_samples(const struct known *known, const struct known_span *span)
{
    return known_times_cpu(known, span) ? span->samples : span->wall_samples;
}
