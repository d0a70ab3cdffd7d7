/*
 * OTLP JSON (the protobuf mapping with OTLP's deltas: hex ids, 64-bit numbers as strings or
 * numbers, enums as numbers or names, lowerCamelCase or snake_case keys, unknown fields ignored).
 */
#ifndef LIB_WIRE_JSON_OTLP_JSON_H
#define LIB_WIRE_JSON_OTLP_JSON_H

#include "lib/base/bytes.h"
#include "lib/wire/otlp/signal.h"

/* Converts a JSON request of any signal to protobuf, appended to out. The lengths of ids are left
 * to otlp_check. Fields keep the order of the text; duplicate keys are all kept. False: reason
 * (truncated to size) says what is wrong and where; an empty reason: no memory, the same text may
 * be accepted later. */
bool otlp_json_read(enum signal signal, struct view json, struct bytes *out, char *reason,
                    size_t reason_size);

/* Appends a checked protobuf request of any signal as one line of OTLP JSON, like the Collector's
 * file exporter: ids in hex, 64-bit numbers quoted, enums as numbers, zero values left out. Unknown
 * fields have no name and are left out. False: out is full. */
bool otlp_json_write(enum signal signal, struct view request, struct bytes *out);

#endif
