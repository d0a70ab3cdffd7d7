#include "tests/support/proto_random.h"

#include <endian.h>
#include <stdlib.h>

uint32_t random_below(struct random *random, uint32_t below)
{
    uint64_t x = random->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((x ^ x >> 31) % below);
}

static uint64_t number(struct random *random)
{
    uint64_t wide =
        (uint64_t)random_below(random, UINT32_MAX) << 32 | random_below(random, UINT32_MAX);
    return random_below(random, 4) ? wide >> random_below(random, 64) : 0;
}

static void put(struct bytes *out, const void *data, size_t size)
{
    if (bytes_append(out, data, size) != BYTES_OK)
        abort();
}

/* A varint, with up to two redundant bytes if padding is wanted; at most ten bytes. */
static void put_varint(struct random *random, uint64_t value, unsigned flags, struct bytes *out)
{
    uint8_t text[16];
    uint8_t *end = proto_varint_put(text, value);
    uint32_t extra = flags & RANDOM_PADDED && end - text <= 3 ? random_below(random, 3) : 0;
    for (; extra > 0; extra--) {
        end[-1] |= 0x80;
        *end++ = 0;
    }
    put(out, text, (size_t)(end - text));
}

static void put_len(struct random *random, uint32_t field, struct view content, unsigned flags,
                    struct bytes *out)
{
    put_varint(random, proto_tag(field, WIRE_LEN), flags, out);
    put_varint(random, content.size, flags, out);
    put(out, content.data, content.size);
}

static void put_text(struct random *random, const struct proto_row *row, uint32_t field,
                     unsigned flags, struct bytes *out)
{
    static const char *const letters[] = {
        "a",    "Z", "0", ".", "\"", "\\", "\n", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x94\xa5",
        "\x01", " "};
    uint8_t text[256];
    size_t size = 0;
    uint32_t want = row->kind == PROTO_ID ? row->size : random_below(random, 40);
    while (size < want) {
        if (row->type == PROTO_TYPE_STRING) {
            const char *letter = letters[random_below(random, 12)];
            memcpy(text + size, letter, strlen(letter));
            size += strlen(letter);
        } else {
            text[size++] = (uint8_t)random_below(random, 256);
        }
    }
    put_len(random, field, (struct view){text, size}, flags, out);
}

/* A value in the range of its type, as the bits on the wire. */
static uint64_t bits_of(struct random *random, const struct proto_row *row)
{
    double real;
    uint64_t bits = number(random);
    switch (row->type) {
    case PROTO_TYPE_DOUBLE:
        real = (double)(int64_t)bits / 1024;
        memcpy(&bits, &real, sizeof bits);
        return bits;
    case PROTO_TYPE_BOOL:
        return bits & 1;
    case PROTO_TYPE_UINT32:
    case PROTO_TYPE_SINT32:
        return (uint32_t)bits;
    case PROTO_TYPE_INT32:
        return (uint64_t)(int64_t)(int32_t)(uint32_t)bits;
    case PROTO_TYPE_ENUM:
        return bits & 1;
    case PROTO_TYPE_NONE:
    case PROTO_TYPE_INT64:
    case PROTO_TYPE_UINT64:
    case PROTO_TYPE_STRING:
    case PROTO_TYPE_BASE64:
    case PROTO_TYPE_HEX:
    case PROTO_TYPE_MESSAGE:
        break;
    }
    return bits;
}

static void put_bits(struct random *random, const struct proto_row *row, unsigned flags,
                     struct bytes *out)
{
    uint64_t bits = bits_of(random, row);
    if (row->kind == PROTO_VARINT || row->kind == PROTO_VARINTS) {
        put_varint(random, bits, flags, out);
        return;
    }
    bits = htole64(bits);
    put(out, &bits, row->kind == PROTO_FIXED32 ? 4 : 8);
}

static void put_numbers(struct random *random, const struct proto_row *row, uint32_t field,
                        unsigned flags, struct bytes *out)
{
    bool varint = row->kind == PROTO_VARINT || row->kind == PROTO_VARINTS;
    bool list = row->kind == PROTO_VARINTS || row->kind == PROTO_FIXED64S;
    if (!list || random_below(random, 2)) {
        enum wire_type type = varint                       ? WIRE_VARINT
                              : row->kind == PROTO_FIXED32 ? WIRE_I32
                                                           : WIRE_I64;
        put_varint(random, proto_tag(field, type), flags, out);
        put_bits(random, row, flags, out);
        return;
    }
    struct bytes packed;
    bytes_init(&packed, SIZE_MAX / 2, NULL);
    for (uint32_t n = random_below(random, 5); n > 0; n--)
        put_bits(random, row, flags, &packed);
    put_len(random, field, bytes_view(&packed), flags, out);
    bytes_release(&packed);
}

static void put_unknown(struct random *random, const struct proto_shape *shape, unsigned flags,
                        struct bytes *out)
{
    static const struct proto_row text = {.kind = PROTO_BYTES, .type = PROTO_TYPE_BASE64};
    static const struct proto_row fixed = {.kind = PROTO_FIXED64, .type = PROTO_TYPE_UINT64};
    uint32_t field = shape->count + 1 + random_below(random, 3000);
    if (flags & RANDOM_GROUPS && random_below(random, 2)) {
        put_varint(random, proto_tag(field, WIRE_START_GROUP), flags, out);
        put_text(random, &text, 1, flags, out);
        if (random_below(random, 2))
            put_unknown(random, shape, flags, out);
        put_varint(random, proto_tag(field, WIRE_END_GROUP), flags, out);
    } else if (random_below(random, 2)) {
        put_text(random, &text, field, flags, out);
    } else {
        put_numbers(random, &fixed, field, flags, out);
    }
}

static void put_message(struct random *random, const struct proto_row *row, uint32_t field,
                        unsigned flags, struct bytes *out)
{
    struct bytes inner;
    unsigned depth = flags >> 8;
    bytes_init(&inner, SIZE_MAX / 2, NULL);
    if (depth > 0)
        proto_random(random, row->shape, flags & 0xff, depth - 1, &inner);
    put_len(random, field, bytes_view(&inner), flags, out);
    bytes_release(&inner);
}

void proto_random(struct random *random, const struct proto_shape *shape, unsigned flags,
                  unsigned depth, struct bytes *out)
{
    uint32_t once = 0;
    for (uint32_t n = 1 + random_below(random, 6); n > 0; n--) {
        uint32_t field = 1 + random_below(random, shape->count - 1);
        const struct proto_row *row = &shape->rows[field];
        if (flags & RANDOM_UNKNOWN && random_below(random, 5) == 0)
            put_unknown(random, shape, flags, out);
        if (row->kind == PROTO_MESSAGE && !row->repeated && once >> field & 1)
            continue;
        once |= UINT32_C(1) << field;
        if (row->kind == PROTO_MESSAGE)
            put_message(random, row, field, flags | depth << 8, out);
        else if (row->kind == PROTO_BYTES || row->kind == PROTO_ID)
            put_text(random, row, field, flags, out);
        else if (row->kind != PROTO_UNKNOWN)
            put_numbers(random, row, field, flags, out);
    }
}
