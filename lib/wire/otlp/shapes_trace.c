/* Traces: opentelemetry/proto/{trace,collector/trace}/v1. */
#include "lib/wire/otlp/otlp_plain.h"
#include "lib/wire/proto/proto_rows.h"

static const char *const span_kinds[] = {
    "SPAN_KIND_UNSPECIFIED",
    "SPAN_KIND_INTERNAL",
    "SPAN_KIND_SERVER",
    "SPAN_KIND_CLIENT",
    "SPAN_KIND_PRODUCER",
    "SPAN_KIND_CONSUMER",
    NULL,
};
static const char *const status_codes[] = {
    "STATUS_CODE_UNSET",
    "STATUS_CODE_OK",
    "STATUS_CODE_ERROR",
    NULL,
};

static const struct proto_row event_rows[] = {
    [1] = {ROW_FIXED64("time_unix_nano")},
    [2] = {ROW_STRING("name")},
    [3] = {ROW_MESSAGES("attributes", shape_key_value)},
    [4] = {ROW_UINT32("dropped_attributes_count")},
};
static const struct proto_shape event = SHAPE_OF("Span.Event", event_rows);

static const struct proto_row link_rows[] = {
    [1] = {ROW_HEX("trace_id")},
    [2] = {ROW_HEX("span_id")},
    [3] = {ROW_STRING("trace_state")},
    [4] = {ROW_MESSAGES("attributes", shape_key_value)},
    [5] = {ROW_UINT32("dropped_attributes_count")},
    [6] = {ROW_FIXED32("flags")},
};
static const struct proto_shape span_link = SHAPE_OF("Span.Link", link_rows);

static const struct proto_row status_rows[] = {
    [2] = {ROW_STRING("message")},
    [3] = {ROW_ENUM("code", status_codes)},
};
static const struct proto_shape status = SHAPE_OF("Status", status_rows);

static const struct proto_row span_rows[] = {
    [1] = {ROW_HEX("trace_id")},
    [2] = {ROW_HEX("span_id")},
    [3] = {ROW_STRING("trace_state")},
    [4] = {ROW_HEX("parent_span_id")},
    [5] = {ROW_STRING("name")},
    [6] = {ROW_ENUM("kind", span_kinds)},
    [7] = {ROW_FIXED64("start_time_unix_nano")},
    [8] = {ROW_FIXED64("end_time_unix_nano")},
    [9] = {ROW_MESSAGES("attributes", shape_key_value)},
    [10] = {ROW_UINT32("dropped_attributes_count")},
    [11] = {ROW_MESSAGES("events", event)},
    [12] = {ROW_UINT32("dropped_events_count")},
    [13] = {ROW_MESSAGES("links", span_link)},
    [14] = {ROW_UINT32("dropped_links_count")},
    [15] = {ROW_MESSAGE("status", status)},
    [16] = {ROW_FIXED32("flags")},
};
static const struct proto_shape span = {
    .name = "Span",
    .count = sizeof span_rows / sizeof span_rows[0],
    .rows = span_rows,
    .plain = otlp_span_check,
};

static const struct proto_row scope_spans_rows[] = {
    [1] = {ROW_MESSAGE("scope", shape_scope)},
    [2] = {ROW_MESSAGES("spans", span)},
    [3] = {ROW_STRING("schema_url")},
};
static const struct proto_shape scope_spans = SHAPE_OF("ScopeSpans", scope_spans_rows);

static const struct proto_row resource_spans_rows[] = {
    [1] = {ROW_MESSAGE("resource", shape_resource)},
    [2] = {ROW_MESSAGES("scope_spans", scope_spans)},
    [3] = {ROW_STRING("schema_url")},
};
static const struct proto_shape resource_spans = SHAPE_OF("ResourceSpans", resource_spans_rows);

static const struct proto_row request_rows[] = {
    [1] = {ROW_MESSAGES("resource_spans", resource_spans)},
};
const struct proto_shape shape_trace_request = SHAPE_OF("ExportTraceServiceRequest", request_rows);
