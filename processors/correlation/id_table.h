/*
 * A table from 8-byte ids to a few figures, with a ceiling: entries expire, and where there is no
 * room the oldest last-seen give way. 24 bytes an entry in open addressing, cut into shards by
 * hash, so that growing or sweeping one never takes long. Not thread-safe.
 */
#ifndef CORRELATION_ID_TABLE_H
#define CORRELATION_ID_TABLE_H

#include "base/budget.h"

#include <stdint.h>

enum { ID_SHARDS = 64 };

struct id_entry {
    uint64_t id;    /* 0: a free slot */
    uint64_t word;  /* the user's */
    uint32_t count; /* the user's */
    uint32_t seen;  /* second of the last put */
};

struct id_shard {
    struct id_entry *entries;
    uint32_t capacity;
    uint32_t used;
};

struct id_table {
    struct id_shard shards[ID_SHARDS];
    uint32_t shard_max;    /* slots */
    uint32_t remember;     /* seconds after which an entry that was not put again is gone */
    uint64_t seed;         /* so that nobody can choose ids that collide */
    struct budget *budget; /* borrowed */
    uint64_t evicted;      /* entries that gave way before their time */
};

/* An empty table of at most max_bytes (1 MiB or more); allocates nothing. */
void id_table_init(struct id_table *table, size_t max_bytes, uint32_t remember, uint64_t seed,
                   struct budget *budget);
void id_table_release(struct id_table *table);

/* Seconds only grow from call to call. NULL: absent or expired. The entry may be changed (not its
 * id) and stays where it is until the next put. */
struct id_entry *id_table_find(const struct id_table *table, uint64_t id, uint32_t second);

/* The entry of an id, made with zeros where it is absent or expired, seen now. NULL: the id is 0,
 * or there is no memory, not even for the first entries. */
struct id_entry *id_table_put(struct id_table *table, uint64_t id, uint32_t second);

/* Entries, expired ones included. */
size_t id_table_count(const struct id_table *table);

#endif
