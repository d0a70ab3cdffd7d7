#include "processors/correlation/known/span_index.h"

#include "lib/wire/otlp/otlp_span.h"

/* An entry's note: a byte of kinds, "its span was seen", and in which byte orders the id
 * occurred. */
enum { KINDS = 0xff, MET = 1 << 8, FORWARD = 1 << 9, REVERSED = 1 << 10 };

_Static_assert(KIND_OTHER <= 8, "the kinds that can confirm fit a byte");

/* Both byte orders of an id are one entry, so that one search finds either. */
uint64_t span_index_key(uint64_t id, uint64_t scope)
{
    uint64_t reversed = span_id_reversed(id);
    return (id < reversed ? id : reversed) ^ scope;
}

static uint32_t order_of(uint64_t id)
{
    return id <= span_id_reversed(id) ? FORWARD : REVERSED;
}

void span_index_init(struct span_index *index, size_t max_bytes, bool figures, uint32_t remember,
                     uint64_t seed, struct budget *budget)
{
    id_table_init(&index->table, max_bytes, figures, remember, seed, budget);
}

static uint64_t capped_sum(uint64_t a, uint64_t b, uint64_t max)
{
    return b > max - a ? max : a + b;
}

/* A count has two halves, each with a sum: the samples of profiles that have CPU time, and above
 * them those of others. */
enum { OTHERS = 32 };

static void add_samples(struct id_more *sums, const struct span_figures *figures)
{
    unsigned shift = figures->timed || figures->cpu_ns ? 0 : OTHERS;
    uint64_t sum = sums->count >> shift & UINT32_MAX;
    sums->count += (capped_sum(sum, figures->samples, UINT32_MAX) - sum) << shift;
}

static uint32_t samples_of(const struct id_more *sums)
{
    uint32_t timed = (uint32_t)sums->count;
    return timed ? timed : (uint32_t)(sums->count >> OTHERS);
}

bool span_index_add(struct span_index *index, uint64_t scope, const struct span_figures *figures,
                    enum kind kind, uint32_t second)
{
    struct id_entry *entry =
        id_table_put(&index->table, span_index_key(figures->id, scope), second);
    if (!entry)
        return false;
    bool is_new = entry->note == 0;
    struct id_more *sums = id_table_more(&index->table, entry);
    entry->note |= KIND_BIT(kind) | order_of(figures->id);
    if (sums) {
        sums->word = capped_sum(sums->word, figures->cpu_ns, SPAN_CPU_MAX);
        add_samples(sums, figures);
    }
    return is_new;
}

/* either: also if the id occurred in the other byte order. */
static bool correlation_span_index_find(const struct span_index *index, uint64_t scope, uint64_t id,
                                        bool either, unsigned kinds, uint32_t second,
                                        struct span_figures *figures)
{
    const struct id_entry *entry = id_table_find(&index->table, span_index_key(id, scope), second);
    if (!entry || !(entry->note & kinds & KINDS))
        return false;
    bool as_it_is = entry->note & order_of(id);
    if (!as_it_is && !either)
        return false;
    const struct id_more *sums = id_table_more(&index->table, entry);
    *figures = (struct span_figures){.id = as_it_is ? id : span_id_reversed(id)};
    if (sums) {
        figures->samples = samples_of(sums);
        figures->cpu_ns = sums->word;
        figures->timed = (uint32_t)sums->count || sums->word;
    }
    return true;
}

bool span_index_find(const struct span_index *index, uint64_t scope, uint64_t id, unsigned kinds,
                     uint32_t second, struct span_figures *figures)
{
    return correlation_span_index_find(index, scope, id, false, kinds, second, figures);
}

bool span_index_find_either(const struct span_index *index, uint64_t scope, uint64_t id,
                            unsigned kinds, uint32_t second, struct span_figures *figures)
{
    return correlation_span_index_find(index, scope, id, true, kinds, second, figures);
}

void span_index_prefetch(const struct span_index *index, uint64_t scope, uint64_t id)
{
    id_table_prefetch(&index->table, span_index_key(id, scope));
}

bool span_index_meet(struct span_index *index, uint64_t scope, uint64_t id, uint32_t second)
{
    struct id_entry *entry = id_table_find(&index->table, span_index_key(id, scope), second);
    if (!entry || entry->note & MET)
        return false;
    entry->note |= MET;
    return true;
}

bool span_index_is_unmet(const struct span_index *index, uint64_t scope, uint64_t id,
                         uint32_t second)
{
    const struct id_entry *entry = id_table_find(&index->table, span_index_key(id, scope), second);
    return entry && !(entry->note & MET);
}

bool span_index_lost(const struct span_index *index, uint64_t scope, uint64_t id, uint32_t since)
{
    return id_table_lost(&index->table, span_index_key(id, scope)) > since;
}
