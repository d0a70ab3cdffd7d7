/*
 * The primitives of JFR: compressed integers, strings, and reporting faults. The readers return a
 * pointer past what was read; NULL: truncated, or an unknown encoding. For lib/wire/jfr/jfr*.c
 * only.
 */
#ifndef LIB_WIRE_JFR_JFR_READ_H
#define LIB_WIRE_JFR_JFR_READ_H

#include "lib/wire/jfr/jfr.h"

/* State that all parts of jfr_open share. */
struct jfr_reading {
    struct view raw;
    struct arena *arena;  /* for the result */
    struct arena scratch; /* for opening one chunk */
    struct jfr_fault *fault;
};

/* Fills the fault; returns false, so that callers can return the result. */
bool jfr_refuse(struct jfr_reading *reading, const char *part, const char *reason,
                const uint8_t *at);

/* The slow path of jfr_varint, out of line. */
const uint8_t *jfr_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *value);

/* Reads a LEB128 integer whose ninth byte, if any, is the last and holds eight bits. */
static inline const uint8_t *jfr_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    if (at < end && *at < 0x80) {
        *value = *at;
        return at + 1;
    }
    if (end - at > 1 && at[1] < 0x80) {
        *value = (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
        return at + 2;
    }
    return jfr_varint_long(at, end, value);
}

static inline const uint8_t *jfr_skip_bytes(const uint8_t *at, const uint8_t *end, uint64_t count)
{
    return count <= (uint64_t)(end - at) ? at + count : NULL;
}

/* Reads a string of any encoding; text's data is NULL if the bytes do not hold the text itself:
 * null, a constant pool reference, or an array with non-ASCII characters. */
const uint8_t *jfr_string(const uint8_t *at, const uint8_t *end, struct view *text);

/* The start of each event: its size and the id of its class. */
struct jfr_frame {
    const uint8_t *content; /* after these two */
    const uint8_t *end;
    uint64_t type;
};

bool jfr_frame(const uint8_t *at, const uint8_t *end, struct jfr_frame *frame);

#endif
