/*
 * A request put together anew: records under Resources that are made of their own Resource and some
 * of their attributes. Bytes of records are borrowed from the request and the arena. One thread.
 */
#ifndef PROCESSORS_GROUPBYATTRS_GROUPS_H
#define PROCESSORS_GROUPBYATTRS_GROUPS_H

#include "lib/wire/edit/request_edit.h"
#include "lib/wire/proto/proto_write.h"

/* One field, as it is written. */
struct group_part {
    struct view bytes;
    struct group_part *next;
};

struct group_parts {
    struct group_part *first, **end;
};

/* Data points of metrics with one name and type. */
struct group_metric {
    struct view name;
    uint32_t type;      /* number of the data's field */
    struct view metric; /* the first one, whose other fields it has */
    struct view data;   /* its data, likewise */
    struct group_parts points;
    struct group_metric *next;
};

/* Records of scopes with one name and version. */
struct group_scope {
    struct view name, version;
    struct view field; /* the first one's InstrumentationScope; empty: none */
    struct group_parts items;
    struct group_metric *metrics, **metrics_end;
    struct group_scope *next;
};

/* Records of one Resource. */
struct group {
    struct attributes attributes;
    uint64_t hash;
    struct group_scope *scopes, **scopes_end;
    struct group *next; /* in order */
    struct group *same; /* in its bucket */
};

struct groups {
    struct arena *arena;
    struct group *first, **end;
    size_t count;
    struct group **buckets;
    size_t bucket_count; /* a power of two */
    bool failed;         /* no room */
};

/* items: how many records there are, about. */
void groups_begin(struct groups *groups, size_t items, struct arena *arena);

/* The group of a Resource with these attributes, made if it is new. NULL: no room. */
struct group *groups_find(struct groups *groups, const struct attributes *attributes);

/* Its scope that is like the one in a scope's entry, made if it is new. NULL: no room. */
struct group_scope *groups_scope(struct groups *groups, struct group *group, struct view entry);

/* Its metric with the name and type of this one, made if it is new. NULL: no room. */
struct group_metric *groups_metric(struct groups *groups, struct group_scope *scope,
                                   struct view metric, const struct proto_field *data);

void groups_add(struct groups *groups, struct group_parts *parts, struct view bytes);

void groups_write(const struct groups *groups, struct proto_write *write);

#endif
