/*
 * An index of a profile's tables that finds the entries which a range of samples uses. Each entry
 * has a mark: the number of the first sample in the current part that used it. Sample numbers only
 * grow, so an entry belongs to a part if its mark is in the part's range, and nothing has to be
 * cleared between parts. For lib/wire/pprof/pprof_split.c only.
 */
#ifndef LIB_WIRE_PPROF_PPROF_TABLES_H
#define LIB_WIRE_PPROF_PPROF_TABLES_H

#include "lib/wire/pprof/pprof.h"

enum pprof_table_kind { TABLE_MAPPING, TABLE_LOCATION, TABLE_FUNCTION, TABLE_KINDS };

/* The mark of entries that every part contains. */
#define MARK_ALWAYS UINT32_MAX

struct pprof_entry {
    uint64_t id;
    uint32_t at, size; /* of its bytes in the profile */
};

struct pprof_table {
    struct pprof_entry *entries; /* by id */
    uint32_t *marks;             /* one per entry; a separate array for locality */
    size_t count;
    bool dense; /* the ids are 1, 2, 3 ... */
};

struct pprof_tables {
    const struct pprof *pprof;
    struct pprof_table of[TABLE_KINDS];
    uint32_t *string_marks;
    uint32_t *string_ranks;    /* new index of each string in the current part */
    struct proto_field *fixed; /* fields of the profile that every part repeats */
    size_t fixed_count;
    size_t fixed_size;    /* upper bound on the bytes of those and their strings */
    uint32_t first, last; /* sample numbers of the current part */
    uint32_t next;        /* the next sample number */
    size_t work;          /* bytes written and entries visited so far */
    bool kept;            /* every part repeats the tables unchanged */
};

/* The number of the profile's field that has the entries of a table. */
extern const uint32_t pprof_table_fields[TABLE_KINDS];

/* The bytes of an entry, without its tag and length. */
struct view pprof_tables_content(const struct pprof_tables *tables,
                                 const struct pprof_entry *entry);

/* False: the arena has no room. */
bool pprof_tables_open(struct pprof_tables *tables, const struct pprof *pprof, struct arena *arena);

static inline bool pprof_tables_used(const struct pprof_tables *tables, uint32_t mark)
{
    return mark == MARK_ALWAYS || (mark >= tables->first && mark <= tables->last);
}

/* Makes every part repeat all mappings, locations and functions, and keep string indices (unused
 * strings are empty), so that samples can be copied unchanged. Call before the first mark. False: a
 * part would repeat more than `most` bytes; nothing has changed. */
bool pprof_tables_keep(struct pprof_tables *tables, size_t most);

/* Marks everything that a sample uses with the next sample number, and returns an upper bound on
 * the bytes that adding the sample to the part costs. Entries already used by the part's samples up
 * to `last` cost nothing. */
size_t pprof_tables_mark(struct pprof_tables *tables, const struct proto_field *sample);

/* Assigns the part's string indices in table order, unless the tables are kept. */
void pprof_tables_rank(struct pprof_tables *tables);

#endif
