/*
 * One pass over a request that edits or drops records at any of its levels: a step is called for
 * each record of the levels that are asked for, from the outside in, and sets fields and
 * attributes of that record and of those around it. What it sets becomes splices. Pure; bytes come
 * from the splice's arena. One thread.
 */
#ifndef LIB_WIRE_EDIT_REQUEST_EDIT_H
#define LIB_WIRE_EDIT_REQUEST_EDIT_H

#include "lib/base/request_context.h"
#include "lib/wire/edit/record.h"

enum edit_level {
    EDIT_RESOURCE,
    EDIT_SCOPE,
    EDIT_ITEM,  /* span, metric, log record, profile */
    EDIT_POINT, /* span event, data point */
    EDIT_LEVELS
};
#define EDIT_BIT(level) (1u << (level))

enum edit_verdict {
    EDIT_KEEP,
    EDIT_SKIP, /* keep it, and call for nothing in it */
    EDIT_DROP, /* the record goes, with all in it; what is empty then goes too */
    EDIT_ABORT /* the request is left as it was */
};

enum edit_point {
    EDIT_NO_POINT,
    EDIT_EVENT,
    EDIT_NUMBER,
    EDIT_HISTOGRAM,
    EDIT_EXPONENTIAL,
    EDIT_SUMMARY
};

struct request_edit {
    enum signal signal;
    unsigned levels; /* EDIT_BITs to call for */
    enum edit_verdict (*step)(void *ctx, struct request_edit *at, enum edit_level level);
    void *ctx;
    bool
        late_heads; /* a step also changes Resources or Scopes around the record it is called for */
    bool prunes;    /* entries that were empty before go too */
    const struct key_sieve *sieves; /* of each level: record_sought has what passes; NULL: all */
    struct view notes; /* struct otlp_span_note of the request's spans, in order; empty: none */
    struct view schema_url; /* set for every resource's entry that has none; empty: left alone */
    const struct request_context *client; /* of the request's sender; NULL: not known */

    /* Where it is. */
    struct record records[EDIT_LEVELS];      /* those down to the level that is called */
    struct view entry, scope_entry;          /* ResourceSpans, ScopeSpans and their siblings */
    struct view set_schemas[EDIT_SCOPE + 1]; /* schema URLs of those; data NULL: not set */
    enum edit_point point_kind;
    uint32_t data_number; /* of a data point: the field of the Metric that holds it */
    size_t point_index;   /* among those of its item, from 0 */
    struct record *data;  /* of a data point: what holds the points, with those before it as set */
    unsigned generation;  /* of an item: 0: the request has it; else one more than what added it */

    /* What was dropped: items, as a batch counts them, and how many of them because a step that
     * set `loses` failed; and those of each level. */
    bool loses; /* by a step that returns DROP; false again at the next call */
    uint32_t items_dropped, items_lost;
    uint32_t dropped[EDIT_LEVELS];
    uint32_t items_added;

    bool notes_spoilt; /* struct otlp_span_note of a changed span may no longer hold */

    /* Inside. */
    struct key_cells cells[EDIT_LEVELS];                /* of the sieves */
    const struct key_cells *sifts[EDIT_LEVELS];         /* the same; NULL: every key passes */
    const struct otlp_span_note *next_note, *last_note; /* of those that are left */
    struct splice *splice;
    struct otlp_dictionary dictionary;
    struct edit_piece *pieces;
    size_t count, room;
    struct edit_addition *additions; /* to the scope that is edited */
    size_t addition_count, addition_room;
};

/* Runs over a checked request whose bytes the splice edits; signal, levels, step and ctx are set,
 * the rest is zero. False: a step aborted, or there is no room (then the splice has failed). A
 * request in which a Resource or Scope stands behind what it is for is not in order: see
 * request_in_order. */
bool request_edit(struct request_edit *edit, struct view request, struct splice *splice);

/* Adds an item behind the others of its scope, for which the step is then called as well. From the
 * step, at an item or in it. field: the item with its tag and length, borrowed until the edit is
 * over. False: no room; nothing changed. */
bool request_edit_add_item(struct request_edit *edit, struct view field);

enum { ENTRY_SCHEMA_URL = 3 }; /* number of the field in either entry */

/* Sets the schema URL of the entry around it, of a resource (level RESOURCE) or scope (SCOPE). url:
 * borrowed until the edit is over. */
void request_edit_set_schema(struct request_edit *edit, enum edit_level level, struct view url);

/* The schema URL of that entry as it is now; empty: none. */
struct view request_edit_schema(const struct request_edit *edit, enum edit_level level);

/* Whether each entry has at most one Resource or Scope, in front, as everyone writes it. */
bool request_in_order(struct view request);

/* The same request in that order. Data NULL: no room. */
struct view request_put_in_order(struct view request, struct arena *arena);

/* The kind of the data points in a field of a Metric; NO_POINT: it holds none. */
enum edit_point edit_point_of(uint32_t number);

/* The number of the attributes' list of a level of the signal. */
uint32_t edit_list(enum signal signal, enum edit_level level, enum edit_point kind);

#endif
