/* Fast path for the most common form of attributes in OTLP JSON. For lib/wire/json/otlp_json_read.c
 * only. */
#ifndef LIB_WIRE_JSON_OTLP_JSON_PLAIN_H
#define LIB_WIRE_JSON_OTLP_JSON_PLAIN_H

#include "lib/base/bytes.h"
#include "lib/wire/json/json_scan.h"

/* Reads {"key":"k","value":{"stringValue":"v"}}, or an intValue, in ASCII, without whitespace or
 * escapes, and appends it to out as a KeyValue field with this number. False: another form, or out
 * has no room; scan and out are unchanged. */
bool otlp_json_plain_attribute(struct json_scan *scan, uint32_t number, struct bytes *out);

#endif
