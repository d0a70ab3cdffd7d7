#include "processors/correlation/known/services.h"

#include "lib/wire/proto/proto_scan.h"

#include <stdlib.h>

enum { FIRST_BUCKETS = 64, LONGEST_NAME = 1024, SERIAL_BITS = 24 };

void services_init(struct services *services, size_t max, uint64_t remember, struct budget *budget)
{
    *services = (struct services){.max = max, .remember = remember, .budget = budget};
}

static size_t size_of(const struct service *service)
{
    return sizeof *service + service->tenant_size + service->size;
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
    budget_give(services->budget, size_of(service));
    free(service);
}

void services_release(struct services *services)
{
    while (services->oldest) {
        struct service *next = services->oldest->newer;
        free_service(services, services->oldest);
        services->oldest = next;
    }
    free(services->buckets);
    tallies_release(&services->tallies);
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
    for (struct service *each = services->oldest; each; each = each->newer) {
        each->chain = *bucket(services, each->scope);
        *bucket(services, each->scope) = each;
    }
    return true;
}

static void take_out(struct services *services, struct service *service)
{
    *(service->older ? &service->older->newer : &services->oldest) = service->newer;
    *(service->newer ? &service->newer->older : &services->newest) = service->older;
}

static void put_last(struct services *services, struct service *service)
{
    service->older = services->newest;
    service->newer = NULL;
    *(services->newest ? &services->newest->newer : &services->oldest) = service;
    services->newest = service;
}

static void services_forget(struct services *services, struct service *service)
{
    struct service **at = bucket(services, service->scope);
    while (*at != service)
        at = &(*at)->chain;
    *at = service->chain;
    take_out(services, service);
    free_service(services, service);
    services->count--;
    services->forgotten++;
}

static bool services_make_room(struct services *services)
{
    if (services->count < services->max)
        return true;
    struct service *service = services->oldest;
    while (service && (service->held || service->building))
        service = service->newer;
    if (!service)
        return false;
    services_forget(services, service);
    return true;
}

static struct service *services_add(struct services *services, struct view tenant, struct view name,
                                    uint64_t scope, uint64_t mono)
{
    if (!services_make_room(services) || !grow_buckets(services))
        return NULL;
    struct service *service = calloc(1, sizeof *service + tenant.size + name.size);
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
    service->first_candidate = 0;
    service->unread = service->wide = service->named = false;
    service->from_go = service->from_node = service->unsymbolized = false;
    service->nameless = 0;
    service->skew = 0;
    memset(service->others, 0, sizeof service->others);
}

static struct view shortened(struct view text)
{
    return (struct view){text.data, text.size > LONGEST_NAME ? LONGEST_NAME : text.size};
}

struct service *services_see(struct services *services, struct view tenant, struct view name,
                             uint64_t mono)
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
        service = services_add(services, tenant, name, scope, mono);
        if (!service)
            return NULL;
    }
    service->last_seen = mono;
    put_last(services, service);
    return service;
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
