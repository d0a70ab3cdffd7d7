#include "processors/correlation/known/tally.h"

#include "processors/correlation/known/services.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE_NS UINT64_C(60000000000)

/* A service replaces another one when it has twice its spans in a minute, and at least this
 * many. */
enum { BUSIER = 128 };

void tallies_release(struct tallies *tallies)
{
    for (unsigned i = 0; i < TALLY_SLOTS; i++)
        free(tallies->slots[i]);
    *tallies = (struct tallies){0};
}

static uint64_t tally_get(const _Atomic uint64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

static void correlation_tally_add(_Atomic uint64_t *count, uint64_t n)
{
    atomic_store_explicit(count, tally_get(count) + n, memory_order_relaxed);
}

/* ---- slots ---- */

static bool tally_fits(const struct service *service)
{
    return service->tenant_size + service->size <= TALLY_TEXT &&
           !view_eq(service_name(service), VIEW(TALLY_OTHERS));
}

/* A seqlock: a reader between the two versions reads again. */
static void assign(struct tally *tally, struct service *service)
{
    uint64_t words[TALLY_TEXT / 8] = {0};
    memcpy(words, service->text, service->tenant_size + service->size);
    uint32_t version = atomic_load_explicit(&tally->version, memory_order_relaxed);
    atomic_store_explicit(&tally->version, version + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (unsigned i = 0; i < TALLY_TEXT / 8; i++)
        atomic_store_explicit(&tally->text[i], words[i], memory_order_relaxed);
    for (unsigned i = 0; i < TALLY_COUNTS; i++)
        atomic_store_explicit(&tally->counts[i], 0, memory_order_relaxed);
    atomic_store_explicit(&tally->tenant_size, service->tenant_size, memory_order_relaxed);
    atomic_store_explicit(&tally->size, service->size, memory_order_relaxed);
    atomic_store_explicit(&tally->version, version + 2, memory_order_release);
}

static void tally_give(struct tally *tally, struct service *service)
{
    if (tally->owner)
        tally->owner->tally = NULL;
    tally->owner = service;
    tally->recent = 0;
    service->tally = tally;
}

/* Whether a slot still has this service's name from before it was forgotten. */
static bool is_named_after(const struct tally *tally, const struct service *service)
{
    uint64_t words[TALLY_TEXT / 8];
    size_t size = service->tenant_size + service->size;
    for (unsigned i = 0; i < TALLY_TEXT / 8; i++)
        words[i] = tally_get(&tally->text[i]);
    return !tally->owner && tally->tenant_size == service->tenant_size &&
           tally->size == service->size && memcmp(words, service->text, size) == 0;
}

static void pass_minute(struct tallies *tallies, uint64_t mono)
{
    uint64_t passed = (mono - tallies->minute) / MINUTE_NS;
    if (mono < tallies->minute || passed == 0)
        return;
    tallies->minute = mono;
    for (unsigned i = 0; i < TALLY_SLOTS && tallies->slots[i]; i++)
        tallies->slots[i]->recent = passed == 1 ? tallies->slots[i]->recent / 2 : 0;
}

/* Finds a slot for a service without one: its former one, an unused one, or that of a quieter
 * service. NULL: none. */
static struct tally *find_slot(struct tallies *tallies, struct service *service, uint64_t mono)
{
    struct tally *quietest = NULL;
    pass_minute(tallies, mono);
    for (unsigned i = 0; i < TALLY_SLOTS; i++) {
        struct tally *tally = tallies->slots[i];
        if (!tally) {
            tally = calloc(1, sizeof *tally);
            tallies->slots[i] = tally;
            return tally;
        }
        if (is_named_after(tally, service))
            return tally;
        if (!quietest || tally->recent < quietest->recent)
            quietest = tally;
    }
    uint64_t least = 2 * quietest->recent > BUSIER ? 2 * quietest->recent : BUSIER;
    return service->untallied >= least ? quietest : NULL;
}

/* Seldom, since it scans all slots: when the service has twice as many spans as at the last
 * scan. */
static void ask_for_slot(struct tallies *tallies, struct service *service, uint64_t mono)
{
    if (service->untallied < service->untallied_look || !tally_fits(service))
        return;
    struct tally *tally = find_slot(tallies, service, mono);
    service->untallied_look = service->untallied < BUSIER ? BUSIER : 2 * service->untallied;
    if (!tally)
        return;
    bool own = is_named_after(tally, service) && tally->size;
    tally_give(tally, service);
    if (!own)
        assign(tally, service);
}

void tally_add(struct tallies *tallies, struct service *service, unsigned what, uint64_t n,
               uint64_t mono)
{
    if (!service) {
        correlation_tally_add(&tallies->others[what], n);
        return;
    }
    if (mono - service->untallied_since >= MINUTE_NS && !service->tally) {
        service->untallied_since = mono;
        service->untallied = service->untallied_look = 0;
    }
    if (!service->tally)
        ask_for_slot(tallies, service, mono);
    if (service->tally) {
        correlation_tally_add(&service->tally->counts[what], n);
        service->tally->recent += n;
    } else {
        correlation_tally_add(&tallies->others[what], n);
        service->untallied += n;
    }
}

void tally_forget(struct service *service)
{
    if (service->tally)
        service->tally->owner = NULL;
    service->tally = NULL;
}

/* ---- readers ---- */

bool tally_read(const struct tallies *tallies, unsigned slot, struct tally_copy *copy)
{
    const struct tally *tally = tallies->slots[slot];
    if (!tally)
        return false;
    uint32_t version = atomic_load_explicit(&tally->version, memory_order_acquire);
    uint32_t tenant = tally->tenant_size, size = tally->size;
    for (unsigned i = 0; i < TALLY_TEXT / 8; i++)
        memcpy(copy->text + 8 * i, &(uint64_t){tally_get(&tally->text[i])}, 8);
    for (unsigned i = 0; i < TALLY_COUNTS; i++)
        copy->counts[i] = tally_get(&tally->counts[i]);
    atomic_thread_fence(memory_order_acquire);
    uint32_t after = atomic_load_explicit(&tally->version, memory_order_relaxed);
    if (version != after || version % 2 || version == 0 || tenant + size > TALLY_TEXT)
        return false;
    copy->tenant = (struct view){(const uint8_t *)copy->text, tenant};
    copy->name = (struct view){(const uint8_t *)copy->text + tenant, size};
    return true;
}
