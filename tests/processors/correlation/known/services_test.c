#include "processors/correlation/known/services.h"

#include "lib/base/clock.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define S    NS_PER_S
#define HOUR (3600 * S)

static const struct confirm_by automatic = {.automatic = true};

static struct service *see(struct services *services, const char *name, uint64_t mono)
{
    return services_see(services, VIEW(""), view_of(name), mono);
}

/* A window of 10 s of the kind. */
static void note(struct services *services, struct service *service, enum kind kind, uint64_t end,
                 uint64_t mono)
{
    struct budget *budget = services->budget;
    bool again;
    struct timeline *timeline = service_timeline(service, kind, budget);
    const struct timeline_window window = {end, end + 10 * S, 10 * S, 1, end, false};
    struct sequence *sequence = timeline_place(timeline, &window, mono, HOUR, &again);
    timeline_take(timeline, sequence, &window, mono, HOUR);
}

START_TEST(a_service_is_the_same_by_name)
{
    struct services services;
    services_init(&services, 10, HOUR, NULL);
    struct service *a = see(&services, "a", 1);
    ck_assert_ptr_eq(see(&services, "a", 2), a);
    ck_assert_ptr_ne(see(&services, "b", 3), a);
    ck_assert_uint_eq(a->first_seen, 1);
    ck_assert(view_eq(service_name(a), VIEW("a")));
    services_release(&services);
}
END_TEST

START_TEST(tenants_have_services_of_their_own)
{
    struct services services;
    services_init(&services, 10, HOUR, NULL);
    struct service *none = see(&services, "ab", 1);
    struct service *a = services_see(&services, VIEW("a"), VIEW("b"), 1);
    struct service *b = services_see(&services, VIEW("b"), VIEW("b"), 1);
    ck_assert(a != b && a != none);
    ck_assert_uint_ne(service_scope(a), service_scope(b));
    ck_assert(view_eq(service_tenant(a), VIEW("a")) && view_eq(service_name(a), VIEW("b")));
    ck_assert_ptr_eq(services_see(&services, VIEW("a"), VIEW("b"), 2), a);
    services_release(&services);
}
END_TEST

START_TEST(past_its_ceiling_the_least_recently_seen_is_forgotten)
{
    struct services services;
    struct budget budget;
    char name[16];
    budget_init(&budget, SIZE_MAX);
    services_init(&services, 100, HOUR, &budget);
    struct service *pinned = see(&services, "pinned", 1);
    pinned->building = 1;
    see(&services, "kept", 1);
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "s%u", i);
        ck_assert_ptr_nonnull(see(&services, name, 2 + i));
        see(&services, "kept", 2 + i);
    }
    ck_assert_uint_eq(services.count, 100);
    ck_assert_uint_eq(services.forgotten, 902);
    ck_assert_ptr_eq(see(&services, "pinned", 2000), pinned);
    ck_assert_uint_eq(see(&services, "kept", 2000)->first_seen, 1);
    ck_assert_uint_eq(see(&services, "s0", 2000)->first_seen, 2000);
    services_release(&services);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

static void count_let_go(void *ctx, struct service *service)
{
    *(uint64_t *)ctx += service->held;
    service->held = 0;
}

START_TEST(the_spans_of_a_service_that_is_given_up_are_let_go)
{
    struct services services;
    uint64_t let_go = 0;
    services_init(&services, 1, HOUR, NULL);
    services.let_go = count_let_go;
    services.ctx = &let_go;
    struct service *a = see(&services, "a", 1);
    a->held = 3;
    a->counts.linked = 7;
    ck_assert_ptr_nonnull(see(&services, "b", 2));
    ck_assert_uint_eq(let_go, 3);
    ck_assert_uint_eq(services.gone.linked, 7);
    services_release(&services);
}
END_TEST

