/*
 * Attributes (lists of KeyValue): reading in place, and writing. Field numbers: opentelemetry-proto
 * 1.11 common.proto. Pure.
 */
#ifndef LIB_WIRE_OTLP_OTLP_ATTRIBUTE_H
#define LIB_WIRE_OTLP_OTLP_ATTRIBUTE_H

#include "lib/wire/proto/proto_scan.h"

/* The key of a KeyValue body; data NULL: none. */
struct view otlp_key(struct view key_value);

/* The string value of a KeyValue body; data NULL: none, or another type. */
struct view otlp_string_value(struct view key_value);

/* Finds the first KeyValue with this key in a list. False: absent. */
bool otlp_attribute_find(struct view message, uint32_t list, struct view key,
                         struct proto_field *key_value);

/* The string value of a resource attribute of a Resource* entry; repeated Resource fields are all
 * searched. */
struct view otlp_resource_attribute(struct view resource_entry, struct view key);

/* Whether the entry's resource has an attribute with this key and any value except an empty
 * string. */
bool otlp_resource_has(struct view resource_entry, struct view key);

/* Write KeyValue {key, string or int} as field `list`, including the tag; return the end of the
 * output. The size functions return an upper bound, for any list, a few bytes above the actual
 * size. */
size_t otlp_string_attribute_size(struct view key, struct view value);
uint8_t *otlp_string_attribute_put(uint8_t *out, uint32_t list, struct view key, struct view value);
size_t otlp_int_attribute_size(struct view key, int64_t value);
uint8_t *otlp_int_attribute_put(uint8_t *out, uint32_t list, struct view key, int64_t value);

#endif
