#include "pipeline/receipt.h"

#include "tests/support/suite.h"

#include <pthread.h>

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

int main(void)
{
    const TTest *const tests[] = {
        the_last_reference_settles_it_once,
        a_retry_outranks_a_rejection_in_any_order,
        the_stop_outranks_another_retry_in_any_order,
        partial_successes_add_up,
        threads_may_share_it,
        NULL,
    };
    return suite_run("receipt", tests);
}
