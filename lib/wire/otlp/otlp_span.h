/*
 * The fields of a Span that correlation needs, read in one pass. Field numbers: opentelemetry-proto
 * 1.11 trace.proto. Pure.
 */
#ifndef LIB_WIRE_OTLP_OTLP_SPAN_H
#define LIB_WIRE_OTLP_OTLP_SPAN_H

#include "lib/base/bytes.h"
#include "lib/wire/proto/proto_scan.h"

#define PROFILE_ATTRIBUTE VIEW("pyroscope.profile.id")

#define SPAN_FLAG_HAS_IS_REMOTE UINT32_C(0x100)
#define SPAN_FLAG_IS_REMOTE     UINT32_C(0x200)

enum span_kind {
    SPAN_KIND_UNSPECIFIED,
    SPAN_KIND_INTERNAL,
    SPAN_KIND_SERVER,
    SPAN_KIND_CLIENT,
    SPAN_KIND_PRODUCER,
    SPAN_KIND_CONSUMER
};

struct otlp_span {
    struct view body;     /* the Span message */
    struct view trace_id; /* views into body; empty: absent */
    struct view span_id;
    struct view parent_span_id;
    struct view name;
    uint64_t start_ns, end_ns;
    uint32_t kind;
    uint32_t flags;
    unsigned profile_attributes;          /* number of attributes named pyroscope.profile.id */
    struct view profile_id;               /* string value of the first one; data NULL: none */
    struct proto_field profile_attribute; /* the first one's whole KeyValue field */
};

/* Reads a checked span. The last occurrence of a scalar wins, as in protobuf. */
void otlp_span_read(struct view body, struct otlp_span *span);

/* What otlp_check_traces saw of a span, so that correlation need not read it again. */
struct otlp_span_note {
    uint64_t id, parent; /* as from span_id_load; 0: none */
    uint64_t start_ns, end_ns;
    uint32_t at; /* offset of the span's body in the request */
    uint32_t flags;
    uint16_t attributes, attributes_end; /* where the attributes are in the body, if they stand
                                            together and each is plain with lengths of one byte;
                                            end 0: they do not, or nobody looked */
    uint16_t name; /* if they do: where the field of the name is; 0: unknown */
    uint8_t kind;
    bool usable; /* false: all but these three offsets and `at` is to be read from the span */
};

/* Notes on a request's spans, in order; only on requests in which every Resource and Scope stands
 * in front of what it is for. */
struct otlp_notes {
    struct bytes rows; /* struct otlp_span_note */
    const uint8_t *request;
    bool failed; /* out of memory, or another order: there are no notes */
};

/* Starts taking notes. Notes are only an optimisation: none are taken if memory is short. */
void otlp_notes_begin(struct otlp_notes *notes, struct view request, struct budget *budget);
void otlp_notes_add(struct otlp_notes *notes, struct view body, struct otlp_span_note *note);

/* The note on the span with this index and body; rows are those of otlp_notes. NULL: none, read the
 * span. */
const struct otlp_span_note *otlp_note_find(struct view rows, size_t index, struct view request,
                                            struct view body);

/* As otlp_span_is_local_root, for a note. */
bool otlp_note_is_local_root(const struct otlp_span_note *note);

/* Whether a span is a local root: it has no parent (absent, empty, all zero); or flags has both
 * 0x100 and 0x200; or flags lacks 0x100 and the kind is SERVER or CONSUMER. */
bool otlp_span_is_local_root(const struct otlp_span *span);

/* The eight id bytes as a big-endian number. */
uint64_t span_id_load(const uint8_t bytes[8]);

/* Parses 16 hex digits of either case. False: anything else, or all zero. */
bool span_id_parse(struct view hex, uint64_t *id);

/* Writes 16 lowercase hex digits, no NUL. */
void span_id_format(uint64_t id, char out[16]);

/* The id with its bytes reversed, as old .NET profilers write ids. */
uint64_t span_id_reversed(uint64_t id);

#endif
