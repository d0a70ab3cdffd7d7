#include "processors/correlation/known/services.h"

#include "lib/wire/proto/proto_scan.h"

#include <stdlib.h>

/* LOOKED_AT: services that are being read are passed over, so that the next search begins behind
 * them. FEW: are remembered whatever the budget. */
enum { FIRST_BUCKETS = 64, LONGEST_NAME = 1024, SERIAL_BITS = 24, LOOKED_AT = 64, FEW = 64 };

void services_init(struct services *services, size_t max, uint64_t remember, struct budget *budget)
{
    *services = (struct services){.max = max, .remember = remember, .budget = budget};
}

static size_t size_of(const struct service *service)
{
    return sizeof *service + service->tenant_size + service->size;
}

/* Counts its memory anew. */
static void count_bytes(struct services *services, struct service *service)
{
    size_t bytes = size_of(service) + service->process_count * sizeof(struct process);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (service->timelines[kind])
            bytes += sizeof(struct timeline) +
                     service->timelines[kind]->sequence_count * sizeof(struct sequence);
    services->bytes += bytes - service->counted;
    service->counted = bytes;
}

/* Releases everything known of it except its counts. */
static void release_knowledge(struct services *services, struct service *service)
{
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (service->timelines[kind]) {
            timeline_release(service->timelines[kind]);
            free(service->timelines[kind]);
            service->timelines[kind] = NULL;
            budget_give(services->budget, sizeof(struct timeline));
        }
    processes_release(service, services->budget);
}

static void free_service(struct services *services, struct service *service)
{
    release_knowledge(services, service);
    tally_forget(service);
    services->bytes -= service->counted;
    budget_give(services->budget, size_of(service));
    free(service);
}

void services_release(struct services *services)
{
    struct service *each = services_next(services, NULL);
    while (each) {
        struct service *next = services_next(services, each);
        free_service(services, each);
        each = next;
    }
    free(services->buckets);
    *services = (struct services){0};
}

static uint64_t since(uint64_t then, uint64_t mono)
{
    return mono > then ? mono - then : 0;
}

/* FNV-1a. */
static uint64_t hash_more(uint64_t hash, struct view text)
{
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ text.data[i]) * UINT64_C(1099511628211);
    return hash;
}

