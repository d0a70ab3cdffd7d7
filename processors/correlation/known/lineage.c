#include "processors/correlation/known/lineage.h"

void lineage_note(struct id_table *table, uint64_t span, enum lineage what, uint64_t id,
                  uint32_t second)
{
    struct id_entry *entry = id_table_put(table, span, second);
    if (!entry)
        return;
    id_table_more(table, entry)->word = id;
    entry->note = what;
}

struct lineage_step lineage_get(const struct id_table *table, uint64_t span, uint32_t second)
{
    const struct id_entry *entry = id_table_find(table, span, second);
    if (!entry)
        return (struct lineage_step){.what = LINEAGE_UNKNOWN};
    return (struct lineage_step){(enum lineage)entry->note, id_table_more(table, entry)->word,
                                 entry->seen};
}
