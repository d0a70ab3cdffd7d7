#include "extensions/status/copies.h"

#include "tests/support/suite.h"

#include <stdlib.h>

START_TEST(a_copy_is_known_whatever_shares_its_place_meanwhile)
{
    const uint64_t span = UINT64_C(0x1234) << 48 | 8;
    uint64_t *table = calloc(COPIES, sizeof *table);
    ck_assert_ptr_nonnull(table);
    for (uint64_t turn = 0; turn < 3; turn++) {
        ck_assert_int_eq(copies_put(table, span, turn == 1, false), turn == 0   ? COPY_NEW
                                                                    : turn == 1 ? COPY_UNLINKED
                                                                                : COPY_LINKED);
        for (uint64_t other = 1; other < COPIES_WAYS; other++)
            ck_assert_int_eq(
                copies_put(table, span + (turn * COPIES_WAYS + other) * 16, false, false),
                COPY_NEW);
    }
    ck_assert_int_eq(copies_put(table, span + 1600, false, false), COPY_NEW);
    ck_assert_int_eq(copies_put(table, span, false, false), COPY_NEW); /* the oldest gave way */
    free(table);
}
END_TEST

START_TEST(a_span_that_was_linked_stays_so)
{
    uint64_t *table = calloc(COPIES, sizeof *table);
    ck_assert_ptr_nonnull(table);
    ck_assert_int_eq(copies_put(table, UINT64_MAX, true, false), COPY_NEW);
    ck_assert_int_eq(copies_put(table, UINT64_MAX, false, false), COPY_LINKED);
    ck_assert_int_eq(copies_put(table, UINT64_MAX, false, false), COPY_LINKED);
    ck_assert_int_eq(copies_put(table, UINT64_MAX, false, true), COPY_NEW);
    ck_assert_int_eq(copies_put(table, UINT64_MAX, false, false), COPY_UNLINKED);
    free(table);
}
END_TEST

SUITE_MAIN("status copies", a_copy_is_known_whatever_shares_its_place_meanwhile,
           a_span_that_was_linked_stays_so)
