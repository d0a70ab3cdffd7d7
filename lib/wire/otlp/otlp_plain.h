/*
 * Fast validation of the form in which SDKs write nearly all spans: one-byte tags, lengths of one
 * or two bytes, every field once. A plain span is well-formed; one that is not plain may be
 * well-formed too. Pure.
 */
#ifndef LIB_WIRE_OTLP_OTLP_PLAIN_H
#define LIB_WIRE_OTLP_OTLP_PLAIN_H

#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/proto/plain_key_value.h"

/* Whether a Span is plain: well-formed, with valid ids (otlp_traces_drop_invalid would keep it),
 * plain attributes, and no fields unknown to the current protocol. Adds a note to notes (struct
 * otlp_notes; may be NULL). */
bool otlp_span_check(struct view body, void *notes);

#endif