/* Every bit of the texts affects every bit of the result, since ids are mixed with it. */
static uint64_t scope_of(struct view tenant, struct view name)
{
    uint64_t hash = hash_more(UINT64_C(14695981039346656037), name);
    if (tenant.size)
        hash = hash_more(hash * 31, tenant);
    hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static struct service **bucket(const struct services *services, uint64_t scope)
{
    return &services->buckets[scope & (services->bucket_count - 1)];
}

static struct service *services_find(const struct services *services, struct view tenant,
                                     struct view name, uint64_t scope)
{
    struct service *service = services->bucket_count ? *bucket(services, scope) : NULL;
    while (service && !(service->scope == scope && view_eq(service_name(service), name) &&
                        view_eq(service_tenant(service), tenant)))
        service = service->chain;
    return service;
}

static bool grow_buckets(struct services *services)
{
    if (services->count < services->bucket_count)
        return true;
    size_t count = services->bucket_count ? services->bucket_count * 2 : FIRST_BUCKETS;
    struct service **buckets = calloc(count, sizeof *buckets);
    if (!buckets)
        return services->bucket_count > 0;
    free(services->buckets);
    services->buckets = buckets;
    services->bucket_count = count;
    for (struct service *each = NULL; (each = services_next(services, each));) {
        each->chain = *bucket(services, each->scope);
        *bucket(services, each->scope) = each;
    }
    return true;
}

static struct service_order *order_of(struct services *services, const struct service *service)
{
    return &services->orders[service->profiled];
}

struct service *services_next(const struct services *services, const struct service *after)
{
    if (after && (after->newer || after->profiled))
        return after->newer;
    if (!after && services->orders[false].oldest)
        return services->orders[false].oldest;
    return services->orders[true].oldest;
}

static void take_out(struct services *services, struct service *service)
{
    struct service_order *order = order_of(services, service);
    *(service->older ? &service->older->newer : &order->oldest) = service->newer;
    *(service->newer ? &service->newer->older : &order->newest) = service->older;
}

static void put_last(struct services *services, struct service *service)
{
    struct service_order *order = order_of(services, service);
    service->older = order->newest;
    service->newer = NULL;
    *(order->newest ? &order->newest->newer : &order->oldest) = service;
    order->newest = service;
}

void service_counts_add(struct service_counts *sum, const struct service_counts *counts)
{
    sum->linked += counts->linked;
    for (int reason = 0; reason < REASON_COUNT; reason++)
        sum->unlinked[reason] += counts->unlinked[reason];
    sum->ids += counts->ids;
    sum->ids_met += counts->ids_met;
    sum->missed += counts->missed;
    sum->waited += counts->waited;
    sum->wait_sum += counts->wait_sum;
    if (counts->wait_max > sum->wait_max)
        sum->wait_max = counts->wait_max;
}

static void services_forget(struct services *services, struct service *service)
{
    if (service->held)
        services->let_go(services->ctx, service);
    struct service **at = bucket(services, service->scope);
    while (*at != service)
        at = &(*at)->chain;
    *at = service->chain;
    take_out(services, service);
    service_counts_add(&services->gone, &service->counts);
    free_service(services, service);
    services->count--;
    services->forgotten++;
}

/* Returns the least recently seen one that nothing refers to but its own spans; NULL: not found. */
static struct service *least_recent(struct services *services, bool profiled)
{
    struct service_order *order = &services->orders[profiled];
    for (unsigned i = 0; i < LOOKED_AT && order->oldest; i++) {
        struct service *service = order->oldest;
        if (!service->building)
            return service;
        take_out(services, service);
        put_last(services, service);
    }
    return NULL;
}

/* Returns the service to give up for a new one; NULL: there is none. */
static struct service *least_wanted(struct services *services, bool for_profile, uint64_t mono)
{
    struct service *service = least_recent(services, false);
    if (service)
        return service;
    service = least_recent(services, true);
    bool wanted = service && since(service->last_seen, mono) <= services->remember;
    return wanted && !for_profile ? NULL : service;
}

static bool has_memory(const struct services *services, size_t more)
{
    return services->count < FEW || budget_may_remember(services->budget, services->bytes, more);
}

static bool has_room(const struct services *services, size_t more)
{
    return services->count < services->max && has_memory(services, more);
}

static bool services_make_room(struct services *services, size_t more, bool for_profile,
                               uint64_t mono)
{
    while (!has_room(services, more)) {
        struct service *service = least_wanted(services, for_profile, mono);
        if (!service)
            return for_profile;
        services_forget(services, service);
    }
    return true;
}

static struct service *services_add(struct services *services, struct view tenant, struct view name,
                                    uint64_t scope, bool for_profile, uint64_t mono)
{
    size_t size = sizeof(struct service) + tenant.size + name.size;
    if (!services_make_room(services, size, for_profile, mono) || !grow_buckets(services))
        return NULL;
    struct service *service = calloc(1, size);
    if (!service)
        return NULL;
    service->first_seen = mono;
    service->scope = scope;
    service->tenant_size = (uint32_t)tenant.size;
    service->size = (uint32_t)name.size;
    proto_bytes_put(service->text, tenant);
    proto_bytes_put(service->text + tenant.size, name);
    budget_force(services->budget, size_of(service));
    service->chain = *bucket(services, scope);
    *bucket(services, scope) = service;
    services->count++;
    return service;
}

/* Everything known of it is too old to base decisions on. */
static void start_anew(struct services *services, struct service *service, uint64_t mono)
{
    release_knowledge(services, service);
    service->first_seen = mono;
    service->first_candidate = service->profiled_at = 0;
    service->unread = service->wide = service->named = false;
    service->misnamed = service->other_tenant = false;
    service->from_go = service->from_node = service->unsymbolized = false;
    service->nameless = 0;
    service->match = (struct match){0};
    service->silent_since = 0;
    service->skew = 0;
    memset(service->others, 0, sizeof service->others);
}

/* What is known of the others gives way if this one has grown. */
static void services_shrink(struct services *services, struct service *service, uint64_t mono)
{
    count_bytes(services, service);
    service->building++;
    while (!has_memory(services, 0)) {
        struct service *least = least_wanted(services, true, mono);
        if (!least)
            break;
        services_forget(services, least);
    }
    service->building--;
}

static struct view shortened(struct view text)
{
    return (struct view){text.data, text.size > LONGEST_NAME ? LONGEST_NAME : text.size};
}

static struct service *see(struct services *services, struct view tenant, struct view name,
                           bool for_profile, uint64_t mono)
{
    name = shortened(name);
    tenant = shortened(tenant);
    uint64_t scope = scope_of(tenant, name);
    struct service *service = services_find(services, tenant, name, scope);
    if (service) {
        take_out(services, service);
        if (since(service->last_seen, mono) > services->remember && !service->held &&
            !service->building)
            start_anew(services, service, mono);
    } else {
        service = services_add(services, tenant, name, scope, for_profile, mono);
        if (!service)
            return NULL;
    }
    if (for_profile)
        service->profiled_at = mono;
    service->profiled =
        service->profiled_at && since(service->profiled_at, mono) <= services->remember;
    service->last_seen = mono;
    put_last(services, service);
    services_shrink(services, service, mono);
    return service;
}

struct service *services_see(struct services *services, struct view tenant, struct view name,
                             uint64_t mono)
{
    return see(services, tenant, name, false, mono);
}

struct service *services_see_profile(struct services *services, struct view tenant,
                                     struct view name, uint64_t mono)
{
    return see(services, tenant, name, true, mono);
}

struct timeline *service_timeline(struct service *service, enum kind kind, struct budget *budget)
{
    struct timeline **timeline = &service->timelines[kind];
    if (*timeline)
        return *timeline;
    *timeline = calloc(1, sizeof **timeline);
    if (!*timeline)
        return NULL;
    budget_force(budget, sizeof **timeline);
    (*timeline)->budget = budget;
    /* Serials never equal those of another kind. */
    (*timeline)->last_serial = (uint32_t)kind << SERIAL_BITS;
    return *timeline;
}

void service_note_unread(struct service *service, const char *why, uint64_t mono)
{
    service->version++;
    service->unread = true;
    service->unread_why = why;
    service->unread_at = mono;
}

void service_note_wide(struct service *service, uint64_t mono)
{
    service->wide = true;
    service->wide_at = mono;
}

bool service_is_wide(const struct service *service, uint64_t mono, uint64_t remember)
{
    return service->wide && since(service->wide_at, mono) <= remember;
}

static bool sends(const struct service *service, enum kind kind, uint64_t mono, uint64_t remember)
{
    const struct timeline *timeline = service->timelines[kind];
    return timeline && timeline->count > 0 && since(timeline->uploaded, mono) <= remember;
}

unsigned service_kinds(const struct service *service, const struct confirm_by *confirm,
                       uint64_t mono, uint64_t remember)
{
    if (!confirm->automatic)
        return confirm->kinds;
    if (service && sends(service, KIND_PROCESS_CPU, mono, remember))
        return KIND_BIT(KIND_PROCESS_CPU);
    return KIND_BIT(KIND_PROCESS_CPU) | KIND_BIT(KIND_WALL);
}
