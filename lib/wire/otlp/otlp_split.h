/*
 * Splits a checked request into parts, one after another: the request is walked once, however many
 * there are, and only what is asked for is written.
 *
 * Each part is a complete request that repeats resource, scope, schema and unknown fields, and a
 * profiles request's dictionary. A Metric is divided between its data points; its parts repeat all
 * its other fields. Entries that were already empty are kept; entries emptied by the split are
 * dropped. Buffers are charged by force. Pure; one thread.
 */
#ifndef LIB_WIRE_OTLP_OTLP_SPLIT_H
#define LIB_WIRE_OTLP_OTLP_SPLIT_H

#include "lib/wire/otlp/otlp.h"

/* Where a message has the children that are split. */
struct otlp_shell {
    const uint8_t *first, *end; /* from the first to behind the last; the same: it has none */
    size_t beside;              /* bytes of all other fields */
    const struct view *others;  /* runs of these between first and end */
    size_t other_count;
};

/* One of the fields in which a Metric has its data; nearly always there is one. */
struct otlp_data {
    struct proto_field field;
    struct otlp_shell shell;
};

/* A place between two items, or two data points of an item. */
struct otlp_place {
    struct otlp_walk walk;       /* at the item that follows */
    bool begun;                  /* false: before all that the request has, the rest says nothing */
    struct otlp_shell shells[3]; /* of the request, the resource and the scope */
    const uint8_t *point;        /* inside a Metric: the data point that follows; NULL: none */
    struct {
        struct otlp_data one, *more; /* its data: only one, or if not NULL, all */
        size_t count, beside;        /* how many; bytes of the Metric without its points */
        size_t left;                 /* bytes of the points that follow */
        uint32_t left_items;
        struct proto_scan points; /* before the point that follows */
        size_t at;                /* the data which has it */
    } metric;
};

struct otlp_splitter {
    struct view request; /* borrowed */
    struct arena arena;
    struct otlp_place from, at; /* begin and end of the part that was given last */
    bool failed;                /* no memory: nothing is cut off any more */
};

void otlp_split_begin(struct otlp_splitter *splitter, enum signal signal, struct view request);
void otlp_split_end(struct otlp_splitter *splitter);

/* Cuts off what comes next: at most max_items items and max_bytes bytes (0: no limit; always at
 * least one item). NULL: what is left is within both limits or has one item, or no memory. */
struct buffer *otlp_split_next(struct otlp_splitter *splitter, uint32_t max_items, size_t max_bytes,
                               struct budget *budget);

/* Takes back the part that was cut off last. */
void otlp_split_undo(struct otlp_splitter *splitter);

/* What is left. NULL: no memory. */
struct buffer *otlp_split_rest(const struct otlp_splitter *splitter, struct budget *budget);

/* The first part and the rest. False: there is one part, or no memory. */
bool otlp_split(enum signal signal, struct view request, uint32_t max_items, size_t max_bytes,
                struct budget *budget, struct buffer **front, struct buffer **rest);

#endif
