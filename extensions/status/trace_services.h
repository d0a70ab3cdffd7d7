/* The services of the kept traces: a list for each trace, all in one array. Not thread-safe. */
#ifndef EXTENSIONS_STATUS_TRACE_SERVICES_H
#define EXTENSIONS_STATUS_TRACE_SERVICES_H

#include "lib/base/budget.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a trace, as many as /api/services has; of all traces, up to 16 MiB. */
enum { TRACE_SERVICES = 256, TRACE_SERVICES_ALL = 1 << 20 };

struct trace_service {
    uint64_t root; /* a local root, one without a link if there is; 0: there is none */
    uint32_t next; /* in the same list; 0: this is the last */
    uint16_t name;
    bool linked;   /* it has a linked span, ... */
    bool unlinked; /* ... a local root without a link */
};

struct trace_services {
    struct trace_service *all; /* number 0 is in no list */
    uint32_t capacity, unused; /* the first of the list of those that no trace has */
    struct budget *budget;
};

void trace_services_init(struct trace_services *services, struct budget *budget);
void trace_services_release(struct trace_services *services);

/* The entry of a service in a list, which begins at *list; 0 is an empty one. It is added at the
 * end if it is new, and stays in place until the next call. NULL: no room. */
struct trace_service *trace_services_put(struct trace_services *services, uint32_t *list,
                                         uint16_t name);

/* Frees a list. */
void trace_services_drop(struct trace_services *services, uint32_t list);

/* The first entry of a list, and the one after an entry; NULL: there is none. */
static inline const struct trace_service *
trace_services_first(const struct trace_services *services, uint32_t list)
{
    return list ? &services->all[list] : NULL;
}

static inline const struct trace_service *trace_services_next(const struct trace_services *services,
                                                              const struct trace_service *entry)
{
    return trace_services_first(services, entry->next);
}

#endif
