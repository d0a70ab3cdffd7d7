#include "processors/correlation/known/ancestry.h"

void ancestry_note(struct id_table *table, uint64_t span, enum ancestry what, uint64_t id,
                   uint32_t second)
{
    struct id_entry *entry = id_table_put(table, span, second);
    if (!entry)
        return;
    id_table_more(table, entry)->word = id;
    entry->note = what;
}

struct ancestry_step ancestry_get(const struct id_table *table, uint64_t span, uint32_t second)
{
    const struct id_entry *entry = id_table_find(table, span, second);
    if (!entry)
        return (struct ancestry_step){.what = ANCESTRY_UNKNOWN};
    return (struct ancestry_step){(enum ancestry)entry->note, id_table_more(table, entry)->word,
                                  entry->seen};
}
