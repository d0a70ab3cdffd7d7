/*
 * Protobuf messages written by hand in tests: PB_MESSAGE(2, PB_TEXT(5, "name")) is a whole field 2.
 * Results are valid until the process ends.
 */
#ifndef TESTS_SUPPORT_PROTO_BUILD_H
#define TESTS_SUPPORT_PROTO_BUILD_H

#include "lib/wire/proto/proto_scan.h"

struct view pb_join(const struct view *parts, size_t count);
struct view pb_message(uint32_t number, const struct view *parts, size_t count);
struct view pb_varint(uint32_t number, uint64_t value);
struct view pb_fixed64(uint32_t number, uint64_t value);
struct view pb_fixed32(uint32_t number, uint32_t value);
struct view pb_group(uint32_t number, struct view content);
struct view pb_attribute(uint32_t list, const char *key, const char *value);

/* A field of `size` equal bytes. */
struct view pb_fill(uint32_t number, size_t size, uint8_t byte);

#define PB_PARTS(...)                                                                              \
    (struct view[]){__VA_ARGS__}, sizeof((struct view[]){__VA_ARGS__}) / sizeof(struct view)
#define PB_JOIN(...)            pb_join(PB_PARTS(__VA_ARGS__))
#define PB_MESSAGE(number, ...) pb_message((number), PB_PARTS(__VA_ARGS__))
#define PB_TEXT(number, text)   PB_MESSAGE((number), VIEW(text))
#define PB_EMPTY(number)        PB_MESSAGE((number), VIEW(""))

/* Raw bytes: PB_RAW(0x0a, 0x05). */
#define PB_RAW(...)                                                                                \
    pb_join(                                                                                       \
        &(struct view){(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})}, 1)

/* A span with valid ids, followed by the parts. */
#define PB_SPAN(...) PB_MESSAGE(2, pb_fill(1, 16, 0xa1), pb_fill(2, 8, 0xb2), __VA_ARGS__)

#endif
