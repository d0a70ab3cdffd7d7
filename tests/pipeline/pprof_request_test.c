#include "pipeline/pprof_request.h"

#include "lib/wire/codec/compress.h"
#include "tests/support/suite.h"

#include <stdlib.h>

/* The fields of a small profile: sample_type {1, 1} and the string "". */
#define SMALL                                                                                      \
    "\x0a\x04\x08\x01\x10\x01\x32\x00\x32\x03"                                                     \
    "cpu"

static struct budget budget;

/* Reads a profile with `count` more fields of two bytes, of which the first byte is given. */
static struct outcome read_with(uint8_t tag, size_t count, size_t limit, size_t taken)
{
    struct bytes made, raw;
    budget_init(&budget, limit);
    bytes_init(&made, SIZE_MAX, NULL);
    ck_assert_int_eq(bytes_append_view(&made, VIEW(SMALL)), BYTES_OK);
    uint8_t *more = calloc(count, 2);
    for (size_t i = 0; i < count; i++)
        more[2 * i] = tag;
    ck_assert_int_eq(bytes_append(&made, more, 2 * count), BYTES_OK);
    free(more);
    bytes_init(&raw, SIZE_MAX, &budget);
    budget_force(&budget, taken);
    struct outcome outcome = pprof_request_read(bytes_view(&made), &raw);
    bytes_release(&raw);
    bytes_release(&made);
    ck_assert_uint_eq(budget_used(&budget), taken);
    return outcome;
}

START_TEST(a_profile_whose_entries_never_fit_is_too_large)
{
    static const uint8_t tags[] = {0x32, 0x1a, 0x68}; /* strings, mappings, comments */
    for (size_t i = 0; i < sizeof tags; i++) {
        ck_assert_int_eq(read_with(tags[i], 1000, 8 << 20, 0).verdict, VERDICT_OK);
        struct outcome outcome = read_with(tags[i], 1000000, 8 << 20, 0);
        ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
        ck_assert_int_eq(outcome.cause, CAUSE_TOO_LARGE);
    }
}
END_TEST

START_TEST(a_million_mappings_fit_into_64_mib)
{
    ck_assert_int_eq(read_with(0x1a, 1000000, 64 << 20, 0).verdict, VERDICT_OK);
}
END_TEST

START_TEST(one_that_does_not_fit_now_is_to_come_back)
{
    size_t limit = 64 << 20, count = 1000000; /* 2 MB, and 5 MB for the index */
    ck_assert_int_eq(read_with(0x32, count, limit, 0).verdict, VERDICT_OK);
    struct outcome outcome = read_with(0x32, count, limit, limit - (4 << 20));
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_MEMORY);
}
END_TEST

START_TEST(one_that_never_fits_is_too_large_while_memory_is_short)
{
    enum { MAX = 1 << 20 };
    struct bytes packed, raw;
    uint8_t *zeros = calloc(4, MAX);
    bytes_init(&packed, SIZE_MAX, NULL);
    ck_assert(deflate_append(ENCODING_GZIP, (struct view){zeros, (size_t)4 * MAX}, &packed));
    free(zeros);
    budget_init(&budget, 8 << 20);
    budget_force(&budget, 8 << 20);
    bytes_init(&raw, MAX, &budget);
    struct outcome outcome = pprof_request_inflate(bytes_view(&packed), &raw);
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_int_eq(outcome.cause, CAUSE_TOO_LARGE);
    bytes_release(&raw);
    bytes_release(&packed);
}
END_TEST

SUITE_MAIN("pprof_request", one_that_never_fits_is_too_large_while_memory_is_short,
           a_profile_whose_entries_never_fit_is_too_large, a_million_mappings_fit_into_64_mib,
           one_that_does_not_fit_now_is_to_come_back)
