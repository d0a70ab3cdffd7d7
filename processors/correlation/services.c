#include "processors/correlation/services.h"

#include <stdlib.h>

enum { FIRST_BUCKETS = 64, LONGEST_NAME = 1024 };

void services_init(struct services *services, size_t max, uint64_t remember, struct budget *budget)
{
    *services = (struct services){.max = max, .remember = remember, .budget = budget};
}

static size_t size_of(size_t name)
{
    return sizeof(struct service) + name;
}

void services_release(struct services *services)
{
    while (services->oldest) {
        struct service *next = services->oldest->newer;
        budget_give(services->budget, size_of(services->oldest->size));
        free(services->oldest);
        services->oldest = next;
    }
    free(services->buckets);
    *services = (struct services){0};
}

static uint64_t since(uint64_t then, uint64_t mono)
{
    return mono > then ? mono - then : 0;
}

/* FNV-1a. */
static uint32_t hash_of(struct view name)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < name.size; i++)
        hash = (hash ^ name.data[i]) * 16777619u;
    return hash;
}

static struct service **bucket(const struct services *services, uint32_t hash)
{
    return &services->buckets[hash & (services->bucket_count - 1)];
}

static struct service *find(const struct services *services, struct view name, uint32_t hash)
{
    struct service *service = services->bucket_count ? *bucket(services, hash) : NULL;
    while (service && !(service->hash == hash && view_eq(service_name(service), name)))
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
        each->chain = *bucket(services, each->hash);
        *bucket(services, each->hash) = each;
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

static void forget(struct services *services, struct service *service)
{
    struct service **at = bucket(services, service->hash);
    while (*at != service)
        at = &(*at)->chain;
    *at = service->chain;
    take_out(services, service);
    budget_give(services->budget, size_of(service->size));
    free(service);
    services->count--;
    services->forgotten++;
}

static bool make_room(struct services *services)
{
    if (services->count < services->max)
        return true;
    struct service *service = services->oldest;
    while (service && (service->oldest || service->building))
        service = service->newer;
    if (!service)
        return false;
    forget(services, service);
    return true;
}

static struct service *add(struct services *services, struct view name, uint32_t hash,
                           uint64_t mono)
{
    if (!make_room(services) || !grow_buckets(services))
        return NULL;
    struct service *service = calloc(1, size_of(name.size));
    if (!service)
        return NULL;
    budget_force(services->budget, size_of(name.size));
    service->first_seen = mono;
    service->due = UINT64_MAX;
    service->hash = hash;
    service->size = (uint32_t)name.size;
    if (name.size)
        memcpy(service->name, name.data, name.size);
    service->chain = *bucket(services, hash);
    *bucket(services, hash) = service;
    services->count++;
    return service;
}

/* All that was known of it is too old to judge by. */
static void start_anew(struct service *service, uint64_t mono)
{
    service->first_seen = mono;
    service->profiled = service->unread = service->wide = false;
    service->from_go = service->from_node = false;
    memset(service->windows, 0, sizeof service->windows);
}

struct service *services_see(struct services *services, struct view name, uint64_t mono)
{
    if (name.size > LONGEST_NAME)
        name.size = LONGEST_NAME;
    uint32_t hash = hash_of(name);
    struct service *service = find(services, name, hash);
    if (service) {
        take_out(services, service);
        if (since(service->last_seen, mono) > services->remember && !service->oldest)
            start_anew(service, mono);
    } else {
        service = add(services, name, hash, mono);
        if (!service)
            return NULL;
    }
    service->last_seen = mono;
    put_last(services, service);
    return service;
}

void service_note_window(struct service *service, const struct window *window, uint64_t mono,
                         uint64_t remember)
{
    struct windows *windows = &service->windows[window->kind];
    service->version++;
    service->profiled = true;
    service->profiled_at = mono;
    if (window->end > windows->watermark)
        windows->watermark = window->end;
    if (since(windows->turned, mono) > remember) {
        windows->before = windows->longest;
        windows->longest = 0;
        windows->turned = mono;
    }
    /* A window longer than the memory of samples is a mistake of its sender's. */
    uint64_t length = window->length < remember ? window->length : remember;
    if (length > windows->longest)
        windows->longest = length;
    windows->last = mono;
    windows->count++;
}

void service_note_unread(struct service *service, const char *why, uint64_t mono)
{
    service->version++;
    service->unread = true;
    service->unread_why = why;
    service->unread_at = mono;
}

static bool sends(const struct service *service, enum kind kind, uint64_t mono, uint64_t remember)
{
    const struct windows *windows = &service->windows[kind];
    return windows->count > 0 && since(windows->last, mono) <= remember;
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

/* Where several kinds confirm, a span is without samples when every one's window came. */
static void read_windows(const struct service *service, unsigned kinds, uint64_t mono,
                         uint64_t remember, struct windows *all)
{
    *all = (struct windows){.watermark = UINT64_MAX, .count = UINT32_MAX};
    bool any = false;
    for (enum kind kind = 0; kind < KIND_OTHER; kind++) {
        const struct windows *each = &service->windows[kind];
        if (!(kinds & KIND_BIT(kind)) || !sends(service, kind, mono, remember))
            continue;
        any = true;
        uint64_t longest = each->longest > each->before ? each->longest : each->before;
        if (longest > all->longest)
            all->longest = longest;
        if (each->watermark < all->watermark)
            all->watermark = each->watermark;
        if (each->count < all->count)
            all->count = each->count;
    }
    if (!any)
        *all = (struct windows){0};
}

struct judge_service service_judged_as(const struct service *service,
                                       const struct confirm_by *confirm, uint64_t hold,
                                       uint64_t mono, uint64_t remember)
{
    unsigned kinds = service_kinds(service, confirm, mono, remember);
    struct windows windows;
    read_windows(service, kinds, mono, remember, &windows);
    uint64_t window = judge_window(windows.longest, windows.count, service->from_go);
    return (struct judge_service){
        .profiled = service->profiled && since(service->profiled_at, mono) <= remember,
        .unread = service->unread && since(service->unread_at, mono) <= remember,
        .first_seen = service->first_seen,
        .watermark = windows.watermark,
        .window = window,
        .hold = judge_hold(hold, window, windows.count, service->from_node),
    };
}
