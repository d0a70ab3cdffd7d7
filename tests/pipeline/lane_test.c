#include "pipeline/lane.h"

#include "lib/base/clock.h"
#include "pipeline/batch.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#define BOTH (SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_PROFILES))

struct user {
    struct lane_user user;
    unsigned wakes, ends;
    enum cause cause;
};

static void on_wake(struct lane_user *user)
{
    ((struct user *)(void *)user)->wakes++;
}

static void on_end(struct lane_user *user, enum cause cause)
{
    ((struct user *)(void *)user)->ends++;
    ((struct user *)(void *)user)->cause = cause;
}

static struct user user_of(const void *owner, uint64_t due)
{
    return (struct user){.user = {.owner = owner, .due = due, .wake = on_wake, .end = on_end}};
}

START_TEST(clock_is_the_earliest_of_its_signals)
{
    struct lane *lane = lane_new("kafka", 3, BOTH);
    ck_assert_str_eq(lane_name(lane), "kafka");
    ck_assert_uint_eq(lane_partition(lane), 3);
    ck_assert_uint_eq(lane_clock(lane), 0);
    lane_reached(lane, SIGNAL_TRACES, 100);
    ck_assert_uint_eq(lane_clock(lane), 0);
    lane_reached(lane, SIGNAL_PROFILES, 70);
    ck_assert_uint_eq(lane_clock(lane), 70);
    lane_reached(lane, SIGNAL_PROFILES, 60);
    ck_assert_uint_eq(lane_clock(lane), 70);
    lane_at_end(lane, SIGNAL_PROFILES, 500);
    ck_assert_uint_eq(lane_clock(lane), 100);
    lane_at_end(lane, SIGNAL_TRACES, 400);
    ck_assert_uint_eq(lane_clock(lane), 400);
    lane_unref(lane);
}
END_TEST

START_TEST(users_are_woken_when_due_at_the_end_of_the_log)
{
    struct lane *lane = lane_new("kafka", 0, SIGNAL_BIT(SIGNAL_TRACES));
    int a, b;
    struct user first = user_of(&a, 100), second = user_of(&b, TIME_NEVER);
    ck_assert(lane_join(lane, &first.user));
    ck_assert(lane_join(lane, &second.user));
    ck_assert_ptr_eq(lane_find_user(lane, &a), &first.user);
    ck_assert_ptr_null(lane_find_user(lane, &lane));
    lane_at_end(lane, SIGNAL_TRACES, 99);
    ck_assert_uint_eq(first.wakes, 0);
    lane_reached(lane, SIGNAL_TRACES, 100);
    ck_assert_uint_eq(first.wakes, 0);
    lane_at_end(lane, SIGNAL_TRACES, 100);
    ck_assert_uint_eq(first.wakes, 1);
    ck_assert_uint_eq(second.wakes, 0);
    ck_assert(lane_leave(lane, &second.user));
    ck_assert(!lane_leave(lane, &second.user));
    lane_end(lane, CAUSE_REVOKED);
    lane_end(lane, CAUSE_SHUTDOWN);
    ck_assert_uint_eq(first.ends, 1);
    ck_assert_int_eq(first.cause, CAUSE_REVOKED);
    ck_assert_uint_eq(second.ends, 0);
    ck_assert(lane_ended(lane));
    ck_assert(!lane_leave(lane, &first.user));
    ck_assert(!lane_join(lane, &second.user));
    lane_unref(lane);
}
END_TEST

static struct budget budget;

static struct batch *batch_of(struct lane *lane)
{
    struct buffer *payload = buffer_new(0, &budget, true);
    struct batch *batch = batch_new(SIGNAL_PROFILES, BATCH_OTLP, payload, 0, NULL);
    if (lane)
        batch_set_lane(batch, lane, 42);
    return batch;
}

START_TEST(copies_keep_the_lane_and_lanes_do_not_mix)
{
    budget_init(&budget, SIZE_MAX);
    struct lane *lane = lane_new("kafka", 0, BOTH), *other = lane_new("kafka", 1, BOTH);
    struct batch *a = batch_of(lane), *b = batch_of(other), *c = batch_of(lane),
                 *d = batch_of(NULL);
    batch_set_ids_only(c);
    struct batch *copy = batch_with_payload(c, buffer_ref(c->payload), 0);
    ck_assert_ptr_eq(copy->lane, lane);
    ck_assert_uint_eq(copy->recorded, 42);
    ck_assert(copy->ids_only);
    ck_assert(batch_mergeable(a, a));
    ck_assert(!batch_mergeable(a, b));
    ck_assert(!batch_mergeable(a, c));
    ck_assert(!batch_mergeable(a, d));
    batch_unref(a);
    batch_unref(b);
    batch_unref(c);
    batch_unref(d);
    lane_unref(lane);
    lane_unref(other);
    batch_unref(copy);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        clock_is_the_earliest_of_its_signals,
        users_are_woken_when_due_at_the_end_of_the_log,
        copies_keep_the_lane_and_lanes_do_not_mix,
        NULL,
    };
    return suite_run("lane", tests);
}
