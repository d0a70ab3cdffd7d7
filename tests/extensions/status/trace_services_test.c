#include "extensions/status/trace_services.h"

#include "tests/support/suite.h"

static unsigned count(const struct trace_services *services, uint32_t list)
{
    unsigned n = 0;
    const struct trace_service *each = trace_services_first(services, list);
    for (; each; each = trace_services_next(services, each))
        n++;
    return n;
}

START_TEST(each_trace_has_its_services_in_the_order_in_which_they_came)
{
    struct trace_services services;
    uint32_t a = 0, b = 0;
    trace_services_init(&services, NULL);
    for (uint16_t name = 1; name <= 40; name++) {
        trace_services_put(&services, &a, name)->root = name;
        trace_services_put(&services, &b, (uint16_t)(41 - name))->linked = true;
    }
    ck_assert_uint_eq(trace_services_put(&services, &a, 20)->root, 20);
    ck_assert(!trace_services_put(&services, &a, 20)->linked);
    ck_assert(trace_services_put(&services, &b, 20)->linked);
    ck_assert_uint_eq(count(&services, a), 40);
    ck_assert_uint_eq(trace_services_first(&services, a)->name, 1);
    ck_assert_uint_eq(trace_services_first(&services, b)->name, 40);
    trace_services_release(&services);
}
END_TEST

START_TEST(what_a_trace_gives_back_is_used_again)
{
    struct trace_services services;
    trace_services_init(&services, NULL);
    uint32_t kept = 0, capacity = 0;
    trace_services_put(&services, &kept, 7)->root = 70;
    for (int turn = 0; turn < 100; turn++) {
        uint32_t list = 0;
        for (uint16_t name = 1; name <= TRACE_SERVICES; name++)
            ck_assert_ptr_nonnull(trace_services_put(&services, &list, name));
        capacity = capacity ? capacity : services.capacity;
        trace_services_drop(&services, list);
    }
    ck_assert_uint_eq(services.capacity, capacity);
    ck_assert_uint_eq(trace_services_put(&services, &kept, 7)->root, 70);
    ck_assert_uint_eq(count(&services, kept), 1);
    trace_services_release(&services);
}
END_TEST

START_TEST(a_trace_and_all_together_have_so_many_and_memory_has_its_limit)
{
    struct trace_services services;
    struct budget budget;
    uint32_t list = 0;
    trace_services_init(&services, NULL);
    for (uint16_t name = 1; name <= TRACE_SERVICES; name++)
        ck_assert_ptr_nonnull(trace_services_put(&services, &list, name));
    ck_assert_ptr_null(trace_services_put(&services, &list, TRACE_SERVICES + 1));
    ck_assert_ptr_nonnull(trace_services_put(&services, &list, TRACE_SERVICES));
    size_t all = TRACE_SERVICES;
    for (struct trace_service *entry = NULL; all == TRACE_SERVICES || entry; all += entry != NULL) {
        uint32_t other = 0;
        entry = trace_services_put(&services, &other, 1);
        if (!entry)
            break;
    }
    ck_assert_uint_eq(all, TRACE_SERVICES_ALL - 1);
    trace_services_release(&services);

    budget_init(&budget, 1000);
    list = 0;
    trace_services_init(&services, &budget);
    ck_assert_ptr_null(trace_services_put(&services, &list, 1));
    ck_assert_uint_eq(list, 0);
    trace_services_release(&services);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

SUITE_MAIN("status trace services", each_trace_has_its_services_in_the_order_in_which_they_came,
           what_a_trace_gives_back_is_used_again,
           a_trace_and_all_together_have_so_many_and_memory_has_its_limit)
