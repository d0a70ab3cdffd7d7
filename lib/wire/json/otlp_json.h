/*
 * OTLP JSON (the protobuf mapping with OTLP's deltas: hex ids, 64-bit numbers as strings or
 * numbers, enums as numbers or names, lowerCamelCase or snake_case keys, unknown fields ignored).
 */
#ifndef LIB_WIRE_JSON_OTLP_JSON_H
#define LIB_WIRE_JSON_OTLP_JSON_H

#include "lib/base/bytes.h"
#include "lib/wire/otlp/signal.h"

/* Reads a JSON request into its protobuf form, appended to out. All signals. What the check
 * judges (lengths of ids) is left to it. Fields stand in the order of the text; of a key that comes
 * twice, both do. False: reason (cut to size) says what is wrong and where; an empty reason: no
 * memory now, the same text may pass later. */
bool otlp_json_read(enum signal signal, struct view json, struct bytes *out, char *reason,
                    size_t reason_size);

/* Writes a checked protobuf request as one line of OTLP JSON, as the Collector's file exporter
 * does: ids in hex, 64-bit numbers quoted, enums as numbers, zero values left out. All signals.
 * Unknown fields have no name and are left out. False: out is full. */
bool otlp_json_write(enum signal signal, struct view request, struct bytes *out);

#endif
