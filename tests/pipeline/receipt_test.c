#include "pipeline/receipt.h"

#include "tests/support/suite.h"

#include <pthread.h>
#include <string.h>

static unsigned settled_count;
static struct outcome settled_worst;

static void settled(void *ctx, const struct outcome *worst)
{
    ck_assert_ptr_eq(ctx, &settled_count);
    settled_count++;
    settled_worst = *worst;
}

static struct receipt *receipt_made(void)
{
    return receipt_new(settled, &settled_count);
}

START_TEST(the_last_reference_settles_it_once)
{
    struct receipt *receipt = receipt_made();
    receipt_ref(receipt);
    receipt_unref(receipt);
    ck_assert_uint_eq(settled_count, 0);
    receipt_unref(receipt);
    ck_assert_uint_eq(settled_count, 1);
    ck_assert_int_eq(settled_worst.verdict, VERDICT_OK);
}
END_TEST

START_TEST(a_retry_outranks_a_rejection_in_any_order)
{
    struct outcome retry = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "down");
    struct outcome reject = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "bad");
    struct receipt *receipt = receipt_made();
    receipt_note(receipt, &reject);
    receipt_note(receipt, &retry);
    receipt_note(receipt, &reject);
    receipt_unref(receipt);
    ck_assert_int_eq(settled_worst.verdict, VERDICT_RETRY);
    ck_assert_str_eq(settled_worst.text, "down");
}
END_TEST

/* After the restart, another exporter may still deliver what one gave up. */
START_TEST(the_stop_outranks_another_retry_in_any_order)
{
    struct outcome down = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "down");
    struct outcome stop = outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "shutting down");
    for (int first = 0; first < 2; first++) {
        struct receipt *receipt = receipt_made();
        receipt_note(receipt, first ? &stop : &down);
        receipt_note(receipt, first ? &down : &stop);
        receipt_unref(receipt);
        ck_assert_int_eq(settled_worst.verdict, VERDICT_RETRY);
        ck_assert_int_eq(settled_worst.cause, CAUSE_SHUTDOWN);
    }
}
END_TEST

START_TEST(partial_successes_add_up)
{
    struct outcome partial = outcome_of(VERDICT_OK, CAUSE_INVALID, "two bad");
    struct receipt *receipt = receipt_made();
    partial.rejected = 2;
    receipt_note(receipt, &partial);
    partial.rejected = 3;
    receipt_note(receipt, &partial);
    receipt_note(receipt, &OUTCOME_OK);
    receipt_unref(receipt);
    ck_assert_int_eq(settled_worst.verdict, VERDICT_OK);
    ck_assert_uint_eq(settled_worst.rejected, 5);
    ck_assert_str_eq(settled_worst.text, "two bad");
}
END_TEST

static void *note_and_drop(void *ctx)
{
    struct outcome reject = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "bad");
    receipt_note(ctx, &reject);
    receipt_unref(ctx);
    return NULL;
}

START_TEST(threads_may_share_it)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct receipt *receipt = receipt_made();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, note_and_drop, receipt_ref(receipt));
    receipt_unref(receipt);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(settled_count, 1);
    ck_assert_int_eq(settled_worst.verdict, VERDICT_REJECT);
}
END_TEST

/* ---- exporters 1, 2 ... of a receipt that is shared out ---- */

static char told[16]; /* the exporters that have all of it, in order */

static void delivered(void *ctx, uint64_t exporter)
{
    ck_assert_ptr_eq(ctx, &settled_count);
    size_t size = strlen(told);
    ck_assert_uint_lt(size + 1, sizeof told);
    told[size] = (char)('0' + exporter);
}

static struct receipt *shared_out(size_t exporters)
{
    static const struct receipt_store store = {.delivered = delivered};
    struct receipt *receipt = receipt_made();
    memset(told, 0, sizeof told);
    receipt_set_durable(receipt, &store);
    receipt_share_out(receipt, exporters);
    return receipt;
}

START_TEST(an_exporter_has_all_when_its_last_batch_and_everyones_are_over)
{
    struct receipt *receipt = shared_out(2);
    receipt_ref_of(receipt, 1);
    receipt_ref_of(receipt, 2);
    receipt_unref_of(receipt, 1);
    ck_assert_str_eq(told, "");
    receipt_ref_of(receipt, 1);
    receipt_unref(receipt);
    ck_assert_str_eq(told, "");
    receipt_ref_of(receipt, 1); /* a part of it */
    receipt_unref_of(receipt, 1);
    ck_assert_str_eq(told, "");
    receipt_unref_of(receipt, 1);
    ck_assert_str_eq(told, "1");
    receipt_unref_of(receipt, 2);
    ck_assert_str_eq(told, "1");
    ck_assert_uint_eq(settled_count, 1);
}
END_TEST

START_TEST(the_last_of_what_is_everyones_may_end_several)
{
    struct receipt *receipt = shared_out(3);
    for (uint64_t exporter = 1; exporter <= 3; exporter++)
        receipt_ref_of(receipt, exporter);
    receipt_unref_of(receipt, 3);
    receipt_unref_of(receipt, 1);
    ck_assert_str_eq(told, "");
    receipt_unref(receipt);
    ck_assert_str_eq(told, "13");
    receipt_unref_of(receipt, 2);
    ck_assert_str_eq(told, "13");
}
END_TEST

/* The other one has all of it even if it is the last. */
START_TEST(what_is_left_to_another_process_has_not_arrived)
{
    struct outcome stop = outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "shutting down");
    struct outcome bad = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "bad");
    struct receipt *receipt = shared_out(2);
    receipt_ref_of(receipt, 1);
    receipt_ref_of(receipt, 2);
    receipt_unref(receipt);
    receipt_note_of(receipt, &stop, 2);
    receipt_unref_of(receipt, 2);
    ck_assert_str_eq(told, "");
    receipt_note_of(receipt, &bad, 1);
    receipt_unref_of(receipt, 1);
    ck_assert_str_eq(told, "1");
}
END_TEST

START_TEST(what_is_left_before_it_was_anyones_has_arrived_nowhere)
{
    struct outcome memory = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    struct receipt *receipt = shared_out(2);
    receipt_ref_of(receipt, 1);
    receipt_ref_of(receipt, 2);
    receipt_note(receipt, &memory);
    receipt_unref(receipt);
    receipt_unref_of(receipt, 1);
    receipt_unref_of(receipt, 2);
    ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(with_more_exporters_than_it_knows_it_has_arrived_nowhere)
{
    struct receipt *receipt = shared_out(1);
    receipt_ref_of(receipt, 1);
    receipt_ref_of(receipt, 2);
    receipt_unref(receipt);
    receipt_unref_of(receipt, 1);
    receipt_unref_of(receipt, 2);
    ck_assert_str_eq(told, "");
    ck_assert_uint_eq(settled_count, 1);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_last_reference_settles_it_once,
        a_retry_outranks_a_rejection_in_any_order,
        the_stop_outranks_another_retry_in_any_order,
        partial_successes_add_up,
        threads_may_share_it,
        an_exporter_has_all_when_its_last_batch_and_everyones_are_over,
        the_last_of_what_is_everyones_may_end_several,
        what_is_left_to_another_process_has_not_arrived,
        what_is_left_before_it_was_anyones_has_arrived_nowhere,
        with_more_exporters_than_it_knows_it_has_arrived_nowhere,
        NULL,
    };
    return suite_run("receipt", tests);
}
