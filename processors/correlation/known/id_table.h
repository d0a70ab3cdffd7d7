/*
 * A table from 8-byte ids to a few figures, with a ceiling: entries expire, and where there is no
 * room the oldest last-seen give way. Open addressing, 16 bytes an entry at a load of 0.7 to 0.875,
 * cut into shards by hash, so that growing or sweeping one never takes long.
 *
 * An entry stands at its hash's place or behind it, and entries stand in the order of their hashes:
 * a search ends at the first larger one, however full the table is, and growing is one pass from
 * front to back. Not thread-safe.
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

/* What a wide table has beside each entry; the user's. */
struct id_more {
    uint64_t word, count;
};

struct id_shard {
    struct id_entry *entries;
    struct id_more *more; /* wide tables */
    uint32_t capacity;    /* slots where a hash can belong; some more are behind them */
    uint32_t used;
    uint32_t lost; /* entries put before this second may have given way; 0: none */
};

struct id_table {
    struct id_shard shards[ID_SHARDS];
    bool wide;
    uint32_t shard_max;    /* slots */
    uint32_t remember;     /* seconds after which an entry that was not put again is gone */
    uint64_t seed;         /* so that nobody can choose ids that collide */
    struct budget *budget; /* borrowed */
    uint64_t evicted;      /* entries that gave way before their time */
};

/* An empty table of at most max_bytes (1 MiB or more); allocates nothing. wide: entries have a
 * struct id_more, for 16 bytes each. */
void id_table_init(struct id_table *table, size_t max_bytes, bool wide, uint32_t remember,
                   uint64_t seed, struct budget *budget);
void id_table_release(struct id_table *table);

/* Seconds only grow from call to call. NULL: absent or expired. The entry's note and more may be
 * changed; it stays where it is until the next put. */
struct id_entry *id_table_find(const struct id_table *table, uint64_t id, uint32_t second);

/* The entry of an id, made with zeros where it is absent or expired, seen now. NULL: the id is 0,
 * or there is no memory, not even for the first entries. */
struct id_entry *id_table_put(struct id_table *table, uint64_t id, uint32_t second);

/* What stands beside an entry; NULL: the table is not wide. */
struct id_more *id_table_more(const struct id_table *table, const struct id_entry *entry);

/* Says that the id will be asked for soon, so that memory is on its way by then: with millions of
 * ids every search waits for it. Changes nothing. */
void id_table_expect(const struct id_table *table, uint64_t id);

/* The second before which entries like that of an id may have been put and given way before their
 * time; 0: none did. */
uint32_t id_table_lost(const struct id_table *table, uint64_t id);

/* Entries, expired ones included. */
size_t id_table_count(const struct id_table *table);

#endif
