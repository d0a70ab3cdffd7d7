/* The profiles of spans, kept for their traces (exporters/debug/debug.h). */
#include "exporters/debug/debug.h"

#include "lib/base/shown.h"

#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 1024, BUCKETS = 2048, TREES_CAP = 4 << 20, HASHES = 1024, COVERS = 64 };

/* The next profile of a service comes within one and a half windows, and some time to send it. */
#define LENGTH_MAX (60 * NS_PER_S)
#define SENDING    (5 * NS_PER_S)

/* What the profiles of a service cover. */
struct covered {
    char service[SPAN_NAME_SIZE];
    uint64_t until, length, came; /* came: monotonic */
};

/* A ring of slots, where the oldest is overwritten, and a hash table with linear probing, whose
 * buckets hold slot number + 1. */
struct span_profiles {
    struct span_profile slots[SLOTS];
    size_t next;
    uint16_t buckets[BUCKETS];
    struct call_room room;
    uint64_t hashes[HASHES]; /* of the latest profiles; a ring */
    size_t hash_count;       /* ever */
    struct covered covered[COVERS];
    size_t covered_count; /* ever; a ring */
    uint64_t now;
};

struct span_profiles *span_profiles_new(struct budget *budget)
{
    struct span_profiles *profiles = calloc(1, sizeof *profiles);
    if (profiles) {
        profiles->room = (struct call_room){budget, TREES_CAP};
        budget_force(budget, sizeof *profiles);
    }
    return profiles;
}

struct budget *span_profiles_budget(const struct span_profiles *profiles)
{
    return profiles->room.budget;
}

void span_profiles_free(struct span_profiles *profiles)
{
    if (!profiles)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        call_tree_release(&profiles->slots[i].tree, &profiles->room);
    budget_give(profiles->room.budget, sizeof *profiles);
    free(profiles);
}

bool span_profiles_came(const struct span_profiles *profiles)
{
    return profiles->hash_count > 0;
}

static size_t bucket_of(uint64_t id)
{
    return (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 53) % BUCKETS;
}

bool span_profiles_repeats(struct span_profiles *profiles, uint64_t hash)
{
    for (size_t i = 0; i < profiles->hash_count && i < HASHES; i++)
        if (profiles->hashes[i] == hash)
            return true;
    profiles->hashes[profiles->hash_count++ % HASHES] = hash;
    return false;
}

static struct covered *covered_find(const struct span_profiles *profiles, const char *service)
{
    for (size_t i = 0; i < COVERS && i < profiles->covered_count; i++)
        if (strcmp(profiles->covered[i].service, service) == 0)
            return (struct covered *)&profiles->covered[i];
    return NULL;
}

void span_profiles_at(struct span_profiles *profiles, uint64_t now)
{
    profiles->now = now;
}

void span_profiles_cover(struct span_profiles *profiles, struct view service, uint64_t from,
                         uint64_t until)
{
    char name[SPAN_NAME_SIZE];
    if (until <= from || !from)
        return;
    shown_copy(service, name, sizeof name);
    struct covered *covered = covered_find(profiles, name);
    if (!covered) {
        covered = &profiles->covered[profiles->covered_count++ % COVERS];
        *covered = (struct covered){.until = 0};
        memcpy(covered->service, name, sizeof name);
    }
    covered->until = until > covered->until ? until : covered->until;
    covered->length = until - from < LENGTH_MAX ? until - from : LENGTH_MAX;
    covered->came = profiles->now;
}

bool span_profiles_may_grow(const struct span_profiles *profiles,
                            const struct span_profile *profile, uint64_t end, uint64_t *due)
{
    const struct covered *covered = profile ? covered_find(profiles, profile->service) : NULL;
    if (!covered || covered->until >= end)
        return false;
    size_t newer = (profiles->next + SLOTS - (size_t)(profile - profiles->slots)) % SLOTS;
    if (due)
        *due = newer > SLOTS / 2 ? 0 : covered->came + covered->length * 3 / 2 + SENDING;
    return true;
}

