#include "lib/base/pieces.h"

#include "tests/support/suite.h"

START_TEST(pieces_are_read_in_any_steps)
{
    const struct view views[] = {VIEW("one "), VIEW(""), VIEW("two "), VIEW("three"), VIEW("")};
    const struct pieces pieces = {views, sizeof views / sizeof *views};
    const struct view whole = VIEW("one two three");
    ck_assert_uint_eq(pieces_size(pieces), whole.size);
    for (size_t step = 1; step <= whole.size + 1; step++) {
        char out[32];
        size_t got = 0;
        struct pieces_reader reader = pieces_read_begin(pieces);
        for (size_t n; (n = pieces_read(&reader, out + got, step)) > 0; got += n)
            ck_assert(n == step || got + n == whole.size);
        ck_assert(view_eq((struct view){(uint8_t *)out, got}, whole));
        ck_assert_uint_eq(pieces_read(&reader, out, step), 0);
    }
}
END_TEST

START_TEST(no_pieces_are_no_bytes)
{
    char out[1];
    struct pieces_reader reader = pieces_read_begin((struct pieces){0});
    ck_assert_uint_eq(pieces_size((struct pieces){0}), 0);
    ck_assert_uint_eq(pieces_read(&reader, out, sizeof out), 0);
}
END_TEST

SUITE_MAIN("pieces", pieces_are_read_in_any_steps, no_pieces_are_no_bytes)
