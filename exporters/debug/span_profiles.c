/* The profiles of spans, kept for their traces (exporters/debug/debug.h). */
#include "exporters/debug/debug.h"

#include "lib/wire/pprof/pprof_symbols.h"
#include "lib/wire/profiles/profiles_to_pprof.h"

#include <stdlib.h>

enum { SLOTS = 1024, BUCKETS = 2048, INDEX_CAP = 64 << 20 };

/* A ring of slots, where the oldest is overwritten, and a hash table with linear probing, whose
 * buckets hold slot number + 1. */
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
    *slot = (struct span_profile){.id = id};
    index_anew(profiles);
    return slot;
}

/* Of eight functions the smallest is replaced: accurate enough for a span's hottest three. */
static void count_function(struct span_profile *slot, struct view name, uint64_t samples)
{
    struct hot_function *least = &slot->hot[0];
    char text[FUNCTION_NAME_SIZE] = "";
    shown_text(name, text, sizeof text);
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

/* Indexes of a profile's values; -1: none. */
struct columns {
    int samples;
    int cpu;
};

static uint64_t value_at(const struct pprof_sample *sample, int column)
{
    return column >= 0 && sample->values[column] > 0 ? (uint64_t)sample->values[column] : 0;
}

static void add_sample(struct span_profiles *profiles, const struct pprof_symbols *symbols,
                       const struct columns *columns, const struct pprof_sample *sample)
{
    int64_t period = symbols->pprof->period;
    uint64_t samples = value_at(sample, columns->samples), cpu = value_at(sample, columns->cpu);
    uint64_t id;
    if (columns->samples < 0 && period > 0)
        samples = cpu / (uint64_t)period;
    if ((!samples && !cpu) || !sample->span_id.data || !span_id_parse(sample->span_id, &id))
        return;
    struct span_profile *slot = span_profiles_lookup(profiles, id);
    if (!slot)
        slot = insert(profiles, id);
    slot->samples += samples ? samples : 1;
    slot->cpu_ns += cpu;
    count_function(slot, pprof_symbols_leaf(symbols, sample), samples ? samples : 1);
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
        struct columns columns = {type_index(&pprof, VIEW("samples"), VIEW("count")),
                                  type_index(&pprof, VIEW("cpu"), VIEW("nanoseconds"))};
        struct proto_scan scan = pprof_samples(&pprof);
        while (pprof_next_sample(&pprof, &scan, &sample))
            add_sample(profiles, &symbols, &columns, &sample);
    }
    arena_release(&arena);
}

/* A request may contain a profiler's CPU times twice: as sample counts, which the server's rules
 * convert to times, and as times. */
static bool is_repeated_time(struct view name, bool *times_seen)
{
    *times_seen |= view_eq(name, VIEW("process_cpu"));
    return *times_seen && view_eq(name, VIEW("cpu"));
}

void span_profiles_add_otlp(struct span_profiles *profiles, struct view request)
{
    const struct profiles_policy policy = {0};
    struct profiles_to_pprof conversion;
    struct profiles_part part;
    struct arena arena;
    struct bytes pprof;
    const char *reason;
    bool times_seen = false;
    arena_init(&arena, INDEX_CAP);
    bytes_init(&pprof, INDEX_CAP, NULL);
    bool good = profiles_to_pprof_begin(&conversion, request, &policy, &arena, &reason);
    while (good) {
        if (profiles_to_pprof_next(&conversion, &part, &pprof, &reason)) {
            if (!is_repeated_time(series_get(part.series, VIEW("__name__")), &times_seen))
                span_profiles_add(profiles, bytes_view(&pprof));
            series_unref(part.series);
        } else if (!reason) {
            break;
        }
    }
    bytes_release(&pprof);
    arena_release(&arena);
}
