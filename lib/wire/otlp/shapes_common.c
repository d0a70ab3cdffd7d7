/* Attributes, resources and scopes: opentelemetry/proto/{common,resource}/v1. */
#include "lib/wire/proto/proto_rows.h"

static const struct proto_shape array_value, key_value_list, entity_ref;

static const struct proto_row any_value_rows[] = {
    [1] = {ROW_STRING("string_value"), ONEOF},
    [2] = {ROW_BOOL("bool_value"), ONEOF},
    [3] = {ROW_INT64("int_value"), ONEOF},
    [4] = {ROW_DOUBLE("double_value"), ONEOF},
    [5] = {ROW_MESSAGE("array_value", array_value), ONEOF},
    [6] = {ROW_MESSAGE("kvlist_value", key_value_list), ONEOF},
    [7] = {ROW_BASE64("bytes_value"), ONEOF},
    [8] = {ROW_INT32("string_value_strindex"), ONEOF},
};
const struct proto_shape shape_any_value = SHAPE_OF("AnyValue", any_value_rows);

static const struct proto_row array_value_rows[] = {
    [1] = {ROW_MESSAGES("values", shape_any_value)},
};
static const struct proto_shape array_value = SHAPE_OF("ArrayValue", array_value_rows);

static const struct proto_row key_value_list_rows[] = {
    [1] = {ROW_MESSAGES("values", shape_key_value)},
};
static const struct proto_shape key_value_list = SHAPE_OF("KeyValueList", key_value_list_rows);

static const struct proto_row key_value_rows[] = {
    [1] = {ROW_STRING("key")},
    [2] = {ROW_MESSAGE("value", shape_any_value)},
    [3] = {ROW_INT32("key_strindex")},
};
const struct proto_shape shape_key_value = SHAPE_OF("KeyValue", key_value_rows);

static const struct proto_row scope_rows[] = {
    [1] = {ROW_STRING("name")},
    [2] = {ROW_STRING("version")},
    [3] = {ROW_MESSAGES("attributes", shape_key_value)},
    [4] = {ROW_UINT32("dropped_attributes_count")},
};
const struct proto_shape shape_scope = {
    .name = "InstrumentationScope",
    .count = sizeof scope_rows / sizeof scope_rows[0],
    .rows = scope_rows,
    .leads = true,
};

static const struct proto_row entity_ref_rows[] = {
    [1] = {ROW_STRING("schema_url")},
    [2] = {ROW_STRING("type")},
    [3] = {ROW_STRINGS("id_keys")},
    [4] = {ROW_STRINGS("description_keys")},
};
static const struct proto_shape entity_ref = SHAPE_OF("EntityRef", entity_ref_rows);

static const struct proto_row resource_rows[] = {
    [1] = {ROW_MESSAGES("attributes", shape_key_value)},
    [2] = {ROW_UINT32("dropped_attributes_count")},
    [3] = {ROW_MESSAGES("entity_refs", entity_ref)},
};
const struct proto_shape shape_resource = {
    .name = "Resource",
    .count = sizeof resource_rows / sizeof resource_rows[0],
    .rows = resource_rows,
    .leads = true,
};
