#include "processors/correlation/recent.h"

#include "base/clock.h"
#include "tests/support/suite.h"
#include "wire/otlp_span.h"

#define S    NS_PER_S
#define HOUR (3600 * S)

struct fixture {
    struct budget budget;
    struct services services;
    struct recent recent;
    struct service *shop, *other;
};

static void open_fixture(struct fixture *fixture)
{
    budget_init(&fixture->budget, SIZE_MAX);
    services_init(&fixture->services, 10, HOUR, &fixture->budget);
    recent_init(&fixture->recent, 3, &fixture->budget);
    fixture->shop = services_see(&fixture->services, VIEW(""), VIEW("shop"), 1);
    fixture->other = services_see(&fixture->services, VIEW(""), VIEW("other"), 1);
}

static void close_fixture(struct fixture *fixture)
{
    recent_release(&fixture->recent);
    services_release(&fixture->services);
    ck_assert_uint_eq(budget_used(&fixture->budget), 0);
}

/* Asked at this time of a clock that began with second 0. */
static enum recent_what take(struct fixture *fixture, uint64_t id, uint64_t mono, uint64_t *ended)
{
    struct recent_now now = {mono, (uint32_t)(mono / S)};
    return recent_take(&fixture->recent, fixture->shop, id, now, ended);
}

static void note(struct fixture *fixture, uint64_t id, enum recent_what what, uint64_t ended,
                 uint64_t mono)
{
    recent_note(&fixture->recent, fixture->shop, id, what, ended, (uint32_t)(mono / S));
}

START_TEST(what_became_of_a_span_is_told_once)
{
    struct fixture fixture;
    uint64_t ended;
    open_fixture(&fixture);
    note(&fixture, 7, RECENT_UNLINKED, 90 * S, 100 * S);
    note(&fixture, 8, RECENT_CHILD, 95 * S, 100 * S);
    ck_assert_int_eq(take(&fixture, 9, 110 * S, &ended), RECENT_NONE);
    ck_assert_int_eq(take(&fixture, 7, 110 * S, &ended), RECENT_UNLINKED);
    ck_assert_uint_eq(ended, 90 * S);
    ck_assert_int_eq(take(&fixture, 7, 110 * S, &ended), RECENT_NONE);
    ck_assert_int_eq(take(&fixture, 8, 110 * S, &ended), RECENT_CHILD);
    ck_assert_uint_eq(ended, 95 * S);
    close_fixture(&fixture);
}
END_TEST

START_TEST(a_span_of_another_service_is_another_one)
{
    struct fixture fixture;
    uint64_t ended;
    open_fixture(&fixture);
    recent_note(&fixture.recent, fixture.other, 7, RECENT_UNLINKED, 90 * S, 100);
    ck_assert_int_eq(take(&fixture, 7, 110 * S, &ended), RECENT_NONE);
    close_fixture(&fixture);
}
END_TEST

START_TEST(both_byte_orders_of_an_id_are_one)
{
    struct fixture fixture;
    uint64_t ended;
    open_fixture(&fixture);
    note(&fixture, 0x1122334455667788, RECENT_UNLINKED, 90 * S, 100 * S);
    ck_assert_int_eq(take(&fixture, span_id_reversed(0x1122334455667788), 101 * S, &ended),
                     RECENT_UNLINKED);
    close_fixture(&fixture);
}
END_TEST

START_TEST(a_span_is_forgotten_after_a_few_minutes)
{
    struct fixture fixture;
    uint64_t ended;
    open_fixture(&fixture);
    note(&fixture, 7, RECENT_UNLINKED, 90 * S, 100 * S);
    note(&fixture, 8, RECENT_UNLINKED, 90 * S, 100 * S);
    ck_assert_int_eq(take(&fixture, 7, 250 * S, &ended), RECENT_UNLINKED);
    ck_assert_int_eq(take(&fixture, 8, 251 * S, &ended), RECENT_NONE);
    note(&fixture, 0, RECENT_UNLINKED, 90 * S, 100 * S);
    ck_assert_int_eq(take(&fixture, 0, 101 * S, &ended), RECENT_NONE);
    close_fixture(&fixture);
}
END_TEST

/* A millisecond takes 30 bits, twelve days of them. */
START_TEST(when_it_ended_is_told_to_the_millisecond_however_long_the_process_runs)
{
    struct fixture fixture;
    uint64_t turn = (UINT64_C(1) << 30) * NS_PER_MS, ended;
    open_fixture(&fixture);
    const uint64_t ends[] = {turn - 5 * NS_PER_MS, turn, turn + 1234567 * NS_PER_MS,
                             9 * turn - NS_PER_MS};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        note(&fixture, 1 + i, RECENT_UNLINKED, ends[i] + 999, ends[i]);
        ck_assert_int_eq(take(&fixture, 1 + i, ends[i] + 20 * S, &ended), RECENT_UNLINKED);
        ck_assert_uint_eq(ended, ends[i]);
    }
    close_fixture(&fixture);
}
END_TEST

START_TEST(of_many_children_some_are_noted_and_given_up_spans_all)
{
    struct fixture fixture;
    uint64_t ended;
    enum { N = 3200 };
    size_t children = 0, given_up = 0;
    open_fixture(&fixture);
    for (uint64_t id = 1; id <= N; id++)
        note(&fixture, id, RECENT_CHILD, 99 * S, 100 * S);
    for (uint64_t id = N + 1; id <= 2 * N; id++)
        note(&fixture, id, RECENT_UNLINKED, 99 * S, 100 * S);
    note(&fixture, 3 * N + 1, RECENT_CHILD, 99 * S, 101 * S);
    for (uint64_t id = 1; id <= 2 * N; id++)
        *(id <= N ? &children : &given_up) += take(&fixture, id, 101 * S, &ended) != RECENT_NONE;
    ck_assert_uint_eq(given_up, N);
    ck_assert_uint_ge(children, 64 + (N - 64) / 16);
    ck_assert_uint_le(children, 64 + N / 16);
    ck_assert_int_eq(take(&fixture, 3 * N + 1, 101 * S, &ended), RECENT_CHILD);
    close_fixture(&fixture);
}
END_TEST

START_TEST(its_memory_has_a_ceiling)
{
    struct fixture fixture;
    open_fixture(&fixture);
    size_t before = budget_used(&fixture.budget);
    for (uint64_t id = 1; id <= 200000; id++)
        note(&fixture, id, RECENT_UNLINKED, 99 * S, 100 * S);
    ck_assert_uint_le(budget_used(&fixture.budget) - before, 1 << 20);
    close_fixture(&fixture);
}
END_TEST

SUITE_MAIN("recent", what_became_of_a_span_is_told_once, a_span_of_another_service_is_another_one,
           both_byte_orders_of_an_id_are_one, a_span_is_forgotten_after_a_few_minutes,
           when_it_ended_is_told_to_the_millisecond_however_long_the_process_runs,
           of_many_children_some_are_noted_and_given_up_spans_all, its_memory_has_a_ceiling)
