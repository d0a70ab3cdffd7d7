/* CPU time by route: the costliest by name, the rest as the others of each service. */
#include "extensions/status/known_routes.h"

#include "extensions/status/known_find.h"

#include <stdlib.h>

/* A route takes the place of the least on the metrics page when it is an eighth above it. */
enum { METER_ABOVE = 8 };

/* The series is allocated with the route, so that unused routes take no room. */
static struct known_route *known_route_use(struct known *known, size_t number)
{
    struct known_route *route = &known->routes[number];
    if (route->used)
        return route;
    route->used = true;
    if (number < KNOWN_UNNAMED)
        route->service = (uint16_t)(number % KNOWN_SERVICES);
    if (route->series) {
        memset(route->series, 0, KNOWN_SERIES * sizeof *route->series);
        return route;
    }
    if (budget_may_remember(known->budget, known->charged, KNOWN_SERIES * sizeof *route->series))
        route->series = calloc(KNOWN_SERIES, sizeof *route->series);
    if (route->series) {
        budget_force(known->budget, KNOWN_SERIES * sizeof *route->series);
        known->charged += KNOWN_SERIES * sizeof *route->series;
    }
    return route;
}

void known_routes_release(struct known *known)
{
    for (size_t i = 0; known->routes && i < KNOWN_ROUTES; i++)
        free(known->routes[i].series);
}

/* ---- steps ---- */

/* A window of the future is taken to end when it arrived. */
struct known_stretch known_stretch_of(uint64_t start, uint64_t end, uint64_t arrived)
{
    struct known_stretch stretch = {.to = end && end < arrived ? end : arrived};
    if (start && start <= arrived && end > arrived)
        start = start > end - arrived ? start - (end - arrived) : 1;
    stretch.from = start && start < stretch.to ? start : stretch.to;
    return stretch;
}

/* The step of a series to add to; NULL: it is older than the series. */
static struct known_route_step *known_route_at(struct known_route *route, uint64_t step)
{
    if (!route->series)
        return NULL;
    if (step > route->step) {
        uint64_t from = step - route->step > KNOWN_SERIES ? step - KNOWN_SERIES : route->step;
        for (uint64_t i = from + 1; i <= step; i++)
            route->series[i % KNOWN_SERIES] = (struct known_route_step){0};
        route->step = step;
    }
    return (struct known_route_step *)known_route_step(route, step);
}

const struct known_route_step *known_route_step(const struct known_route *route, uint64_t step)
{
    if (!route->series || step > route->step || step + KNOWN_SERIES <= route->step)
        return NULL;
    return &route->series[step % KNOWN_SERIES];
}

static uint64_t known_share(uint64_t value, double share)
{
    uint64_t part = value ? (uint64_t)((double)value * share + 0.5) : 0;
    return part < value ? part : value;
}

static struct known_sum known_sum_share(const struct known_sum *sum, double share)
{
    if (share >= 1)
        return *sum;
    return (struct known_sum){
        .cpu_ns = known_share(sum->cpu_ns, share),
        .wall_ns = known_share(sum->wall_ns, share),
        .samples = known_share(sum->samples, share),
        .wall_samples = known_share(sum->wall_samples, share),
    };
}

static void known_step_move(struct known_route_step *at, const struct known_sum *from,
                            const struct known_sum *to)
{
    at->cpu_ns += to->cpu_ns - from->cpu_ns;
    at->wall_ns += to->wall_ns - from->wall_ns;
    at->samples += (uint32_t)(to->samples - from->samples);
    at->wall_samples += (uint32_t)(to->wall_samples - from->wall_samples);
}

/* Spreads what was sampled evenly over the steps of a stretch, or takes it back from them. Each
 * gets the difference between two rounded running sums, so that nothing is lost or made up. */
static void known_route_spread(struct known_route *route, const struct known_sum *sum,
                               const struct known_stretch *over, bool back)
{
    uint64_t last = (over->to > over->from ? over->to - 1 : over->to) / KNOWN_SERIES_STEP;
    uint64_t step = over->from / KNOWN_SERIES_STEP;
    double length = (double)(over->to - over->from);
    struct known_sum done = {0};
    if (step == last) {
        struct known_route_step *only = known_route_at(route, step);
        if (only)
            known_step_move(only, back ? sum : &done, back ? &done : sum);
        return;
    }
    if (last - step >= KNOWN_SERIES) {
        step = last - KNOWN_SERIES + 1;
        uint64_t before = step * KNOWN_SERIES_STEP - over->from;
        done = known_sum_share(sum, (double)before / length);
    }
    for (; step <= last; step++) {
        uint64_t passed = (step + 1) * KNOWN_SERIES_STEP - over->from;
        struct known_sum until = known_sum_share(sum, step == last ? 1 : (double)passed / length);
        struct known_route_step *at = known_route_at(route, step);
        if (at)
            known_step_move(at, back ? &until : &done, back ? &done : &until);
        done = until;
    }
}

