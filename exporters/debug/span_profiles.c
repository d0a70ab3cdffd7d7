#include "exporters/debug/debug.h"

#include "wire/pprof_symbols.h"

#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 1024, BUCKETS = 2048, INDEX_CAP = 64 << 20 };

/* A ring of slots, the oldest overwritten; buckets hold slot numbers + 1, by linear probing. */
struct span_profiles {
    struct span_profile slots[SLOTS];
    size_t next;
    uint16_t buckets[BUCKETS];
};

struct span_profiles *span_profiles_new(void)
{
    return calloc(1, sizeof(struct span_profiles));
}

void span_profiles_free(struct span_profiles *profiles)
{
    free(profiles);
}

static size_t bucket_of(uint64_t id)
{
    return (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 53) % BUCKETS;
}

static struct span_profile *lookup(const struct span_profiles *profiles, uint64_t id)
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
    return id ? lookup(profiles, id) : NULL;
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
    *slot = (struct span_profile){.id = id};
    index_anew(profiles);
    return slot;
}

/* The least of eight gives way: enough for the hottest three of a span. */
static void count_function(struct span_profile *slot, struct view name, uint64_t samples)
{
    struct hot_function *least = &slot->hot[0];
    char text[FUNCTION_NAME_SIZE];
    snprintf(text, sizeof text, "%.*s", VIEW_ARG(name));
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

static int type_index(const struct pprof *pprof, struct view type, struct view unit)
{
    for (size_t i = 0; i < pprof->type_count; i++)
        if (view_eq(pprof->types[i].type, type) && view_eq(pprof->types[i].unit, unit))
            return (int)i;
    return -1;
}

static void add_sample(struct span_profiles *profiles, const struct pprof_symbols *symbols,
                       const struct pprof_sample *sample)
{
    const struct pprof *pprof = symbols->pprof;
    int count = type_index(pprof, VIEW("samples"), VIEW("count"));
    int cpu = type_index(pprof, VIEW("cpu"), VIEW("nanoseconds"));
    uint64_t id;
    if (!sample->span_id.data || !span_id_parse(sample->span_id, &id))
        return;
    struct span_profile *slot = lookup(profiles, id);
    if (!slot)
        slot = insert(profiles, id);
    uint64_t samples = count >= 0 && sample->values[count] > 0 ? (uint64_t)sample->values[count]
                                                               : 1;
    if (count < 0 && cpu >= 0 && pprof->period > 0 && sample->values[cpu] > 0)
        samples = (uint64_t)(sample->values[cpu] / pprof->period);
    slot->samples += samples;
    if (cpu >= 0 && sample->values[cpu] > 0)
        slot->cpu_ns += (uint64_t)sample->values[cpu];
    count_function(slot, pprof_symbols_leaf(symbols, sample), samples);
}

void span_profiles_add(struct span_profiles *profiles, struct view raw)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    struct pprof_symbols symbols;
    struct pprof_sample sample;
    arena_init(&arena, INDEX_CAP);
    if (pprof_open(&pprof, raw, &arena, &fault) && pprof_symbols_open(&symbols, &pprof, &arena)) {
        struct proto_scan scan = proto_scan_begin(raw);
        while (pprof_next_sample(&pprof, &scan, &sample))
            add_sample(profiles, &symbols, &sample);
    }
    arena_release(&arena);
}
