/* The attributes of OTLP JSON that nearly all are, read in one go. For wire/otlp_json_read.c only.
 */
#ifndef WIRE_OTLP_JSON_PLAIN_H
#define WIRE_OTLP_JSON_PLAIN_H

#include "base/bytes.h"
#include "wire/json_scan.h"

/* Reads {"key":"k","value":{"stringValue":"v"}}, or with an intValue, in ASCII, without blanks or
 * escapes, as a KeyValue field of that number to the end of out. False: it is another, or out has
 * no room; scan and out stay as they are. */
bool otlp_json_plain_attribute(struct json_scan *scan, uint32_t number, struct bytes *out);

#endif
