/* Profiles: opentelemetry/proto/{profiles,collector/profiles}/v1development, layout of 1.10 and
 * 1.11. */
#include "lib/wire/proto/proto_rows.h"

static const struct proto_row value_type_rows[] = {
    [1] = {ROW_INT32("type_strindex")},
    [2] = {ROW_INT32("unit_strindex")},
};
static const struct proto_shape value_type = SHAPE_OF("ValueType", value_type_rows);

static const struct proto_row sample_rows[] = {
    [1] = {ROW_INT32("stack_index")},
    [2] = {ROW_INT32S("attribute_indices")},
    [3] = {ROW_INT32("link_index")},
    [4] = {ROW_INT64S("values")},
    [5] = {ROW_FIXED64S("timestamps_unix_nano")},
};
static const struct proto_shape sample = SHAPE_OF("Sample", sample_rows);

static const struct proto_row profile_rows[] = {
    [1] = {ROW_MESSAGE("sample_type", value_type)},
    [2] = {ROW_MESSAGES("samples", sample)},
    [3] = {ROW_FIXED64("time_unix_nano")},
    [4] = {ROW_UINT64("duration_nano")},
    [5] = {ROW_MESSAGE("period_type", value_type)},
    [6] = {ROW_INT64("period")},
    [7] = {ROW_ID("profile_id", 16)},
    [8] = {ROW_UINT32("dropped_attributes_count")},
    [9] = {ROW_STRING("original_payload_format")},
    [10] = {ROW_BASE64("original_payload")},
    [11] = {ROW_INT32S("attribute_indices")},
};
static const struct proto_shape profile = SHAPE_OF("Profile", profile_rows);

static const struct proto_row mapping_rows[] = {
    [1] = {ROW_UINT64("memory_start")},      [2] = {ROW_UINT64("memory_limit")},
    [3] = {ROW_UINT64("file_offset")},       [4] = {ROW_INT32("filename_strindex")},
    [5] = {ROW_INT32S("attribute_indices")},
};
static const struct proto_shape mapping = SHAPE_OF("Mapping", mapping_rows);

static const struct proto_row line_rows[] = {
    [1] = {ROW_INT32("function_index")},
    [2] = {ROW_INT64("line")},
    [3] = {ROW_INT64("column")},
};
static const struct proto_shape line = SHAPE_OF("Line", line_rows);

static const struct proto_row location_rows[] = {
    [1] = {ROW_INT32("mapping_index")},
    [2] = {ROW_UINT64("address")},
    [3] = {ROW_MESSAGES("lines", line)},
    [4] = {ROW_INT32S("attribute_indices")},
};
static const struct proto_shape location = SHAPE_OF("Location", location_rows);

static const struct proto_row function_rows[] = {
    [1] = {ROW_INT32("name_strindex")},
    [2] = {ROW_INT32("system_name_strindex")},
    [3] = {ROW_INT32("filename_strindex")},
    [4] = {ROW_INT64("start_line")},
};
static const struct proto_shape function = SHAPE_OF("Function", function_rows);

static const struct proto_row link_rows[] = {
    [1] = {ROW_ID("trace_id", 16)},
    [2] = {ROW_ID("span_id", 8)},
};
static const struct proto_shape profile_link = SHAPE_OF("Link", link_rows);

static const struct proto_row attribute_rows[] = {
    [1] = {ROW_INT32("key_strindex")},
    [2] = {ROW_MESSAGE("value", shape_any_value)},
    [3] = {ROW_INT32("unit_strindex")},
};
static const struct proto_shape attribute = SHAPE_OF("KeyValueAndUnit", attribute_rows);

static const struct proto_row stack_rows[] = {
    [1] = {ROW_INT32S("location_indices")},
};
static const struct proto_shape stack = SHAPE_OF("Stack", stack_rows);

static const struct proto_row dictionary_rows[] = {
    [1] = {ROW_MESSAGES("mapping_table", mapping)},
    [2] = {ROW_MESSAGES("location_table", location)},
    [3] = {ROW_MESSAGES("function_table", function)},
    [4] = {ROW_MESSAGES("link_table", profile_link)},
    [5] = {ROW_STRINGS("string_table")},
    [6] = {ROW_MESSAGES("attribute_table", attribute)},
    [7] = {ROW_MESSAGES("stack_table", stack)},
};
static const struct proto_shape dictionary = SHAPE_OF("ProfilesDictionary", dictionary_rows);

static const struct proto_row scope_profiles_rows[] = {
    [1] = {ROW_MESSAGE("scope", shape_scope)},
    [2] = {ROW_MESSAGES("profiles", profile)},
    [3] = {ROW_STRING("schema_url")},
};
static const struct proto_shape scope_profiles = SHAPE_OF("ScopeProfiles", scope_profiles_rows);

static const struct proto_row resource_profiles_rows[] = {
    [1] = {ROW_MESSAGE("resource", shape_resource)},
    [2] = {ROW_MESSAGES("scope_profiles", scope_profiles)},
    [3] = {ROW_STRING("schema_url")},
};
static const struct proto_shape resource_profiles =
    SHAPE_OF("ResourceProfiles", resource_profiles_rows);

static const struct proto_row request_rows[] = {
    [1] = {ROW_MESSAGES("resource_profiles", resource_profiles)},
    [2] = {ROW_MESSAGE("dictionary", dictionary)},
};
const struct proto_shape shape_profiles_request =
    SHAPE_OF("ExportProfilesServiceRequest", request_rows);
