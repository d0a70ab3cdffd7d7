/* Pyroscope's push.v1 PushRequest: read in place, written for export. Pure. */
#ifndef LIB_WIRE_PPROF_PUSH_H
#define LIB_WIRE_PPROF_PUSH_H

#include "lib/base/bytes.h"
#include "lib/wire/pprof/series.h"
#include "lib/wire/proto/proto_shape.h"

/* Walks the raw profiles of a checked PushRequest, series by series. */
struct push_walk {
    struct proto_scan request, series;
    struct proto_field entry; /* the RawProfileSeries at hand */
};

struct push_profile {
    struct view series;      /* body of its RawProfileSeries */
    struct view raw_profile; /* gzip or plain pprof */
};

void push_walk_begin(struct push_walk *walk, struct view request);
bool push_walk_next(struct push_walk *walk, struct push_profile *profile);

/* Labels of a RawProfileSeries body, copied. Servers take 30; past the first thousand the rest is
 * left out. NULL: no memory. */
struct series *push_series_labels(struct view series);
/* How many that body has, a name that comes twice counted twice. */
size_t push_series_count(struct view series);

/* Appends a PushRequest of one series with one profile. False: out is full. */
bool push_encode(const struct series *series, struct view raw_profile, struct bytes *out);

/* Appends the protobuf form of a PushRequest that comes as JSON (unknown members are passed over,
 * as connect does). False: *reason says what is wrong (static text), out's size is as before. */
bool push_from_json(struct view json, struct bytes *out, const char **reason);

#endif
