#include "lib/wire/pprof/pprof_cursor.h"

#include "tests/support/pprof_random.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static size_t by_varint(struct view numbers)
{
    const uint8_t *at = numbers.data, *end = at + numbers.size;
    uint64_t value;
    size_t count = 0;
    for (; at < end; count++)
        if (!(at = proto_varint(at, end, &value)))
            return SIZE_MAX;
    return count;
}

START_TEST(packed_numbers_are_counted_as_reading_them_would)
{
    for (uint64_t seed = 0; seed < 20000; seed++) {
        struct random random = random_seeded(seed);
        uint8_t bytes[40];
        size_t size = random_below(&random, sizeof bytes + 1);
        uint32_t high = 1 + random_below(&random, 20);
        for (size_t i = 0; i < size; i++)
            bytes[i] =
                (uint8_t)(random_below(&random, 128) | (random_below(&random, high) ? 0x80u : 0));
        struct view numbers = {bytes, size};
        ck_assert_uint_eq(pprof_count_packed(numbers), by_varint(numbers));
    }
}
END_TEST

START_TEST(the_longest_number_may_stand_anywhere)
{
    for (size_t before = 0; before < 20; before++)
        for (uint8_t last = 0; last < 3; last++) {
            uint8_t bytes[40] = {0};
            memset(bytes + before, 0xff, 9);
            bytes[before + 9] = last;
            for (size_t size = before + 9; size < sizeof bytes; size++)
                ck_assert_uint_eq(pprof_count_packed((struct view){bytes, size}),
                                  by_varint((struct view){bytes, size}));
        }
}
END_TEST

/* ck_assert writes on every call, which is too slow for every field of every message. */
static void same(bool equal)
{
    if (!equal)
        ck_abort_msg("the cursors differ");
}

/* Both cursors read the same fields, or stop at the same position. */
static void compare(struct view message, unsigned depth)
{
    struct proto_scan quick = proto_scan_begin(message), plain = quick;
    struct proto_field a, b;
    bool more = true;
    while (more) {
        more = proto_scan_next(&plain, &b);
        same(pprof_next(&quick, &a) == more);
        same(quick.bad == plain.bad);
        same(quick.at == plain.at);
        if (!more)
            break;
        same(a.number == b.number);
        same(a.type == b.type);
        same(a.start == b.start);
        same(a.end == b.end);
        if (a.type == WIRE_VARINT)
            same(a.value == b.value);
        if (a.type != WIRE_LEN)
            continue;
        same(a.bytes.data == b.bytes.data);
        same(a.bytes.size == b.bytes.size);
        if (depth)
            compare(a.bytes, depth - 1);
    }
}

START_TEST(fields_are_those_that_the_plain_scan_sees)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random random = random_seeded(seed);
        struct view raw = pprof_random(seed);
        uint8_t *copy = malloc(raw.size);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, raw.data, raw.size);
        compare((struct view){copy, raw.size}, 3);
        for (int i = 0; i < 20; i++) {
            copy[random_below(&random, (uint32_t)raw.size)] = (uint8_t)random_below(&random, 256);
            compare((struct view){copy, raw.size}, 3);
        }
        free(copy);
    }
}
END_TEST

START_TEST(lengths_of_any_size_are_read)
{
    static const size_t sizes[] = {0, 1, 127, 128, 16383, 16384, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        compare(pb_fill(2, sizes[i], 'x'), 0);
}
END_TEST

SUITE_MAIN("pprof_cursor", packed_numbers_are_counted_as_reading_them_would,
           the_longest_number_may_stand_anywhere, fields_are_those_that_the_plain_scan_sees,
           lengths_of_any_size_are_read)
