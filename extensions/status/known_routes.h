/* What known.c, known_services.c, known_routes.c and known_windows.c need of one another. */
#ifndef EXTENSIONS_STATUS_KNOWN_ROUTES_H
#define EXTENSIONS_STATUS_KNOWN_ROUTES_H

#include "extensions/status/known.h"

/* What samples add up to. */
struct known_sum {
    uint64_t cpu_ns, wall_ns, samples, wall_samples;
};

/* Wall times between which samples were taken. */
struct known_stretch {
    uint64_t from, to;
};

/* When the samples of a profile count, in routes and flame graphs: in its window; one that ends
 * after its arrival is moved back so as to end then, as its clock is ahead; one that begins later
 * counts at its arrival. 0: not stated. */
struct known_stretch known_stretch_of(uint64_t start, uint64_t end, uint64_t arrived);

/* The number of what a service's samples have that name no span which passed. */
static inline size_t known_unclaimed(size_t service)
{
    return KNOWN_SERVICES + service;
}

/* The same of those whose span, or they themselves, were not looked at. */
static inline size_t known_missed(size_t service)
{
    return 2 * (size_t)KNOWN_SERVICES + service;
}

/* The route of a service and name. Where there is no room, the cheapest gives way if `turns`; else
 * it is the service's others. */
size_t known_route_of(struct known *known, uint16_t service, struct view name, bool turns);

/* Where the samples of a span belong. */
size_t known_route_for(const struct known *known, const struct known_span *span);

/* Adds samples to a route and the steps that they were taken in; takes back exactly that. What is
 * older than the steps is in no step. */
void known_route_add(struct known *known, size_t number, const struct known_sum *sum,
                     const struct known_stretch *over);
void known_route_take(struct known *known, size_t number, const struct known_sum *sum,
                      const struct known_stretch *over);

/* A span of the route passed, which ended then. */
void known_route_passed(struct known *known, size_t number, bool linked, uint64_t ended);

/* A span that had passed without a link was linked. */
void known_route_linked(struct known *known, size_t number, uint64_t ended);

/* Counts CPU time of a route for the metrics page. */
void known_meter(struct known *known, size_t number, uint64_t cpu_ns);

/* Gives all that a service's routes have to the others of no service. */
void known_routes_give_way(struct known *known, uint16_t service);

void known_routes_release(struct known *known);

/* The number of a name, which is added. Numbers of names change. */
uint32_t known_name(struct known *known, struct view name);

/* known_services.c: the number of a service, which is added; the one with the least data gives way.
 * now: wall. 0: no room. */
size_t known_service_of(struct known *known, const struct watch_service *service, uint64_t now);

/* The number of a service that no decision or profile has named, with the tenant of another. Its
 * key is that of the first one that does. now: wall. 0: no room. */
size_t known_service_named(struct known *known, struct view name, size_t like, uint64_t now);

/* known_windows.c: whether another instance has told of the upload before. */
bool known_is_copy(const struct known_service *service, const struct watch_window *window);

/* The step of a service's history at a time, to count in. */
struct known_step *known_step_of(struct known_service *service, uint64_t now);

#endif
