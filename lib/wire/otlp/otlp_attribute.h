/*
 * Attributes (lists of KeyValue) read in place and written by hand. Field numbers:
 * opentelemetry-proto 1.11 common.proto. Pure.
 */
#ifndef LIB_WIRE_OTLP_OTLP_ATTRIBUTE_H
#define LIB_WIRE_OTLP_OTLP_ATTRIBUTE_H

#include "lib/wire/proto/proto_scan.h"

/* The key of a KeyValue's body; data NULL: none. */
struct view otlp_key(struct view key_value);

/* The string value of a KeyValue's body; data NULL: none, or another type. */
struct view otlp_string_value(struct view key_value);

/* The first KeyValue of a list with this key. False: absent. */
bool otlp_attribute_find(struct view message, uint32_t list, struct view key,
                         struct proto_field *key_value);

/* resource attributes of a Resource* entry, merged over repeated Resource fields. */
struct view otlp_resource_attribute(struct view resource_entry, struct view key);

/* Whether its resource has an attribute of this key with any value but an empty text. */
bool otlp_resource_has(struct view resource_entry, struct view key);

/* Writes KeyValue {key, string or int} as field `list`, tag included; returns the end of what was
 * written. The size functions tell the room needed for any list, a few bytes more than are used. */
size_t otlp_string_attribute_size(struct view key, struct view value);
uint8_t *otlp_string_attribute_put(uint8_t *out, uint32_t list, struct view key, struct view value);
size_t otlp_int_attribute_size(struct view key, int64_t value);
uint8_t *otlp_int_attribute_put(uint8_t *out, uint32_t list, struct view key, int64_t value);

#endif
