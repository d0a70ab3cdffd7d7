/* The profiles of spans, kept for their traces (exporters/debug/debug.h). */
#include "exporters/debug/debug.h"

#include "lib/base/shown.h"

#include <stdlib.h>

enum { SLOTS = 1024, BUCKETS = 2048, TREES_CAP = 4 << 20 };

/* A ring of slots, where the oldest is overwritten, and a hash table with linear probing, whose
 * buckets hold slot number + 1. */
struct span_profiles {
    struct span_profile slots[SLOTS];
    size_t next;
    uint16_t buckets[BUCKETS];
    struct call_room room;
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

void span_profiles_free(struct span_profiles *profiles)
{
    if (!profiles)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        call_tree_release(&profiles->slots[i].tree, &profiles->room);
    budget_give(profiles->room.budget, sizeof *profiles);
    free(profiles);
}

static size_t bucket_of(uint64_t id)
{
    return (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 53) % BUCKETS;
}

static struct span_profile *span_profiles_lookup(const struct span_profiles *profiles, uint64_t id)
{
    for (size_t at = bucket_of(id); profiles->buckets[at]; at = (at + 1) % BUCKETS) {
        const struct span_profile *slot = &profiles->slots[profiles->buckets[at] - 1];
        if (slot->id == id)
            return (struct span_profile *)slot;
    }
    return NULL;
}

const struct span_profile *span_profiles_get(const struct span_profiles *profiles, uint64_t id)
{
    return id ? span_profiles_lookup(profiles, id) : NULL;
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

static struct span_profile *insert(struct span_profiles *profiles, uint64_t id)
{
    struct span_profile *slot = &profiles->slots[profiles->next];
    profiles->next = (profiles->next + 1) % SLOTS;
    call_tree_release(&slot->tree, &profiles->room);
    *slot = (struct span_profile){.id = id};
    index_anew(profiles);
    return slot;
}

/* Of eight functions the smallest is replaced: accurate enough for a span's hottest three. */
static void count_function(struct span_profile *slot, struct view name, uint64_t samples)
{
    struct hot_function *least = &slot->hot[0];
    char text[FUNCTION_NAME_SIZE] = "";
    function_name_copy(name, text);
    for (size_t i = 0; i < HOT_FUNCTIONS; i++) {
        if (strcmp(slot->hot[i].name, text) == 0) {
            slot->hot[i].samples += samples;
            return;
        }
        if (slot->hot[i].samples < least->samples)
            least = &slot->hot[i];
    }
    least->samples += samples;
    memcpy(least->name, text, sizeof text);
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
    struct span_profile *slot = span_profiles_lookup(profiles, stack->id);
    if (!slot)
        slot = insert(profiles, stack->id);
    slot->samples += stack->samples;
    slot->cpu_ns += stack->cpu_ns;
    slot->wall_ns += stack->wall_ns;
    slot->times_cpu |= stack->times_cpu;
    shown_copy(stack->service, slot->service, sizeof slot->service);
    count_function(slot, stack->count ? stack->names[0] : VIEW(""), stack->samples);
    while (profiles->room.left < CALLS_MAX * sizeof(struct call) &&
           drop_oldest_tree(profiles, slot))
        continue;
    if (!slot->treeless)
        call_tree_add(&slot->tree, &profiles->room, stack);
}
