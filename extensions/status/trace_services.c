#include "extensions/status/trace_services.h"

#include <stdlib.h>

enum { CAPACITY_MIN = 1024 };

void trace_services_init(struct trace_services *services, struct budget *budget)
{
    *services = (struct trace_services){.budget = budget};
}

void trace_services_release(struct trace_services *services)
{
    free(services->all);
    budget_give(services->budget, services->capacity * sizeof *services->all);
    *services = (struct trace_services){0};
}

static bool trace_services_grow(struct trace_services *services)
{
    uint32_t from = services->capacity, capacity = from ? from * 2 : CAPACITY_MIN;
    size_t more = (capacity - from) * sizeof *services->all;
    if (capacity > TRACE_SERVICES_ALL || !budget_take_spare(services->budget, more))
        return false;
    struct trace_service *all = realloc(services->all, capacity * sizeof *all);
    if (!all) {
        budget_give(services->budget, more);
        return false;
    }
    services->all = all;
    services->capacity = capacity;
    for (uint32_t i = capacity - 1; i > 0 && i >= from; i--) {
        all[i].next = services->unused;
        services->unused = i;
    }
    return true;
}

struct trace_service *trace_services_put(struct trace_services *services, uint32_t *list,
                                         uint16_t name)
{
    uint32_t count = 0, last = 0;
    for (uint32_t at = *list; at; at = services->all[at].next, count++) {
        if (services->all[at].name == name)
            return &services->all[at];
        last = at;
    }
    if (count == TRACE_SERVICES || (!services->unused && !trace_services_grow(services)))
        return NULL;
    uint32_t number = services->unused;
    struct trace_service *entry = &services->all[number];
    services->unused = entry->next;
    *entry = (struct trace_service){.name = name};
    *(last ? &services->all[last].next : list) = number;
    return entry;
}

void trace_services_drop(struct trace_services *services, uint32_t list)
{
    for (uint32_t next; list; list = next) {
        next = services->all[list].next;
        services->all[list].next = services->unused;
        services->unused = list;
    }
}
