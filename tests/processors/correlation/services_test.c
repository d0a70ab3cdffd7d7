#include "processors/correlation/services.h"

#include "base/clock.h"
#include "settings/key.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define S    NS_PER_S
#define HOUR (3600 * S)

static const struct confirm_by automatic = {.automatic = true};

static struct service *see(struct services *services, const char *name, uint64_t mono)
{
    return services_see(services, view_of(name), mono);
}

static struct judge_service judged(const struct service *service, uint64_t mono)
{
    return service_judged_as(service, &automatic, DURATION_AUTO, mono, HOUR);
}

static void note(struct service *service, enum kind kind, uint64_t end, uint64_t length,
                 uint64_t mono)
{
    service_note_window(service, &(struct window){kind, end, length}, mono, HOUR);
}

START_TEST(a_service_is_the_same_by_name)
{
    struct services services;
    services_init(&services, 10, HOUR, NULL);
    struct service *a = see(&services, "a", 1);
    ck_assert_ptr_eq(see(&services, "a", 2), a);
    ck_assert_ptr_ne(see(&services, "b", 3), a);
    ck_assert_uint_eq(a->first_seen, 1);
    ck_assert_uint_eq(a->last_seen, 2);
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

START_TEST(where_every_service_has_spans_waiting_there_is_no_room)
{
    struct services services;
    services_init(&services, 1, HOUR, NULL);
    see(&services, "a", 1)->building = 1;
    ck_assert_ptr_null(see(&services, "b", 2));
    services_release(&services);
}
END_TEST

START_TEST(a_service_silent_for_remember_starts_anew)
{
    struct services services;
    services_init(&services, 10, HOUR, NULL);
    struct service *service = see(&services, "a", 1);
    note(service, KIND_PROCESS_CPU, 5, 10 * S, 1);
    service->wide = service->from_node = true;
    ck_assert(judged(see(&services, "a", HOUR), HOUR).profiled);
    ck_assert(!judged(see(&services, "a", 3 * HOUR), 3 * HOUR).profiled);
    ck_assert_uint_eq(service->first_seen, 3 * HOUR);
    ck_assert(!service->wide && !service->from_node);
    services_release(&services);
}
END_TEST

START_TEST(profiled_is_remembered_for_so_long)
{
    struct services services;
    services_init(&services, 10, HOUR, NULL);
    struct service *service = see(&services, "a", 0);
    ck_assert(!judged(service, 0).profiled);
    note(service, KIND_MEMORY, 5, 0, 10);
    ck_assert(judged(service, 10 + HOUR).profiled);
    ck_assert(!judged(service, 11 + HOUR).profiled);
    services_release(&services);
}
END_TEST

START_TEST(windows_are_kept_apart_by_kind)
{
    struct services services;
    services_init(&services, 10, HOUR, NULL);
    struct service *service = see(&services, "a", 0);
    note(service, KIND_WALL, 100 * S, 60 * S, 1);
    note(service, KIND_WALL, 160 * S, 60 * S, 1);
    ck_assert_uint_eq(judged(service, 1).watermark, 160 * S);
    ck_assert_uint_eq(judged(service, 1).window, 60 * S);
    ck_assert_uint_eq(judged(service, 1).hold, 90 * S);
    note(service, KIND_MEMORY, 500 * S, 0, 1);
    ck_assert_uint_eq(judged(service, 1).watermark, 160 * S);
    note(service, KIND_PROCESS_CPU, 90 * S, 10 * S, 1);
    note(service, KIND_PROCESS_CPU, 80 * S, 10 * S, 1);
    ck_assert_uint_eq(judged(service, 1).watermark, 90 * S);
    ck_assert_uint_eq(judged(service, 1).hold, 20 * S);
    services_release(&services);
}
END_TEST

START_TEST(where_several_kinds_confirm_the_last_of_them_decides)
{
    struct services services;
    services_init(&services, 10, HOUR, NULL);
    struct service *service = see(&services, "a", 0);
    const struct confirm_by both = {.kinds = KIND_BIT(KIND_PROCESS_CPU) | KIND_BIT(KIND_WALL) |
                                             KIND_BIT(KIND_BLOCK)};
    note(service, KIND_WALL, 100 * S, 60 * S, 1);
    note(service, KIND_PROCESS_CPU, 90 * S, 10 * S, 1);
    struct judge_service known = service_judged_as(service, &both, DURATION_AUTO, 1, HOUR);
    ck_assert_uint_eq(known.watermark, 90 * S);
    ck_assert_uint_eq(known.window, 60 * S);
    services_release(&services);
}
END_TEST

START_TEST(a_window_that_was_a_mistake_is_forgotten)
{
    struct services services;
    services_init(&services, 10, HOUR, NULL);
    struct service *service = see(&services, "a", 0);
    note(service, KIND_PROCESS_CPU, 1, 1000 * HOUR, 0);
    ck_assert_uint_eq(judged(service, 0).window, HOUR);
    for (uint64_t at = 10 * S; at < 3 * HOUR; at += 10 * S)
        note(service, KIND_PROCESS_CPU, at, 10 * S, at);
    ck_assert_uint_eq(judged(service, 3 * HOUR).window, 10 * S);
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
    note(service, KIND_WALL, 1, 10 * S, 0);
    ck_assert_uint_eq(service_kinds(service, &automatic, 0, HOUR), either);
    note(service, KIND_PROCESS_CPU, 1, 10 * S, 0);
    ck_assert_uint_eq(service_kinds(service, &automatic, 0, HOUR), KIND_BIT(KIND_PROCESS_CPU));
    ck_assert_uint_eq(service_kinds(service, &automatic, 2 * HOUR, HOUR), either);
    services_release(&services);
}
END_TEST

SUITE_MAIN("services", a_service_is_the_same_by_name,
           past_its_ceiling_the_least_recently_seen_is_forgotten,
           where_every_service_has_spans_waiting_there_is_no_room,
           a_service_silent_for_remember_starts_anew, profiled_is_remembered_for_so_long,
           windows_are_kept_apart_by_kind, where_several_kinds_confirm_the_last_of_them_decides,
           a_window_that_was_a_mistake_is_forgotten,
           cpu_confirms_where_it_is_sent_else_wall_does_too)
