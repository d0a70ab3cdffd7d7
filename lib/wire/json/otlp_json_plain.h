/* The attributes of OTLP JSON that nearly all are, read in one go. For
 * lib/wire/json/otlp_json_read.c only.
 */
#ifndef LIB_WIRE_JSON_OTLP_JSON_PLAIN_H
#define LIB_WIRE_JSON_OTLP_JSON_PLAIN_H

#include "lib/base/bytes.h"
#include "lib/wire/json/json_scan.h"

/* Reads {"key":"k","value":{"stringValue":"v"}}, or with an intValue, in ASCII, without blanks or
 * escapes, as a KeyValue field of that number to the end of out. False: it is another, or out has
 * no room; scan and out stay as they are. */
bool otlp_json_plain_attribute(struct json_scan *scan, uint32_t number, struct bytes *out);

#endif