void known_route_add(struct known *known, size_t number, const struct known_sum *sum,
                     const struct known_stretch *over)
{
    struct known_route *route = known_route_use(known, number);
    known_route_spread(route, sum, over, false);
    route->cpu_ns += sum->cpu_ns;
    route->wall_ns += sum->wall_ns;
    route->samples += sum->samples;
    route->wall_samples += sum->wall_samples;
}

void known_route_take(struct known *known, size_t number, const struct known_sum *sum,
                      const struct known_stretch *over)
{
    struct known_route *route = &known->routes[number];
    known_route_spread(route, sum, over, true);
    route->cpu_ns -= sum->cpu_ns;
    route->wall_ns -= sum->wall_ns;
    route->samples -= sum->samples;
    route->wall_samples -= sum->wall_samples;
    if (route->metered && route->cpu_ns < known->metered_least)
        known->metered_least = route->cpu_ns;
}

enum known_route_kind known_route_kind(const struct known *known, const struct known_route *route)
{
    size_t number = (size_t)(route - known->routes);
    return number >= KNOWN_UNNAMED     ? KNOWN_ROUTE_NAMED
           : number >= known_missed(0) ? KNOWN_ROUTE_NOT_LOOKED
           : number >= KNOWN_SERVICES  ? KNOWN_ROUTE_UNCLAIMED
                                       : KNOWN_ROUTE_OTHERS;
}

struct view known_route_name(const struct known *known, const struct known_route *route)
{
    enum known_route_kind kind = known_route_kind(known, route);
    if (kind == KNOWN_ROUTE_UNCLAIMED)
        return VIEW(NAME_UNCLAIMED);
    if (kind == KNOWN_ROUTE_NOT_LOOKED)
        return VIEW(NAME_NOT_LOOKED);
    return names_get(&known->names, route->name);
}

/* The samples may have come under another service's name than that of the spans. */
bool known_route_times_cpu(const struct known *known, const struct known_route *route)
{
    if (route->samples || route->cpu_ns)
        return true;
    return !route->wall_samples && !route->wall_ns && known->services[route->service]->times_cpu;
}

void known_route_passed(struct known *known, size_t number, bool linked, uint64_t ended)
{
    struct known_route *route = known_route_use(known, number);
    struct known_route_step *at = known_route_at(route, ended / KNOWN_SERIES_STEP);
    route->spans++;
    route->linked += linked;
    if (at) {
        at->spans++;
        at->linked += linked;
    }
}

void known_route_linked(struct known *known, size_t number, uint64_t ended)
{
    struct known_route *route = known_route_use(known, number);
    struct known_route_step *at = known_route_at(route, ended / KNOWN_SERIES_STEP);
    route->linked++;
    if (at)
        at->linked++;
}

/* ---- metrics ---- */

static struct known_route *known_metered_least(struct known *known)
{
    struct known_route *least = NULL;
    for (size_t i = 0; i < known->route_count; i++) {
        struct known_route *each = &known->routes[i];
        if (each->metered && (!least || each->cpu_ns < least->cpu_ns))
            least = each;
    }
    return least;
}

/* What a route counted stays among the others, since a counter cannot decrease. */
static void known_unmeter(struct known *known, struct known_route *route)
{
    known->metered_others += route->metered_ns;
    known->metered_count -= route->metered;
    route->metered_ns = 0;
    route->metered = false;
}

static bool known_is_above(const struct known_route *route, uint64_t least)
{
    return route->cpu_ns > least + least / METER_ABOVE;
}

/* The metrics page has the costliest: one that has come to more than the least of them takes its
 * place. It counts there from 0. */
static void known_meter_choose(struct known *known, struct known_route *route)
{
    if (known->metered_count == KNOWN_METERED) {
        if (!known_is_above(route, known->metered_least))
            return;
        struct known_route *least = known_metered_least(known);
        known->metered_least = least->cpu_ns;
        if (!known_is_above(route, least->cpu_ns))
            return;
        known_unmeter(known, least);
    }
    known->metered_least =
        route->cpu_ns < known->metered_least ? route->cpu_ns : known->metered_least;
    known->metered_count++;
    route->metered = true;
}

void known_meter(struct known *known, size_t number, uint64_t cpu_ns)
{
    struct known_route *route = &known->routes[number];
    if (!cpu_ns)
        return;
    if (!route->metered && number != 0 && number != known_unclaimed(0) && number != known_missed(0))
        known_meter_choose(known, route);
    *(route->metered ? &route->metered_ns : &known->metered_others) += cpu_ns;
}

/* ---- names ---- */

static uint16_t *known_route_bucket(struct known *known, uint16_t service, uint32_t name)
{
    uint64_t hash = known_mix(known_mix(0, service), name);
    return &known->route_buckets[hash % (KNOWN_NAMED * 2)];
}

static void known_route_place(struct known *known, size_t number)
{
    struct known_route *route = &known->routes[number];
    uint16_t *bucket = known_route_bucket(known, route->service, route->name);
    route->next = *bucket;
    *bucket = (uint16_t)(number + 1);
}

