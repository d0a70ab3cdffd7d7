/* Logs: opentelemetry/proto/{logs,collector/logs}/v1. */
#include "lib/wire/proto/proto_rows.h"

static const char *const severities[] = {
    "SEVERITY_NUMBER_UNSPECIFIED", "SEVERITY_NUMBER_TRACE",
    "SEVERITY_NUMBER_TRACE2",      "SEVERITY_NUMBER_TRACE3",
    "SEVERITY_NUMBER_TRACE4",      "SEVERITY_NUMBER_DEBUG",
    "SEVERITY_NUMBER_DEBUG2",      "SEVERITY_NUMBER_DEBUG3",
    "SEVERITY_NUMBER_DEBUG4",      "SEVERITY_NUMBER_INFO",
    "SEVERITY_NUMBER_INFO2",       "SEVERITY_NUMBER_INFO3",
    "SEVERITY_NUMBER_INFO4",       "SEVERITY_NUMBER_WARN",
    "SEVERITY_NUMBER_WARN2",       "SEVERITY_NUMBER_WARN3",
    "SEVERITY_NUMBER_WARN4",       "SEVERITY_NUMBER_ERROR",
    "SEVERITY_NUMBER_ERROR2",      "SEVERITY_NUMBER_ERROR3",
    "SEVERITY_NUMBER_ERROR4",      "SEVERITY_NUMBER_FATAL",
    "SEVERITY_NUMBER_FATAL2",      "SEVERITY_NUMBER_FATAL3",
    "SEVERITY_NUMBER_FATAL4",      NULL,
};

static const struct proto_row log_record_rows[] = {
    [1] = {ROW_FIXED64("time_unix_nano")},
    [2] = {ROW_ENUM("severity_number", severities)},
    [3] = {ROW_STRING("severity_text")},
    [5] = {ROW_MESSAGE("body", shape_any_value)},
    [6] = {ROW_MESSAGES("attributes", shape_key_value)},
    [7] = {ROW_UINT32("dropped_attributes_count")},
    [8] = {ROW_FIXED32("flags")},
    [9] = {ROW_ID("trace_id", 16)},
    [10] = {ROW_ID("span_id", 8)},
    [11] = {ROW_FIXED64("observed_time_unix_nano")},
    [12] = {ROW_STRING("event_name")},
};
static const struct proto_shape log_record = SHAPE_OF("LogRecord", log_record_rows);

static const struct proto_row scope_logs_rows[] = {
    [1] = {ROW_MESSAGE("scope", shape_scope)},
    [2] = {ROW_MESSAGES("log_records", log_record)},
    [3] = {ROW_STRING("schema_url")},
};
static const struct proto_shape scope_logs = SHAPE_OF("ScopeLogs", scope_logs_rows);

static const struct proto_row resource_logs_rows[] = {
    [1] = {ROW_MESSAGE("resource", shape_resource)},
    [2] = {ROW_MESSAGES("scope_logs", scope_logs)},
    [3] = {ROW_STRING("schema_url")},
};
static const struct proto_shape resource_logs = SHAPE_OF("ResourceLogs", resource_logs_rows);

static const struct proto_row request_rows[] = {
    [1] = {ROW_MESSAGES("resource_logs", resource_logs)},
};
const struct proto_shape shape_logs_request = SHAPE_OF("ExportLogsServiceRequest", request_rows);
