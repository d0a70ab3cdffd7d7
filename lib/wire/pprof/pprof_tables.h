/*
 * The tables of a profile, indexed so that the entries which a run of samples uses can be picked
 * out. Each entry has a mark: the number of the sample that last asked for it first. Sample numbers
 * only grow, so an entry belongs to a part when its mark lies within the part's numbers, and
 * nothing has to be cleared between parts. For lib/wire/pprof/pprof_split.c only.
 */
#ifndef LIB_WIRE_PPROF_PPROF_TABLES_H
#define LIB_WIRE_PPROF_PPROF_TABLES_H

#include "lib/wire/pprof/pprof.h"

enum pprof_table_kind { TABLE_MAPPING, TABLE_LOCATION, TABLE_FUNCTION, TABLE_KINDS };

/* The mark of what every part holds. */
#define MARK_ALWAYS UINT32_MAX

struct pprof_entry {
    uint64_t id;
    struct proto_field field; /* of the profile */
};

struct pprof_table {
    struct pprof_entry *entries; /* by id */
    uint32_t *marks;             /* of each; by themselves, since most are only looked at */
    size_t count;
    bool dense; /* the ids are 1, 2, 3 ... */
};

struct pprof_tables {
    const struct pprof *pprof;
    struct pprof_table of[TABLE_KINDS];
    uint32_t *string_marks;
    uint32_t *string_ranks;    /* of a part: new index of each of its strings */
    struct proto_field *fixed; /* fields of the profile that every part holds */
    size_t fixed_count;
    size_t fixed_size;    /* bytes of those and of their strings, an upper bound */
    uint32_t first, last; /* sample numbers of the part at hand */
    uint32_t next;        /* the next sample number */
    size_t work;          /* bytes written and entries gone through so far */
    bool kept;            /* every part holds the tables as they are */
};

/* False: the arena has no room. */
bool pprof_tables_open(struct pprof_tables *tables, const struct pprof *pprof, struct arena *arena);

static inline bool pprof_tables_used(const struct pprof_tables *tables, uint32_t mark)
{
    return mark == MARK_ALWAYS || (mark >= tables->first && mark <= tables->last);
}

/* Lets every part hold all mappings, locations and functions, and strings under their own indices
 * (those that it does not use are empty), so that samples stay as they are; before the first is
 * marked. False: a part would then repeat more than `most` bytes; nothing has changed. */
bool pprof_tables_keep(struct pprof_tables *tables, size_t most);

/* Marks all that a sample uses with the next sample number, and answers how many bytes the part
 * grows by, at most, if it takes the sample. Entries that the part's samples up to `last` asked for
 * already cost nothing. */
size_t pprof_tables_mark(struct pprof_tables *tables, const struct proto_field *sample);

/* Numbers the part's strings, in the order of the table, unless they are kept. */
void pprof_tables_rank(struct pprof_tables *tables);

#endif
