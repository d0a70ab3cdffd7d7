/* What a path may name. For lib/ottl alone. */
#ifndef LIB_OTTL_PATH_H
#define LIB_OTTL_PATH_H

#include "lib/ottl/node.h"

enum ottl_access {
    ACCESS_ATTRIBUTES,
    ACCESS_CACHE,
    ACCESS_STRING,
    ACCESS_VARINT,
    ACCESS_FIXED32,
    ACCESS_NANOS, /* fixed64 as a number */
    ACCESS_TIME,  /* the same as a time */
    ACCESS_TRACE_ID,
    ACCESS_TRACE_ID_TEXT,
    ACCESS_SPAN_ID,
    ACCESS_SPAN_ID_TEXT,
    ACCESS_TRACE_STATE,
    ACCESS_KIND_TEXT,
    ACCESS_KIND_OLD, /* SPAN_KIND_SERVER */
    ACCESS_STATUS,   /* number: in the Status */
    ACCESS_STATUS_TEXT,
    ACCESS_BODY,
    ACCESS_BODY_TEXT,
    ACCESS_SCHEMA_URL,
    ACCESS_LIST, /* messages that can only be counted */
    ACCESS_INDEX,
    ACCESS_METRIC_TYPE,
    ACCESS_TEMPORALITY,
    ACCESS_MONOTONIC,
    ACCESS_NUMBER,     /* of a data point: number by kind of point */
    ACCESS_BYTES_TEXT, /* an id of a profile in hex */
    ACCESS_CLIENT_ADDRESS,
    ACCESS_CLIENT_METADATA
};

enum { PROFILE_DURATION = 4 }; /* the number of its field */

enum ottl_point_field {
    POINT_START,
    POINT_TIME,
    POINT_FLAGS,
    POINT_COUNT,
    POINT_SUM,
    POINT_MIN,
    POINT_MAX,
    POINT_DOUBLE,
    POINT_INT,
    POINT_BUCKETS,
    POINT_BOUNDS,
    POINT_SCALE,
    POINT_ZEROS,
    POINT_ZERO_THRESHOLD,
    POINT_QUANTILES,
    POINT_EXEMPLARS
};

/* Of a data point's fields; AS_UINT32 and AS_INT32 of varints elsewhere, as wide as the protocol
 * has them. */
enum ottl_point_type {
    AS_NANOS,
    AS_VARINT,
    AS_DOUBLE,
    AS_SFIXED,
    AS_LIST,
    AS_SINT,
    AS_NOTHING,
    AS_UINT32,
    AS_INT32
};

struct ottl_field {
    const char *name;
    enum ottl_access access;
    uint32_t number; /* of the message; of a data point an ottl_point_field */
    enum ottl_point_type type;
    bool fixed; /* it cannot be set */
};

extern const struct ottl_field *const ottl_fields[OTTL_CONTEXTS];

/* Those of otelcol, which are there in every context. */
extern const struct ottl_field ottl_client_fields[];

/* The address, or the headers, of the client that sent the request; NIL: not known. */
struct ottl_value ottl_client_get(const struct ottl_node *path, struct ottl_run *run);

/* The number and wire form of a data point's field; 0: its kind has none. */
uint32_t ottl_point_number(enum edit_point kind, const struct ottl_field *field);

static inline struct record *ottl_path_record(const struct ottl_node *path,
                                              const struct ottl_run *run)
{
    return &run->at->records[ottl_level(path->context)];
}

/* Sub-messages of what a metric is: gauge, sum, ... False: it has no data. */
bool ottl_metric_data(const struct record *metric, struct proto_field *data);

#endif
