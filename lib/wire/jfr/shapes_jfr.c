/* Pyroscope's LabelsSnapshot, the labels of JFR uploads. */
#include "lib/wire/jfr/jfr_labels.h"
#include "lib/wire/proto/proto_rows.h"

static const struct proto_row label_rows[] = {
    [1] = {ROW_INT64("key")},
    [2] = {ROW_INT64("value")},
};
static const struct proto_shape label = SHAPE_OF("LabelsEntry", label_rows);

static const struct proto_row context_rows[] = {
    [1] = {ROW_MESSAGES("labels", label)},
};
static const struct proto_shape context = SHAPE_OF("Context", context_rows);

static const struct proto_row context_entry_rows[] = {
    [1] = {ROW_INT64("key")},
    [2] = {ROW_MESSAGE("value", context)},
};
static const struct proto_shape context_entry = SHAPE_OF("ContextsEntry", context_entry_rows);

static const struct proto_row string_entry_rows[] = {
    [1] = {ROW_INT64("key")},
    [2] = {ROW_STRING("value")},
};
static const struct proto_shape string_entry = SHAPE_OF("StringsEntry", string_entry_rows);

static const struct proto_row snapshot_rows[] = {
    [1] = {ROW_MESSAGES("contexts", context_entry)},
    [2] = {ROW_MESSAGES("strings", string_entry)},
};
const struct proto_shape shape_jfr_labels = SHAPE_OF("LabelsSnapshot", snapshot_rows);
