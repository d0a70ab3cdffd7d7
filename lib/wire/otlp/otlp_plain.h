/*
 * The form in which SDKs write nearly all spans, told by looking at few bytes: tags of one byte,
 * lengths of one or two, every field once. What is plain is well-formed; what is not may be
 * well-formed too. Pure.
 */
#ifndef LIB_WIRE_OTLP_OTLP_PLAIN_H
#define LIB_WIRE_OTLP_OTLP_PLAIN_H

#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/proto/proto_plain.h"

/* A Span that is well-formed and that every backend takes: with good ids (otlp_traces_drop_invalid
 * has nothing against it), plain attributes, and no field that is not of today's protocol. notes
 * (struct otlp_notes; NULL: none) gets what it saw. */
bool otlp_span_check(struct view body, void *notes);

#endif