/* Forgets the names that nothing has any more. */
static void known_renew_names(struct known *known)
{
    struct names old = known->names;
    names_init(&known->names, old.max, known->budget);
    for (size_t i = 1; i < known->service_count; i++)
        known->services[i]->name =
            names_put(&known->names, names_get(&old, known->services[i]->name));
    for (size_t i = 1; i < known->service_count; i++)
        if (known->services[i]->tenant)
            known->services[i]->tenant =
                names_put(&known->names, names_get(&old, known->services[i]->tenant));
    for (size_t i = 0; i < CLOCKS_MAX; i++)
        if (known->clocks.rows[i].at)
            known->clocks.rows[i].name =
                names_put(&known->names, names_get(&old, known->clocks.rows[i].name));
    memset(known->route_buckets, 0, sizeof known->route_buckets);
    for (size_t i = KNOWN_UNNAMED; i < known->route_count; i++) {
        if (!known->routes[i].used)
            continue;
        known->routes[i].name = names_put(&known->names, names_get(&old, known->routes[i].name));
        known_route_place(known, i);
    }
    names_release(&old);
}

uint32_t known_name(struct known *known, struct view name)
{
    uint32_t number = names_put(&known->names, name);
    if (number || known->names.count < known->names.max)
        return number;
    known_renew_names(known);
    return names_put(&known->names, name);
}

/* ---- routes ---- */

static void known_route_merge(struct known *known, struct known_route *from, size_t into)
{
    struct known_route *to = known_route_use(known, into);
    to->spans += from->spans;
    to->linked += from->linked;
    to->cpu_ns += from->cpu_ns;
    to->wall_ns += from->wall_ns;
    to->samples += from->samples;
    to->wall_samples += from->wall_samples;
    for (uint64_t i = KNOWN_SERIES; i-- > 0;) {
        const struct known_route_step *step =
            from->step >= i ? known_route_step(from, from->step - i) : NULL;
        struct known_route_step *at = step ? known_route_at(to, from->step - i) : NULL;
        if (!at)
            continue;
        at->cpu_ns += step->cpu_ns;
        at->wall_ns += step->wall_ns;
        at->samples += step->samples;
        at->wall_samples += step->wall_samples;
        at->spans += step->spans;
        at->linked += step->linked;
    }
}

/* Empties a route but for its series, which is kept for the next one. */
static void known_route_give_way(struct known *known, size_t number, size_t into)
{
    struct known_route *route = &known->routes[number];
    if (!route->used)
        return;
    known_route_merge(known, route, into);
    known_unmeter(known, route);
    if (number >= KNOWN_UNNAMED) {
        uint16_t *at = known_route_bucket(known, route->service, route->name);
        while (*at != number + 1)
            at = &known->routes[*at - 1].next;
        *at = route->next;
    }
    *route = (struct known_route){.turn = (uint16_t)(route->turn + 1), .series = route->series};
}

static bool known_route_is_less(const struct known_route *a, const struct known_route *b)
{
    uint64_t x = a->cpu_ns + a->inherited, y = b->cpu_ns + b->inherited;
    if (x == y) {
        x = a->wall_ns;
        y = b->wall_ns;
    }
    return x == y ? a->step < b->step : x < y;
}

/* The new one gets the rank of the one that gives way, as if what it cost so far were unknown: so a
 * costly route cannot lose its place to many cheap ones. */
static size_t known_route_replace(struct known *known)
{
    size_t least = KNOWN_UNNAMED;
    for (size_t i = least + 1; i < known->route_count; i++)
        if (known_route_is_less(&known->routes[i], &known->routes[least]))
            least = i;
    struct known_route *route = &known->routes[least];
    uint64_t rank = route->used ? route->cpu_ns + route->inherited : 0;
    known_route_give_way(known, least, route->service);
    route->inherited = rank;
    return least;
}

size_t known_route_of(struct known *known, uint16_t service, struct view name, bool turns)
{
    uint32_t number = known_name(known, name);
    for (size_t at = *known_route_bucket(known, service, number); at;
         at = known->routes[at - 1].next)
        if (known->routes[at - 1].service == service && known->routes[at - 1].name == number)
            return at - 1;
    if (!number || (known->route_count == KNOWN_ROUTES && !turns))
        return service;
    size_t made =
        known->route_count < KNOWN_ROUTES ? known->route_count++ : known_route_replace(known);
    known->routes[made].service = service;
    known->routes[made].name = number;
    known_route_use(known, made);
    known_route_place(known, made);
    return made;
}

size_t known_route_for(const struct known *known, const struct known_span *span)
{
    bool has = span->dealt && known->routes[span->route].turn == span->turn;
    return has ? span->route : span->service;
}

void known_routes_give_way(struct known *known, uint16_t service)
{
    for (size_t i = KNOWN_UNNAMED; i < known->route_count; i++)
        if (known->routes[i].used && known->routes[i].service == service)
            known_route_give_way(known, i, 0);
    known_route_give_way(known, service, 0);
    known_route_give_way(known, known_unclaimed(service), known_unclaimed(0));
    known_route_give_way(known, known_missed(service), known_missed(0));
}
