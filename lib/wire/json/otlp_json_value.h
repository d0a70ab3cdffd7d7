/* Conversion of OTLP JSON scalars to protobuf. For lib/wire/json/otlp_json_read.c only. */
#ifndef LIB_WIRE_JSON_OTLP_JSON_VALUE_H
#define LIB_WIRE_JSON_OTLP_JSON_VALUE_H

#include "lib/wire/json/json_scan.h"
#include "lib/wire/proto/proto_shape.h"

/* A value that is neither object nor array. */
struct json_scalar {
    enum json_kind kind;
    struct view text; /* a string's characters; a number's text */
};

/* Converts a number, bool or enum to the bits that its wire type stores (zigzag-encoded if needed,
 * doubles as bits). NULL: success; else what was expected (static text). */
const char *otlp_json_number(const struct proto_row *row, const struct json_scalar *json,
                             uint64_t *bits);

#endif
