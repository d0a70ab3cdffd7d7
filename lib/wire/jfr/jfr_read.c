#include "lib/wire/jfr/jfr_read.h"

#include <endian.h>

enum string_encoding {
    STRING_NULL,
    STRING_EMPTY,
    STRING_CONSTANT,
    STRING_UTF8,
    STRING_CHARACTERS,
    STRING_LATIN1
};

bool jfr_refuse(struct jfr_reading *reading, const char *part, const char *reason,
                const uint8_t *at)
{
    *reading->fault = (struct jfr_fault){part, reason, (size_t)(at - reading->raw.data)};
    return false;
}

static const uint8_t *varint_bytewise(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t sum = 0;
    for (unsigned shift = 0; at < end; shift += 7, at++) {
        bool last = shift == 56;
        sum |= (uint64_t)(last ? *at : *at & 0x7f) << shift;
        if (last || *at < 0x80) {
            *value = sum;
            return at + 1;
        }
    }
    return NULL;
}

/* If eight bytes are available, they are processed together: the first one without its high bit
 * ends the number, and the groups of seven bits are packed by halves. */
const uint8_t *jfr_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t word;
    if (end - at < 9)
        return varint_bytewise(at, end, value);
    memcpy(&word, at, sizeof word);
    word = le64toh(word);
    uint64_t ends = ~word & UINT64_C(0x8080808080808080);
    if (ends)
        word &= ends ^ (ends - 1);
    word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    word = (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
    if (ends) {
        *value = word;
        return at + (__builtin_ctzll(ends) / 8 + 1);
    }
    *value = word | (uint64_t)at[8] << 56;
    return at + 9;
}

/* An array of UTF-16 units, each a compressed integer: ASCII text is readable in place. */
static const uint8_t *characters(const uint8_t *at, const uint8_t *end, uint64_t count,
                                 struct view *text)
{
    const uint8_t *start = at;
    uint64_t character, left = count;
    for (; left && at; left--)
        at = jfr_varint(at, end, &character);
    if (at && (uint64_t)(at - start) == count)
        *text = view_between(start, at);
    return at;
}

const uint8_t *jfr_string(const uint8_t *at, const uint8_t *end, struct view *text)
{
    uint64_t size;
    *text = (struct view){0};
    if (at >= end)
        return NULL;
    uint8_t encoding = *at++;
    if (encoding == STRING_NULL)
        return at;
    if (encoding == STRING_EMPTY) {
        *text = VIEW("");
        return at;
    }
    if (encoding > STRING_LATIN1 || !(at = jfr_varint(at, end, &size)))
        return NULL;
    if (encoding == STRING_CONSTANT)
        return at;
    if (encoding == STRING_CHARACTERS)
        return characters(at, end, size, text);
    const uint8_t *behind = jfr_skip_bytes(at, end, size);
    if (behind)
        *text = view_between(at, behind);
    return behind;
}

bool jfr_frame(const uint8_t *at, const uint8_t *end, struct jfr_frame *frame)
{
    uint64_t size;
    const uint8_t *behind = jfr_varint(at, end, &size);
    if (!behind || size > (uint64_t)(end - at))
        return false;
    frame->end = at + size;
    if (frame->end <= behind)
        return false;
    frame->content = jfr_varint(behind, frame->end, &frame->type);
    return frame->content != NULL;
}
