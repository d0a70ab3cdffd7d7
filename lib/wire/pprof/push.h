/* Pyroscope's push.v1 PushRequest: reading in place, and writing. Pure. */
#ifndef LIB_WIRE_PPROF_PUSH_H
#define LIB_WIRE_PPROF_PUSH_H

#include "lib/base/bytes.h"
#include "lib/wire/pprof/series.h"
#include "lib/wire/proto/proto_shape.h"

/* Iterates over the raw profiles of a checked PushRequest, series by series. */
struct push_walk {
    struct proto_scan request, series;
    struct proto_field entry; /* the current RawProfileSeries */
};

struct push_profile {
    struct view series;      /* body of its RawProfileSeries */
    struct view raw_profile; /* pprof, gzip or uncompressed */
};

void push_walk_begin(struct push_walk *walk, struct view request);
bool push_walk_next(struct push_walk *walk, struct push_profile *profile);

/* Copies the labels of a RawProfileSeries body; any beyond the first thousand are dropped (servers
 * accept 30). NULL: no memory. */
struct series *push_series_labels(struct view series);
/* Number of labels in that body, counting duplicates. */
size_t push_series_count(struct view series);

/* Appends a PushRequest of one series with one profile. False: out is full. */
bool push_encode(const struct series *series, struct view raw_profile, struct bytes *out);

/* Converts a JSON PushRequest to protobuf, appended to out (unknown members are ignored, as in
 * Connect). False: *reason says what is wrong (static text); out's size is unchanged. */
bool push_from_json(struct view json, struct bytes *out, const char **reason);

#endif
