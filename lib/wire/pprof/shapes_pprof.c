/* pprof: profile.proto of github.com/google/pprof, package perftools.profiles. */
#include "lib/wire/proto/proto_rows.h"

static const struct proto_row value_type_rows[] = {
    [1] = {ROW_INT64("type")},
    [2] = {ROW_INT64("unit")},
};
static const struct proto_shape value_type = SHAPE_OF("ValueType", value_type_rows);

static const struct proto_row label_rows[] = {
    [1] = {ROW_INT64("key")},
    [2] = {ROW_INT64("str")},
    [3] = {ROW_INT64("num")},
    [4] = {ROW_INT64("num_unit")},
};
static const struct proto_shape label = SHAPE_OF("Label", label_rows);

static const struct proto_row sample_rows[] = {
    [1] = {ROW_UINT64S("location_id")},
    [2] = {ROW_INT64S("value")},
    [3] = {ROW_MESSAGES("label", label)},
};
static const struct proto_shape sample = SHAPE_OF("Sample", sample_rows);

static const struct proto_row mapping_rows[] = {
    [1] = {ROW_UINT64("id")},
    [2] = {ROW_UINT64("memory_start")},
    [3] = {ROW_UINT64("memory_limit")},
    [4] = {ROW_UINT64("file_offset")},
    [5] = {ROW_INT64("filename")},
    [6] = {ROW_INT64("build_id")},
    [7] = {ROW_BOOL("has_functions")},
    [8] = {ROW_BOOL("has_filenames")},
    [9] = {ROW_BOOL("has_line_numbers")},
    [10] = {ROW_BOOL("has_inline_frames")},
};
static const struct proto_shape mapping = SHAPE_OF("Mapping", mapping_rows);

static const struct proto_row line_rows[] = {
    [1] = {ROW_UINT64("function_id")},
    [2] = {ROW_INT64("line")},
    [3] = {ROW_INT64("column")},
};
static const struct proto_shape line = SHAPE_OF("Line", line_rows);

static const struct proto_row location_rows[] = {
    [1] = {ROW_UINT64("id")},      [2] = {ROW_UINT64("mapping_id")},
    [3] = {ROW_UINT64("address")}, [4] = {ROW_MESSAGES("line", line)},
    [5] = {ROW_BOOL("is_folded")},
};
static const struct proto_shape location = SHAPE_OF("Location", location_rows);

static const struct proto_row function_rows[] = {
    [1] = {ROW_UINT64("id")},         [2] = {ROW_INT64("name")},
    [3] = {ROW_INT64("system_name")}, [4] = {ROW_INT64("filename")},
    [5] = {ROW_INT64("start_line")},
};
static const struct proto_shape function = SHAPE_OF("Function", function_rows);

static const struct proto_row profile_rows[] = {
    [1] = {ROW_MESSAGES("sample_type", value_type)},
    [2] = {ROW_MESSAGES("sample", sample)},
    [3] = {ROW_MESSAGES("mapping", mapping)},
    [4] = {ROW_MESSAGES("location", location)},
    [5] = {ROW_MESSAGES("function", function)},
    [6] = {ROW_STRINGS("string_table")},
    [7] = {ROW_INT64("drop_frames")},
    [8] = {ROW_INT64("keep_frames")},
    [9] = {ROW_INT64("time_nanos")},
    [10] = {ROW_INT64("duration_nanos")},
    [11] = {ROW_MESSAGE("period_type", value_type)},
    [12] = {ROW_INT64("period")},
    [13] = {ROW_INT64S("comment")},
    [14] = {ROW_INT64("default_sample_type")},
    [15] = {ROW_INT64("doc_url")},
};
const struct proto_shape shape_pprof = SHAPE_OF("Profile", profile_rows);
