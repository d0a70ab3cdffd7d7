/* Requests that wait for room in a full queue (pipeline/delivery/sender.h). */
#include "pipeline/delivery/sender_wait.h"

#include "pipeline/delivery/delivery.h"
#include "tests/support/fake_clock.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

static struct delivery settings;
static struct fake_clock fake;
static struct meter meter;
static struct ticker *ticker;
static struct env env;
static struct sender *sender;
static unsigned served;

static const struct delivery *delivery_of(const void *self)
{
    (void)self;
    return &settings;
}

static struct outcome send_nothing(void *self, struct batch *batch)
{
    (void)self, (void)batch;
    return OUTCOME_OK;
}

static const struct component component = {
    .type = "exporter", .kind = COMPONENT_EXPORTER, .send = send_nothing, .delivery = delivery_of};

static void serve(void *ctx, struct sender *from)
{
    (void)ctx, (void)from;
    served++;
}

/* A queue for ten requests, all of whose places are reserved. */
static void begin(void)
{
    fake_clock_init(&fake);
    meter_init(&meter, "exporter");
    ticker = ticker_new(&fake.clock);
    env = (struct env){.id = "exporter", .clock = &fake.clock, .meter = &meter, .ticker = ticker};
    settings.queue = (struct queue_settings){
        .enabled = true, .num_consumers = 1, .queue_size = 10, .block_on_overflow = true};
    sender = sender_new(&component, NULL, &env);
    ck_assert_ptr_nonnull(sender);
    sender_on_room(sender, serve, NULL);
    ck_assert(sender_reserve_last(sender, 10));
    served = 0;
}

static void end(void)
{
    sender_abort(sender);
    sender_free(sender);
    ticker_free(ticker);
}

static void wait_for(struct sender_waiter *waiter, size_t places)
{
    waiter->places = places;
    ck_assert_int_eq(sender_wait(sender, waiter), SENDER_WAITS);
}

static void next_is(enum sender_turn turn, const struct sender_waiter *expected)
{
    struct sender_waiter *waiter;
    ck_assert_int_eq(sender_next(sender, &waiter), turn);
    ck_assert_ptr_eq(waiter, expected);
}

START_TEST(the_first_is_given_its_places_and_no_other)
{
    struct sender_waiter first = {0}, second = {0};
    begin();
    wait_for(&first, 3);
    wait_for(&second, 1);
    sender_release(sender, 2);
    next_is(SENDER_WAITS, NULL);
    ck_assert(!sender_reserve_last(sender, 1));
    sender_release(sender, 2);
    next_is(SENDER_RESERVED, &first);
    next_is(SENDER_RESERVED, &second);
    next_is(SENDER_WAITS, NULL);
    ck_assert(!sender_reserve(sender, 1));
    end();
}
END_TEST

START_TEST(one_that_comes_from_another_queue_keeps_its_turn)
{
    struct sender_waiter early = {0}, late = {0}, later = {0};
    begin();
    wait_for(&early, 1);
    sender_release(sender, 1);
    next_is(SENDER_RESERVED, &early);
    fake_clock_advance(&fake, NS_PER_S);
    wait_for(&late, 1);
    wait_for(&early, 1); /* as after another queue had no room */
    wait_for(&later, 1);
    sender_release(sender, 1);
    next_is(SENDER_RESERVED, &early);
    fake_clock_advance(&fake, SENDER_WAIT_NS);
    next_is(SENDER_FULL, &late);
    next_is(SENDER_FULL, &later);
    end();
}
END_TEST

START_TEST(the_ticker_serves_when_a_place_is_released_and_when_time_is_up)
{
    struct sender_waiter waiter = {0};
    begin();
    wait_for(&waiter, 1);
    ticker_step(ticker);
    ck_assert_uint_eq(served, 0);
    sender_release(sender, 1);
    ticker_step(ticker);
    ck_assert_uint_eq(served, 1);
    fake_clock_advance(&fake, SENDER_WAIT_NS);
    ticker_step(ticker);
    ck_assert_uint_eq(served, 2);
    next_is(SENDER_FULL, &waiter);
    end();
}
END_TEST

/* A processor's, for example, which offers it again soon. */
START_TEST(a_place_is_kept_for_accepted_data_that_found_none)
{
    struct sender_waiter waiter = {0};
    begin();
    wait_for(&waiter, 1);
    ck_assert(!sender_reserve(sender, 2));
    sender_release(sender, 2);
    next_is(SENDER_WAITS, NULL);
    ck_assert(sender_reserve(sender, 2));
    sender_release(sender, 1);
    next_is(SENDER_RESERVED, &waiter);
    end();
}
END_TEST

START_TEST(a_place_is_not_kept_for_ever)
{
    struct sender_waiter waiter = {0};
    begin();
    wait_for(&waiter, 1);
    ck_assert(!sender_reserve(sender, 2));
    sender_release(sender, 2);
    ticker_step(ticker);
    next_is(SENDER_WAITS, NULL);
    fake_clock_advance(&fake, NS_PER_S);
    served = 0;
    ticker_step(ticker);
    ck_assert_uint_eq(served, 1);
    next_is(SENDER_RESERVED, &waiter);
    end();
}
END_TEST

START_TEST(none_waits_without_the_key_or_while_stopping)
{
    struct sender_waiter waiter = {0}, another = {.places = 1};
    begin();
    wait_for(&waiter, 1);
    sender_hasten(sender);
    ck_assert_uint_eq(served, 1);
    ck_assert_int_eq(sender_wait(sender, &another), SENDER_FULL);
    next_is(SENDER_STOPS, &waiter);
    end();
    begin();
    settings.queue.block_on_overflow = false;
    sender_free(sender);
    sender = sender_new(&component, NULL, &env);
    ck_assert(sender_reserve_last(sender, 10));
    ck_assert(!sender_blocks(sender));
    ck_assert_int_eq(sender_wait(sender, &another), SENDER_FULL);
    end();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_first_is_given_its_places_and_no_other,
        one_that_comes_from_another_queue_keeps_its_turn,
        the_ticker_serves_when_a_place_is_released_and_when_time_is_up,
        a_place_is_kept_for_accepted_data_that_found_none,
        a_place_is_not_kept_for_ever,
        none_waits_without_the_key_or_while_stopping,
        NULL,
    };
    return suite_run("sender_wait", tests);
}
