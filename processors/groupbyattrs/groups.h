/*
 * A request put together anew: records under Resources that are made of their own Resource and some
 * of their attributes. What goes together is looked up by sums (lib/base/siphash.h). Bytes of
 * records are borrowed from the request and the arena. One thread.
 */
#ifndef PROCESSORS_GROUPBYATTRS_GROUPS_H
#define PROCESSORS_GROUPBYATTRS_GROUPS_H

#include "lib/base/siphash.h"
#include "lib/wire/edit/request_edit.h"
#include "lib/wire/proto/proto_write.h"

/* A run of fields, as they are written. */
struct group_part {
    struct view bytes;
    struct group_part *next;
};

struct group_parts {
    struct group_part *first, *last;
    size_t size; /* bytes */
};

/* What a table has, first of all else. */
struct group_node {
    struct siphash_sum sum;
    struct group_node *same; /* in its slot */
};

struct group_table {
    struct group_node **slots;
    size_t room; /* a power of two; 0: nothing is in it */
    size_t count;
};

/* A scope as it is read. */
struct group_scope_head {
    struct siphash_sum sum; /* of name and version */
    struct view field;      /* its InstrumentationScope; empty: none */
};

/* A metric as it is read, with one of its fields of data. */
struct group_metric_head {
    struct siphash_sum sum;   /* of name and type */
    uint32_t type;            /* number of the data's field */
    struct view metric, data; /* as they came */
    struct view fields;       /* those beside the data; data NULL: not sought yet */
    struct view data_fields;  /* those beside the points, likewise */
};

/* Data points of metrics with one name and type. */
struct group_metric {
    struct group_node node;
    struct group_metric *next;
    uint32_t type;
    struct view fields, data_fields; /* the first one's */
    struct group_parts points;
};

/* Records of scopes with one name and version. */
struct group_scope {
    struct group_node node;
    struct group_scope *next;
    struct view field; /* the first one's */
    struct group_parts items;
    struct group_metric *metrics, **metrics_end;
    size_t size; /* when it is written; 0: not known yet */
};

/* A value that a record has in place of its Resource's. */
struct group_value {
    struct view key, any;
};

/* Attributes of a Resource that may be new. */
struct group_head {
    struct siphash_sum sum;
    struct view resource; /* body of the one that it is made of */
    size_t size;          /* when it is written */
    struct group_value *values;
    size_t value_count;
};

/* Records of one Resource. */
struct group {
    struct group_node node;
    struct group *next; /* in order */
    struct group_head head;
    struct group_scope *scopes, **scopes_end;
    size_t size; /* when it is written; 0: not known yet */
};

struct groups {
    struct arena *arena;
    struct group *first, **end;
    struct group_table groups, scopes, metrics;
    bool failed; /* no room */
};

void groups_begin(struct groups *groups, struct arena *arena);

/* The group of a Resource, made if it is new. NULL: no room. */
struct group *groups_find(struct groups *groups, const struct group_head *head);

/* Its scope that is like this one, made if it is new. NULL: no room. */
struct group_scope *groups_scope(struct groups *groups, struct group *group,
                                 const struct group_scope_head *head);

/* Its metric with the name and type of this one, made if it is new. NULL: no room. */
struct group_metric *groups_metric(struct groups *groups, struct group_scope *scope,
                                   struct group_metric_head *head);

void groups_add(struct groups *groups, struct group_parts *parts, struct view bytes);

/* Bytes of an attribute of a Resource, when it is written. */
size_t groups_attribute_size(struct view key, struct view any);

/* Bytes of all; then their writing. */
size_t groups_size(struct groups *groups);
void groups_write(struct groups *groups, struct proto_write *write);

#endif