START_TEST(a_service_with_profiles_is_given_up_for_another_one_with_profiles_alone)
{
    struct services services;
    services_init(&services, 2, HOUR, NULL);
    struct service *a = services_see_profile(&services, VIEW(""), VIEW("a"), 1);
    see(&services, "x", 2);
    struct service *b = services_see_profile(&services, VIEW(""), VIEW("b"), 3);
    ck_assert_ptr_eq(see(&services, "a", 4), a);
    ck_assert_ptr_null(see(&services, "y", 5));
    ck_assert_ptr_eq(see(&services, "b", 6), b);
    ck_assert_ptr_nonnull(services_see_profile(&services, VIEW(""), VIEW("c"), 7));
    ck_assert_ptr_eq(see(&services, "b", 8), b);
    ck_assert_uint_eq(services.count, 2);
    ck_assert_uint_eq(services.forgotten, 2);
    services_release(&services);
}
END_TEST

START_TEST(a_service_whose_profiles_ended_long_ago_counts_as_one_without)
{
    struct services services;
    services_init(&services, 1, HOUR, NULL);
    services_see_profile(&services, VIEW(""), VIEW("a"), 1);
    ck_assert(see(&services, "a", HOUR)->profiled);
    ck_assert(!see(&services, "a", HOUR + 2)->profiled);
    ck_assert_ptr_nonnull(see(&services, "b", HOUR + 3));
    services_see_profile(&services, VIEW(""), VIEW("b"), HOUR + 4);
    ck_assert_ptr_nonnull(see(&services, "c", 3 * HOUR));
    services_release(&services);
}
END_TEST

START_TEST(a_service_that_is_being_read_keeps_its_place)
{
    struct services services;
    services_init(&services, 1, HOUR, NULL);
    struct service *a = see(&services, "a", 1);
    a->building = 1;
    ck_assert_ptr_null(see(&services, "b", 2));
    struct service *b = services_see_profile(&services, VIEW(""), VIEW("b"), 3);
    ck_assert_ptr_nonnull(b);
    a->building = 0;
    ck_assert_ptr_eq(see(&services, "b", 4), b);
    services_see_profile(&services, VIEW(""), VIEW("c"), 5);
    ck_assert_uint_eq(services.count, 1);
    services_release(&services);
}
END_TEST

/* Services with profiles, many and with long names, leave room for requests. */
START_TEST(names_leave_a_share_of_the_budget_to_requests)
{
    enum { LIMIT = 4 << 20 };
    struct services services;
    struct budget budget;
    char name[1000];
    budget_init(&budget, LIMIT);
    services_init(&services, 10000, HOUR, &budget);
    for (unsigned i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "%0900u", i);
        struct service *service = services_see_profile(&services, VIEW(""), view_of(name), 2 + i);
        ck_assert_ptr_nonnull(service);
        note(&services, service, KIND_PROCESS_CPU, 2 + i, 2 + i);
    }
    ck_assert(budget_take(&budget, LIMIT / 5));
    ck_assert_uint_gt(budget_used(&budget), LIMIT / 2);
    /* Once requests take more, they give way, but for an eighth. */
    size_t before = services.bytes;
    budget_force(&budget, LIMIT / 5);
    services_see_profile(&services, VIEW(""), view_of(name), 20000);
    ck_assert_uint_lt(services.bytes, before - LIMIT / 8);
    budget_force(&budget, LIMIT);
    services_see_profile(&services, VIEW(""), view_of(name), 20001);
    ck_assert_uint_le(services.bytes, LIMIT / 8);
    ck_assert_uint_gt(services.bytes, LIMIT / 16);
    budget_give(&budget, LIMIT / 5 * 2 + LIMIT);
    services_release(&services);
    ck_assert_uint_eq(budget_used(&budget), 0);
    ck_assert_uint_eq(services.bytes, 0);
}
END_TEST

