#include "lib/net/h2/h2_output.h"

#include "lib/base/bytes.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static struct h2_output output;
static struct bytes expected;

static void setup(void)
{
    ck_assert(h2_output_begin(&output, false));
    bytes_init(&expected, SIZE_MAX, NULL);
}

static void teardown(void)
{
    h2_output_end(&output);
    bytes_release(&expected);
}

static void copy(struct view bytes)
{
    h2_output_copy(&output, bytes);
    bytes_append_view(&expected, bytes);
}

static void borrow(struct view bytes)
{
    h2_output_borrow(&output, bytes);
    bytes_append_view(&expected, bytes);
}

/* Drops the front of what is expected. */
static void sent(size_t n)
{
    h2_output_sent(&output, n);
    memmove(expected.data, expected.data + n, expected.size - n);
    expected.size -= n;
}

static void check_unsent(void)
{
    static char got[H2_OUTPUT];
    struct pieces unsent = h2_output_unsent(&output);
    struct pieces_reader reader = pieces_read_begin(unsent);
    size_t size = pieces_read(&reader, got, sizeof got);
    ck_assert_uint_eq(size, expected.size);
    ck_assert(view_eq((struct view){(uint8_t *)got, size}, bytes_view(&expected)));
}

START_TEST(long_bytes_are_borrowed_and_short_ones_copied)
{
    static uint8_t body[5000], brief[10];
    copy(VIEW("head"));
    borrow((struct view){brief, sizeof brief});
    borrow((struct view){body, sizeof body});
    check_unsent();
    ck_assert_uint_eq(output.count, 2);
    ck_assert_ptr_eq(output.runs[1].data, body);
}
END_TEST

START_TEST(what_is_sent_goes_in_any_steps)
{
    static uint8_t body[3000];
    for (size_t step = 1; step < 4000; step = step * 2 + 1) {
        for (size_t i = 0; i < sizeof body; i++)
            body[i] = (uint8_t)(i * 7);
        copy(VIEW("head"));
        borrow((struct view){body, sizeof body});
        copy(VIEW("tail"));
        while (expected.size) {
            check_unsent();
            sent(step < expected.size ? step : expected.size);
        }
        ck_assert_uint_eq(output.count, 0);
    }
}
END_TEST

START_TEST(what_is_kept_outlives_its_body)
{
    uint8_t *body = malloc(20000);
    memset(body, 'b', 20000);
    copy(VIEW("head"));
    borrow((struct view){body, 20000});
    sent(7000);
    ck_assert(h2_output_keep(&output));
    memset(body, 'x', 20000);
    free(body);
    check_unsent();
    copy(VIEW("more"));
    check_unsent();
}
END_TEST

START_TEST(for_tls_it_is_one_run)
{
    static uint8_t body[16384];
    h2_output_end(&output);
    ck_assert(h2_output_begin(&output, true));
    copy(VIEW("head"));
    borrow((struct view){body, sizeof body});
    check_unsent();
    ck_assert_uint_eq(output.count, 1);
}
END_TEST

/* Each piece of a body is just long enough to be borrowed, or too short. */
START_TEST(two_frames_of_any_pieces_fit_where_there_is_room)
{
    static uint8_t body[16384];
    for (size_t size = H2_OUTPUT_SHORT - 1; size <= H2_OUTPUT_SHORT; size++)
        while (h2_output_has_room(&output))
            for (size_t at = 0, i = 0; at < sizeof body; i++) {
                size_t n = i % 2 ? 1 : size;
                n = n < sizeof body - at ? n : sizeof body - at;
                borrow((struct view){body + at, n});
                at += n;
            }
    check_unsent();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net/h2_output");
    TCase *tcase = suite_case("runs");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, long_bytes_are_borrowed_and_short_ones_copied);
    tcase_add_test(tcase, what_is_sent_goes_in_any_steps);
    tcase_add_test(tcase, what_is_kept_outlives_its_body);
    tcase_add_test(tcase, for_tls_it_is_one_run);
    tcase_add_test(tcase, two_frames_of_any_pieces_fit_where_there_is_room);
    suite_add_tcase(suite, tcase);
    return suite_finish(suite);
}
