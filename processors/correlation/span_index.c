#include "processors/correlation/span_index.h"

/* An entry's word: 48 bits of CPU time, a byte of kinds, one bit for "its span came". */
#define CPU_MAX     ((UINT64_C(1) << 48) - 1)
#define KINDS_SHIFT 48
#define MET         (UINT64_C(1) << 56)

_Static_assert(KIND_OTHER <= 8, "the kinds that can confirm fit a byte");

bool span_index_add(struct span_index *index, uint64_t scope, const struct span_figures *figures,
                    enum kind kind, uint32_t second)
{
    struct id_entry *entry = id_table_put(&index->table, figures->id ^ scope, second);
    if (!entry)
        return false;
    bool is_new = entry->word == 0;
    uint64_t cpu = entry->word & CPU_MAX;
    uint64_t rest = entry->word & ~CPU_MAX;
    cpu = figures->cpu_ns > CPU_MAX - cpu ? CPU_MAX : cpu + figures->cpu_ns;
    entry->word = rest | cpu | (uint64_t)KIND_BIT(kind) << KINDS_SHIFT;
    entry->count =
        figures->samples > UINT32_MAX - entry->count ? UINT32_MAX : entry->count + figures->samples;
    return is_new;
}

bool span_index_find(const struct span_index *index, uint64_t scope, uint64_t id, unsigned kinds,
                     uint32_t second, struct span_figures *figures)
{
    const struct id_entry *entry = id_table_find(&index->table, id ^ scope, second);
    if (!entry || !((entry->word >> KINDS_SHIFT) & kinds))
        return false;
    *figures = (struct span_figures){id, entry->count, entry->word & CPU_MAX};
    return true;
}

bool span_index_meet(struct span_index *index, uint64_t scope, uint64_t id, uint32_t second)
{
    struct id_entry *entry = id_table_find(&index->table, id ^ scope, second);
    if (!entry || entry->word & MET)
        return false;
    entry->word |= MET;
    return true;
}