/* What is known of a service counts, too. */
START_TEST(windows_of_services_leave_a_share_of_the_budget_to_requests)
{
    enum { LIMIT = 1 << 20 };
    struct services services;
    struct budget budget;
    char name[16];
    budget_init(&budget, LIMIT);
    services_init(&services, 10000, HOUR, &budget);
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t mono = 20 * S * (1 + i);
        snprintf(name, sizeof name, "s%u", i % 300);
        struct service *service = services_see_profile(&services, VIEW(""), view_of(name), 2 + i);
        ck_assert_ptr_nonnull(service);
        note(&services, service, (enum kind)(i % KIND_COUNT), mono, 2 + i);
    }
    ck_assert(budget_take(&budget, LIMIT / 5));
    services_release(&services);
    budget_give(&budget, LIMIT / 5);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(a_service_silent_for_remember_starts_anew)
{
    struct services services;
    struct budget budget;
    budget_init(&budget, SIZE_MAX);
    services_init(&services, 10, HOUR, &budget);
    struct service *service = see(&services, "a", 1);
    note(&services, service, KIND_PROCESS_CPU, 5, 1);
    service->wide = service->from_node = service->named = true;
    service->first_candidate = 1;
    service->counts.linked = 7;
    ck_assert_ptr_nonnull(see(&services, "a", HOUR)->timelines[KIND_PROCESS_CPU]);
    ck_assert_ptr_eq(see(&services, "a", 3 * HOUR), service);
    ck_assert_ptr_null(service->timelines[KIND_PROCESS_CPU]);
    ck_assert_uint_eq(service->first_seen, 3 * HOUR);
    ck_assert(!service->wide && !service->from_node && !service->named);
    ck_assert_uint_eq(service->first_candidate, 0);
    ck_assert_uint_eq(service->counts.linked, 7);
    services_release(&services);
}
END_TEST

START_TEST(children_are_waited_for_until_none_had_samples_for_remember)
{
    struct services services;
    services_init(&services, 10, HOUR, NULL);
    struct service *service = see(&services, "a", 0);
    ck_assert(!service_is_wide(service, 1, HOUR));
    service_note_wide(service, 10);
    ck_assert(service_is_wide(service, 10 + HOUR, HOUR));
    ck_assert(!service_is_wide(service, 11 + HOUR, HOUR));
    services_release(&services);
}
END_TEST

START_TEST(cpu_confirms_where_it_is_sent_else_wall_does_too)
{
    struct services services;
    services_init(&services, 10, HOUR, NULL);
    struct service *service = see(&services, "a", 0);
    unsigned either = KIND_BIT(KIND_PROCESS_CPU) | KIND_BIT(KIND_WALL);
    ck_assert_uint_eq(service_kinds(service, &automatic, 0, HOUR), either);
    ck_assert_uint_eq(service_kinds(NULL, &automatic, 0, HOUR), either);
    note(&services, service, KIND_WALL, 1, 0);
    ck_assert_uint_eq(service_kinds(service, &automatic, 0, HOUR), either);
    note(&services, service, KIND_PROCESS_CPU, 1, 0);
    ck_assert_uint_eq(service_kinds(service, &automatic, 0, HOUR), KIND_BIT(KIND_PROCESS_CPU));
    ck_assert_uint_eq(service_kinds(service, &automatic, 2 * HOUR, HOUR), either);
    services_release(&services);
}
END_TEST

SUITE_MAIN("services", a_service_is_the_same_by_name, tenants_have_services_of_their_own,
           past_its_ceiling_the_least_recently_seen_is_forgotten,
           the_spans_of_a_service_that_is_given_up_are_let_go,
           a_service_with_profiles_is_given_up_for_another_one_with_profiles_alone,
           a_service_whose_profiles_ended_long_ago_counts_as_one_without,
           a_service_that_is_being_read_keeps_its_place,
           names_leave_a_share_of_the_budget_to_requests,
           windows_of_services_leave_a_share_of_the_budget_to_requests,
           a_service_silent_for_remember_starts_anew,
           children_are_waited_for_until_none_had_samples_for_remember,
           cpu_confirms_where_it_is_sent_else_wall_does_too)