/* The slot of an id with this service. any: where it has none, one with another. */
static struct span_profile *span_profiles_lookup(const struct span_profiles *profiles, uint64_t id,
                                                 const char *service, bool any)
{
    const struct span_profile *found = NULL;
    for (size_t at = bucket_of(id); profiles->buckets[at]; at = (at + 1) % BUCKETS) {
        const struct span_profile *slot = &profiles->slots[profiles->buckets[at] - 1];
        if (slot->id != id)
            continue;
        if (strcmp(slot->service, service) == 0)
            return (struct span_profile *)slot;
        if (any && (!found || !*slot->service))
            found = slot;
    }
    return (struct span_profile *)found;
}

const struct span_profile *span_profiles_get(const struct span_profiles *profiles, uint64_t id,
                                             const char *service)
{
    return id ? span_profiles_lookup(profiles, id, service, true) : NULL;
}

static void index_anew(struct span_profiles *profiles)
{
    memset(profiles->buckets, 0, sizeof profiles->buckets);
    for (size_t i = 0; i < SLOTS; i++) {
        if (!profiles->slots[i].id)
            continue;
        size_t at = bucket_of(profiles->slots[i].id);
        while (profiles->buckets[at])
            at = (at + 1) % BUCKETS;
        profiles->buckets[at] = (uint16_t)(i + 1);
    }
}

static struct span_profile *insert(struct span_profiles *profiles, uint64_t id, const char *service)
{
    struct span_profile *slot = &profiles->slots[profiles->next];
    profiles->next = (profiles->next + 1) % SLOTS;
    call_tree_release(&slot->tree, &profiles->room);
    *slot = (struct span_profile){.id = id};
    snprintf(slot->service, sizeof slot->service, "%s", service);
    index_anew(profiles);
    return slot;
}

/* Of eight functions the smallest is replaced: accurate enough for a span's hottest three. */
static void count_function(struct span_profile *slot, const struct span_stack *stack)
{
    struct hot_function *at = &slot->hot[0];
    char text[FUNCTION_NAME_SIZE] = "";
    function_name_copy(stack->count ? stack->names[0] : VIEW(""), text);
    for (size_t i = 0; i < HOT_FUNCTIONS; i++) {
        struct hot_function *each = &slot->hot[i];
        if (strcmp(each->name, text) == 0) {
            at = each;
            break;
        }
        if (span_profile_measure(slot, each) < span_profile_measure(slot, at))
            at = each;
    }
    at->samples += stack->samples + stack->wall_samples;
    at->cpu_ns += stack->cpu_ns;
    at->wall_ns += stack->wall_ns;
    memcpy(at->name, text, sizeof text);
}

/* The oldest span that has stacks loses them to newer ones. False: there is no other. */
static bool drop_oldest_tree(struct span_profiles *profiles, const struct span_profile *keep)
{
    for (size_t i = 0; i < SLOTS; i++) {
        struct span_profile *slot = &profiles->slots[(profiles->next + i) % SLOTS];
        if (slot == keep || slot->tree.count == 0)
            continue;
        call_tree_release(&slot->tree, &profiles->room);
        slot->treeless = true;
        return true;
    }
    return false;
}

void span_profiles_count(struct span_profiles *profiles, const struct span_stack *stack)
{
    char service[SPAN_NAME_SIZE];
    shown_copy(stack->service, service, sizeof service);
    struct span_profile *slot = span_profiles_lookup(profiles, stack->id, service, false);
    if (!slot)
        slot = insert(profiles, stack->id, service);
    slot->samples += stack->samples;
    slot->wall_samples += stack->wall_samples;
    slot->cpu_ns += stack->cpu_ns;
    slot->wall_ns += stack->wall_ns;
    slot->times_cpu |= stack->times_cpu;
    count_function(slot, stack);
    while (profiles->room.left < CALLS_MAX * sizeof(struct call) &&
           drop_oldest_tree(profiles, slot))
        continue;
    if (!slot->treeless)
        call_tree_add(&slot->tree, &profiles->room, stack);
}
