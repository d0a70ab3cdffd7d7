#include "pipeline/ticker.h"

#include "tests/support/fake_clock.h"
#include "tests/support/suite.h"

#include <pthread.h>

struct bell {
    struct ticker_entry entry;
    struct ticker *ticker;
    pthread_mutex_t lock;
    pthread_cond_t rang;
    unsigned rings;
    uint64_t last;
    uint64_t next; /* what a ring answers */
    uint64_t asks; /* what a ring asks for besides; TIME_NEVER: nothing */
};

static uint64_t ring(void *ctx, uint64_t mono_ns)
{
    struct bell *bell = ctx;
    pthread_mutex_lock(&bell->lock);
    bell->rings++;
    bell->last = mono_ns;
    uint64_t next = bell->next;
    pthread_cond_broadcast(&bell->rang);
    pthread_mutex_unlock(&bell->lock);
    if (bell->asks != TIME_NEVER)
        ticker_at(bell->ticker, &bell->entry, bell->asks);
    return next;
}

static void bell_init(struct bell *bell, struct ticker *ticker)
{
    *bell = (struct bell){.ticker = ticker, .next = TIME_NEVER, .asks = TIME_NEVER};
    pthread_mutex_init(&bell->lock, NULL);
    pthread_cond_init(&bell->rang, NULL);
    bell->entry.tick = ring;
    bell->entry.ctx = bell;
    ticker_add(ticker, &bell->entry);
}

START_TEST(nothing_is_due_until_asked_for)
{
    struct fake_clock fake;
    struct bell bell;
    fake_clock_init(&fake);
    struct ticker *ticker = ticker_new(&fake.clock);
    bell_init(&bell, ticker);
    ck_assert_uint_eq(ticker_step(ticker), TIME_NEVER);
    ck_assert_uint_eq(bell.rings, 0);
    ticker_at(ticker, &bell.entry, 0);
    ck_assert_uint_eq(ticker_step(ticker), TIME_NEVER);
    ck_assert_uint_eq(bell.rings, 1);
    ticker_free(ticker);
}
END_TEST

START_TEST(the_earliest_time_asked_for_counts)
{
    struct fake_clock fake;
    struct bell bell;
    fake_clock_init(&fake);
    uint64_t now = fake.mono;
    struct ticker *ticker = ticker_new(&fake.clock);
    bell_init(&bell, ticker);
    ticker_at(ticker, &bell.entry, now + 200);
    ticker_at(ticker, &bell.entry, now + 100);
    ticker_at(ticker, &bell.entry, now + 300);
    ck_assert_uint_eq(ticker_step(ticker), now + 100);
    fake_clock_advance(&fake, 100);
    bell.next = now + 500;
    ck_assert_uint_eq(ticker_step(ticker), now + 500);
    ck_assert_uint_eq(bell.last, now + 100);
    ticker_free(ticker);
}
END_TEST

START_TEST(a_tick_that_asks_for_an_earlier_time_gets_it_in_a_later_step)
{
    struct fake_clock fake;
    struct bell bell;
    fake_clock_init(&fake);
    struct ticker *ticker = ticker_new(&fake.clock);
    bell_init(&bell, ticker);
    bell.asks = 0;
    ticker_at(ticker, &bell.entry, 0);
    ck_assert_uint_eq(ticker_step(ticker), 0);
    ck_assert_uint_eq(bell.rings, 1);
    ticker_free(ticker);
}
END_TEST

START_TEST(what_was_removed_does_not_ring)
{
    struct fake_clock fake;
    struct bell one, two;
    fake_clock_init(&fake);
    struct ticker *ticker = ticker_new(&fake.clock);
    bell_init(&one, ticker);
    bell_init(&two, ticker);
    ticker_at(ticker, &one.entry, 0);
    ticker_at(ticker, &two.entry, 0);
    ticker_remove(ticker, &one.entry);
    ticker_remove(ticker, &one.entry);
    ticker_step(ticker);
    ck_assert_uint_eq(one.rings, 0);
    ck_assert_uint_eq(two.rings, 1);
    ticker_free(ticker);
}
END_TEST

START_TEST(with_the_system_clock_a_thread_rings)
{
    struct bell bell;
    struct ticker *ticker = ticker_new(&clock_system);
    bell_init(&bell, ticker);
    ck_assert(ticker_start(ticker));
    ck_assert(ticker_threaded(ticker));
    for (unsigned wanted = 1; wanted <= 3; wanted++) {
        ticker_at(ticker, &bell.entry, clock_mono(&clock_system) + NS_PER_MS);
        pthread_mutex_lock(&bell.lock);
        while (bell.rings < wanted)
            pthread_cond_wait(&bell.rang, &bell.lock);
        pthread_mutex_unlock(&bell.lock);
    }
    ticker_remove(ticker, &bell.entry);
    ticker_free(ticker);
    ck_assert_uint_eq(bell.rings, 3);
}
END_TEST

START_TEST(nothing_ticks_while_it_is_paused)
{
    struct fake_clock fake;
    struct bell bell;
    fake_clock_init(&fake);
    struct ticker *ticker = ticker_new(&fake.clock);
    bell_init(&bell, ticker);
    ticker_at(ticker, &bell.entry, 0);
    ticker_pause(ticker);
    ticker_step(ticker);
    ck_assert_uint_eq(bell.rings, 0);
    ticker_resume(ticker);
    ticker_step(ticker);
    ck_assert_uint_eq(bell.rings, 1);
    ticker_free(ticker);
}
END_TEST

START_TEST(a_thread_that_was_paused_ticks_on)
{
    struct bell bell;
    struct ticker *ticker = ticker_new(&clock_system);
    bell_init(&bell, ticker);
    ck_assert(ticker_start(ticker));
    ticker_pause(ticker);
    ticker_at(ticker, &bell.entry, 0);
    ticker_resume(ticker);
    pthread_mutex_lock(&bell.lock);
    while (bell.rings == 0)
        pthread_cond_wait(&bell.rang, &bell.lock);
    pthread_mutex_unlock(&bell.lock);
    ticker_free(ticker);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        nothing_is_due_until_asked_for,
        the_earliest_time_asked_for_counts,
        a_tick_that_asks_for_an_earlier_time_gets_it_in_a_later_step,
        what_was_removed_does_not_ring,
        with_the_system_clock_a_thread_rings,
        nothing_ticks_while_it_is_paused,
        a_thread_that_was_paused_ticks_on,
        NULL,
    };
    return suite_run("ticker", tests);
}
