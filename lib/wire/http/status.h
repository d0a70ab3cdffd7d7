/*
 * Mapping between outcomes and statuses: from an outcome to the HTTP status and gRPC code for a
 * client, and from a backend's response to an outcome. Sources: OTLP specification 1.11 (retryable
 * codes), gRPC status codes.
 */
#ifndef LIB_WIRE_HTTP_STATUS_H
#define LIB_WIRE_HTTP_STATUS_H

#include "lib/base/bytes.h"
#include "lib/base/verdict.h"

enum grpc_code {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_ABORTED = 10,
    GRPC_OUT_OF_RANGE = 11,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_DATA_LOSS = 15,
    GRPC_UNAUTHENTICATED = 16
};

/* The status sent to a client. */
unsigned status_http(const struct outcome *outcome);
enum grpc_code status_grpc(const struct outcome *outcome);

/* The outcome of an OTLP/HTTP status: 2xx OK; 429, 502, 503, 504 RETRY; 413 too large; else
 * REJECT. */
struct outcome status_from_http(long http);

/* The outcome of a gRPC code. RESOURCE_EXHAUSTED is retryable only if has_retry_info; without it,
 * and with a message that mentions a maximum, it is CAUSE_TOO_LARGE. */
struct outcome status_from_grpc(int code, bool has_retry_info, const char *message);

/* gRPC's names ("NOT_FOUND") and Connect's lower-case names ("invalid_argument"). */
const char *grpc_code_name(enum grpc_code code);
const char *connect_code_name(enum grpc_code code);

/* Append a google.rpc.Status with an optional RetryInfo (retry_after_ns > 0), as protobuf or JSON.
 * False: no room. */
bool rpc_status_encode(enum grpc_code code, const char *message, uint64_t retry_after_ns,
                       struct bytes *out);
bool rpc_status_encode_json(enum grpc_code code, const char *message, uint64_t retry_after_ns,
                            struct bytes *out);

/* Appends Connect's error body: {"code":"invalid_argument","message":"..."}. False: no room. */
bool connect_error_encode(enum grpc_code code, const char *message, struct bytes *out);

/* Reads a protobuf google.rpc.Status: code, message (truncated to size, NUL-terminated) and
 * RetryInfo's delay (*has_retry_info false: none, delay 0). False: malformed. */
bool rpc_status_decode(struct view in, int *code, char *message, size_t message_size,
                       bool *has_retry_info, uint64_t *retry_after_ns);

/* Appends an Export*ServiceResponse of any signal: full success (rejected 0, message NULL: an empty
 * message; JSON {"partialSuccess":{}}) or partial success. In JSON the field has the signal's own
 * name. False: no room. */
bool export_response_encode(int signal, bool json, uint32_t rejected, const char *message,
                            struct bytes *out);
/* Reads a protobuf Export*ServiceResponse: rejected items and the message, truncated to size.
 * False: malformed. */
bool export_response_decode(struct view in, uint64_t *rejected, char *message, size_t message_size);

#endif
