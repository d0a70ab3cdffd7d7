/*
 * The smallest parts of JFR: compressed integers, strings, and how a refusal is told. A pointer
 * moves on behind what was read; NULL: the bytes end before it does, or it is nothing known. For
 * the wire/jfr*.c files only.
 */
#ifndef LIB_WIRE_JFR_JFR_READ_H
#define LIB_WIRE_JFR_JFR_READ_H

#include "lib/wire/jfr/jfr.h"

/* What all the parts of jfr_open share. */
struct jfr_reading {
    struct view raw;
    struct arena *arena;  /* for what stays */
    struct arena scratch; /* for what one chunk needs while it is opened */
    struct jfr_fault *fault;
};

/* Fills the fault; false, so that it can be returned. */
bool jfr_refuse(struct jfr_reading *reading, const char *part, const char *reason,
                const uint8_t *at);

/* The parts of the functions below that are rare enough to stay out of line. */
const uint8_t *jfr_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *value);

/* LEB128, but the ninth byte is the last and whole. */
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

/* A string of any encoding; text's data is NULL where the bytes do not hold it as text: null, of
 * the constant pool, an array of characters that are not all ASCII. */
const uint8_t *jfr_string(const uint8_t *at, const uint8_t *end, struct view *text);

/* What each event begins with: its size, and the id of its class. */
struct jfr_frame {
    const uint8_t *content; /* behind the two */
    const uint8_t *end;
    uint64_t type;
};

bool jfr_frame(const uint8_t *at, const uint8_t *end, struct jfr_frame *frame);

#endif
