#include "processors/correlation/known/recent.h"

#include "lib/base/clock.h"
#include "lib/wire/otlp/otlp_span.h"
#include "tests/support/suite.h"

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

static enum recent_what take(struct fixture *fixture, uint64_t id, uint64_t *ended)
{
    return recent_take(&fixture->recent, fixture->shop, id, ended);
}

static void note(struct fixture *fixture, uint64_t id, enum recent_what what, uint64_t ended)
{
    recent_note(&fixture->recent, fixture->shop, id, what, ended);
}

START_TEST(what_became_of_a_span_is_told_once)
{
    struct fixture fixture;
    uint64_t ended;
    open_fixture(&fixture);
    ck_assert_int_eq(take(&fixture, 7, &ended), RECENT_NONE);
    note(&fixture, 7, RECENT_UNLINKED, 90 * S + 1);
    note(&fixture, 8, RECENT_CHILD, UINT64_MAX >> 3);
    ck_assert_int_eq(take(&fixture, 9, &ended), RECENT_NONE);
    ck_assert_int_eq(take(&fixture, 7, &ended), RECENT_UNLINKED);
    ck_assert_uint_eq(ended, 90 * S + 1);
    ck_assert_int_eq(take(&fixture, 7, &ended), RECENT_NONE);
    ck_assert_int_eq(take(&fixture, 8, &ended), RECENT_CHILD);
    ck_assert_uint_eq(ended, UINT64_MAX >> 3);
    close_fixture(&fixture);
}
END_TEST

START_TEST(what_became_of_it_last_counts)
{
    struct fixture fixture;
    uint64_t ended;
    open_fixture(&fixture);
    note(&fixture, 7, RECENT_CHILD, 90 * S);
    note(&fixture, 7, RECENT_UNLINKED, 91 * S);
    ck_assert_int_eq(take(&fixture, 7, &ended), RECENT_UNLINKED);
    ck_assert_uint_eq(ended, 91 * S);
    close_fixture(&fixture);
}
END_TEST

START_TEST(a_span_of_another_service_is_another_one)
{
    struct fixture fixture;
    uint64_t ended;
    open_fixture(&fixture);
    recent_note(&fixture.recent, fixture.other, 7, RECENT_UNLINKED, 90 * S);
    ck_assert_int_eq(take(&fixture, 7, &ended), RECENT_NONE);
    ck_assert_int_eq(recent_take(&fixture.recent, fixture.other, 7, &ended), RECENT_UNLINKED);
    close_fixture(&fixture);
}
END_TEST

START_TEST(both_byte_orders_of_an_id_are_one)
{
    struct fixture fixture;
    uint64_t ended;
    open_fixture(&fixture);
    note(&fixture, 0x1122334455667788, RECENT_UNLINKED, 90 * S);
    ck_assert_int_eq(take(&fixture, span_id_reversed(0x1122334455667788), &ended), RECENT_UNLINKED);
    note(&fixture, 0, RECENT_UNLINKED, 90 * S);
    ck_assert_int_eq(take(&fixture, 0, &ended), RECENT_NONE);
    close_fixture(&fixture);
}
END_TEST

START_TEST(of_many_children_some_are_wanted)
{
    struct fixture fixture;
    enum { N = 3200 };
    size_t wanted = 0;
    open_fixture(&fixture);
    for (uint64_t id = 1; id <= N; id++)
        wanted += recent_wants_child(fixture.shop, id, 100);
    ck_assert_uint_ge(wanted, 64 + (N - 64) / 16 - 4);
    ck_assert_uint_le(wanted, 64 + N / 16);
    ck_assert(!recent_wants_child(fixture.shop, N + 1, 100));
    ck_assert(recent_wants_child(fixture.other, N + 1, 100));
    ck_assert(recent_wants_child(fixture.shop, N + 1, 101));
    close_fixture(&fixture);
}
END_TEST

START_TEST(new_spans_take_the_places_of_old_ones)
{
    struct fixture fixture;
    enum { N = 200000, LAST = 1000 };
    size_t known = 0, old = 0;
    uint64_t ended;
    open_fixture(&fixture);
    size_t before = budget_used(&fixture.budget);
    for (uint64_t id = 1; id <= N; id++)
        note(&fixture, id, RECENT_UNLINKED, id);
    ck_assert_uint_le(budget_used(&fixture.budget) - before, 1 << 20);
    for (uint64_t id = 1; id <= N / 2; id++)
        old += take(&fixture, id, &ended) != RECENT_NONE;
    for (uint64_t id = N - LAST + 1; id <= N; id++)
        if (take(&fixture, id, &ended) != RECENT_NONE) {
            ck_assert_uint_eq(ended, id);
            known++;
        }
    ck_assert_uint_gt(known, LAST * 9 / 10);
    ck_assert_uint_lt(old, N / 200);
    close_fixture(&fixture);
}
END_TEST

START_TEST(without_budget_nothing_is_noted)
{
    struct fixture fixture;
    uint64_t ended;
    open_fixture(&fixture);
    fixture.budget.limit = budget_used(&fixture.budget);
    note(&fixture, 7, RECENT_UNLINKED, 90 * S);
    ck_assert_int_eq(take(&fixture, 7, &ended), RECENT_NONE);
    close_fixture(&fixture);
}
END_TEST

SUITE_MAIN("recent", what_became_of_a_span_is_told_once, what_became_of_it_last_counts,
           a_span_of_another_service_is_another_one, both_byte_orders_of_an_id_are_one,
           of_many_children_some_are_wanted, new_spans_take_the_places_of_old_ones,
           without_budget_nothing_is_noted)
