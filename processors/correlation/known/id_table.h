/*
 * A bounded table from 8-byte ids to a few numbers: entries expire, and when it is full the least
 * recently seen are evicted. Open addressing, 16 bytes an entry at a load of 0.7 to 0.875, split
 * into shards by hash, so that growing or sweeping one is never long.
 *
 * An entry is at its hash's slot or after it, and entries are ordered by hash: a search ends at the
 * first larger one, however full the table is, and growing is one pass from front to back. Not
 * thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_ID_TABLE_H
#define PROCESSORS_CORRELATION_KNOWN_ID_TABLE_H

#include "lib/base/budget.h"

#include <stdint.h>

enum { ID_SHARDS = 64 };

struct id_entry {
    uint64_t hash; /* of the id, one to one; 0: a free slot */
    uint32_t seen; /* second of the last put */
    uint32_t note; /* the user's */
};

/* Extra data of an entry in a wide table; the user's. */
struct id_more {
    uint64_t word, count;
};

struct id_shard {
    struct id_entry *entries;
    struct id_more *more; /* wide tables */
    uint32_t capacity;    /* slots that a hash can map to; a few more follow */
    uint32_t used;
    uint32_t lost; /* entries put before this second may have been evicted; 0: none */
};

struct id_table {
    struct id_shard shards[ID_SHARDS];
    bool wide;
    uint32_t shard_max;    /* slots */
    uint32_t remember;     /* seconds after which an entry that was not put again expires */
    uint64_t seed;         /* random, so that nobody can choose ids that collide */
    struct budget *budget; /* borrowed */
    uint64_t evicted;      /* entries evicted before they expired */
};

/* Makes an empty table of at most max_bytes (1 MiB or more); allocates nothing. wide: entries have
 * a struct id_more, 16 bytes each. */
void id_table_init(struct id_table *table, size_t max_bytes, bool wide, uint32_t remember,
                   uint64_t seed, struct budget *budget);
void id_table_release(struct id_table *table);

/* Changes the limit; a table that is larger shrinks, and evicts the least recently seen entries for
 * that. It may exceed the limit while there is no memory to make it smaller. */
void id_table_limit(struct id_table *table, size_t max_bytes, uint32_t second);

/* Finds an id. Seconds never decrease from call to call. NULL: absent or expired. The caller may
 * change the entry's note and more; its address is valid until the next put. */
struct id_entry *id_table_find(const struct id_table *table, uint64_t id, uint32_t second);

/* Returns the entry of an id, zeroed if it was absent or expired, and marks it as seen now. NULL:
 * the id is 0, or no memory, not even for the first entries. */
struct id_entry *id_table_put(struct id_table *table, uint64_t id, uint32_t second);

/* Returns an entry's extra data; NULL: the table is not wide. */
struct id_more *id_table_more(const struct id_table *table, const struct id_entry *entry);

/* Prefetches an id that will be looked up soon: with millions of ids every search waits for memory.
 * Changes nothing. */
void id_table_prefetch(const struct id_table *table, uint64_t id);

/* Returns the second before which entries in the shard of this id may have been evicted early; 0:
 * none were. */
uint32_t id_table_lost(const struct id_table *table, uint64_t id);

/* Number of entries, including expired ones. */
size_t id_table_count(const struct id_table *table);

#endif
