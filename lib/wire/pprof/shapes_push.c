/* Pyroscope's push.v1.PushRequest. */
#include "lib/wire/proto/proto_rows.h"

static const struct proto_row label_pair_rows[] = {
    [1] = {ROW_STRING("name")},
    [2] = {ROW_STRING("value")},
};
static const struct proto_shape label_pair = SHAPE_OF("LabelPair", label_pair_rows);

static const struct proto_row raw_sample_rows[] = {
    [1] = {ROW_BASE64("raw_profile")},
    [2] = {ROW_STRING("ID")},
};
static const struct proto_shape raw_sample = SHAPE_OF("RawSample", raw_sample_rows);

static const struct proto_row annotation_rows[] = {
    [1] = {ROW_STRING("key")},
    [2] = {ROW_STRING("value")},
};
static const struct proto_shape annotation = SHAPE_OF("ProfileAnnotation", annotation_rows);

static const struct proto_row series_rows[] = {
    [1] = {ROW_MESSAGES("labels", label_pair)},
    [2] = {ROW_MESSAGES("samples", raw_sample)},
    [3] = {ROW_MESSAGES("annotations", annotation)},
};
static const struct proto_shape series = SHAPE_OF("RawProfileSeries", series_rows);

static const struct proto_row request_rows[] = {
    [1] = {ROW_MESSAGES("series", series)},
};
const struct proto_shape shape_push_request = SHAPE_OF("PushRequest", request_rows);
