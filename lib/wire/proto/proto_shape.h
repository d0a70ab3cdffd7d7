/*
 * Message descriptors, one table of rows per message, used by both validation and OTLP JSON.
 * Validation checks that bytes are a well-formed message of a known type at every depth, with the
 * right wire type for each known field; unknown fields are legal if their framing is. Pure;
 * recursion is bounded by PROTO_MAX_DEPTH.
 */
#ifndef LIB_WIRE_PROTO_PROTO_SHAPE_H
#define LIB_WIRE_PROTO_PROTO_SHAPE_H

#include "lib/wire/proto/proto_scan.h"

struct proto_shape;

/* A field's encoding on the wire. */
enum proto_kind {
    PROTO_UNKNOWN,  /* a hole in the numbering */
    PROTO_VARINT,   /* int32, int64, uint32, uint64, sint, bool, enum */
    PROTO_FIXED64,  /* fixed64, sfixed64, double */
    PROTO_FIXED32,  /* fixed32, sfixed32, float */
    PROTO_BYTES,    /* bytes, string */
    PROTO_MESSAGE,  /* of row.shape */
    PROTO_VARINTS,  /* repeated, packed or not */
    PROTO_FIXED64S, /* repeated, packed or not */
    PROTO_ID        /* bytes whose length must be 0 or row.size */
};

/* The meaning of a field's value, for text formats. */
enum proto_type {
    PROTO_TYPE_NONE, /* never shown as text */
    PROTO_TYPE_BOOL,
    PROTO_TYPE_INT32,
    PROTO_TYPE_UINT32,
    PROTO_TYPE_INT64,
    PROTO_TYPE_UINT64,
    PROTO_TYPE_SINT32, /* zigzag */
    PROTO_TYPE_DOUBLE,
    PROTO_TYPE_ENUM, /* of row.names */
    PROTO_TYPE_STRING,
    PROTO_TYPE_BASE64,
    PROTO_TYPE_HEX,
    PROTO_TYPE_MESSAGE
};

/* Whether text formats show it as a number, a bool or a name. */
static inline bool proto_type_is_scalar(enum proto_type type)
{
    return type < PROTO_TYPE_STRING;
}

struct proto_row {
    enum proto_kind kind;
    uint8_t size; /* PROTO_ID */
    uint8_t name_size;
    const struct proto_shape *shape; /* PROTO_MESSAGE */
    const char *name;                /* as in the .proto file */
    enum proto_type type;
    bool repeated;
    bool presence;            /* zero differs from absent */
    bool oneof;               /* member of the message's only oneof; sets presence too */
    const char *const *names; /* PROTO_TYPE_ENUM: by value, NULL-terminated */
};

struct proto_shape {
    const char *name; /* the message's name, for faults */
    uint32_t count;
    const struct proto_row *rows; /* indexed by field number; rows[0] is a hole */
    /* Fast check before the field-by-field check; true: well-formed. NULL: none. */
    bool (*plain)(struct view message, void *notes);
    bool leads; /* everyone writes it in front of the other fields of the message that it is in */
};

/* Number of messages whose shape has `plain`, and of those that were plain. Only notes are set by
 * the caller. */
struct proto_tally {
    uint32_t met, plain;
    void *notes;     /* passed to `plain`; may be NULL */
    bool late_leads; /* a message whose shape has `leads` was not in front */
    bool odd;        /* it has another form than everybody writes: see proto_normal.h */
};

/* Where and why a message was refused; texts are static. */
struct proto_fault {
    const char *message; /* name of the innermost message, e.g. "Span" */
    uint32_t field;      /* its field number; 0: the framing itself is broken */
    const char *reason;  /* e.g. "wrong wire type" */
    size_t offset;       /* bytes from the start of the outermost message */
};

/* Validates a message. False: fault is set. */
bool proto_check(const struct proto_shape *shape, struct view message, struct proto_fault *fault);
bool proto_check_tally(const struct proto_shape *shape, struct view message,
                       struct proto_tally *tally, struct proto_fault *fault);

/* Shapes of the published messages (numbers: opentelemetry-proto 1.11, pprof profile.proto,
 * Pyroscope push/v1). */
extern const struct proto_shape shape_trace_request;
extern const struct proto_shape shape_metrics_request;
extern const struct proto_shape shape_logs_request;
extern const struct proto_shape shape_profiles_request;
extern const struct proto_shape shape_pprof;
extern const struct proto_shape shape_push_request;

/* Messages that the four requests share. */
extern const struct proto_shape shape_resource;
extern const struct proto_shape shape_scope;
extern const struct proto_shape shape_key_value;
extern const struct proto_shape shape_any_value;

#endif
