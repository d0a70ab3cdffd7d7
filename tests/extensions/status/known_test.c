#include "extensions/status/known.h"

#include "lib/base/clock.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define NOW (UINT64_C(1800000000) * NS_PER_S)

static const struct watch_reason no_sample = {"no_sample", "none", NULL};

struct rig {
    struct budget budget;
    struct known known;
};

static void rig_init(struct rig *rig)
{
    budget_init(&rig->budget, 1 << 26);
    ck_assert(known_init(&rig->known, &rig->budget));
}

static void rig_release(struct rig *rig)
{
    known_release(&rig->known);
    ck_assert_uint_eq(budget_used(&rig->budget), 0);
}

static struct watch_service shop(void)
{
    return (struct watch_service){7, VIEW("shop")};
}

static void decide(struct rig *rig, uint64_t id, bool linked, uint64_t now)
{
    const struct watch_decision decision = {
        .span_id = id,
        .link_id = linked ? id : 0,
        .service = shop(),
        .action = linked ? WATCH_LINKED : WATCH_NOT_LINKED,
        .reason = linked ? NULL : &no_sample,
        .ended = now - NS_PER_S,
        .decided = now,
    };
    known_decided(&rig->known, &decision);
}

static void sampled(struct rig *rig, uint64_t id, uint64_t cpu_ns, uint64_t now)
{
    const struct watch_window window = {shop(), "process_cpu", now - NS_PER_S, now, now};
    const struct watch_sample sample = {id, 1, cpu_ns};
    known_window_came(&rig->known, &window);
    known_sampled(&rig->known, &window, &sample, 1);
}

static void passed(struct rig *rig, uint64_t id, bool linked, const char *name, uint64_t now)
{
    const struct known_seen seen = {id, linked ? id : 0, id, VIEW("shop"), view_of(name)};
    known_seen(&rig->known, &seen, now);
}

static const struct known_route *route(const struct rig *rig, const char *name)
{
    for (size_t i = 0; i < rig->known.route_count; i++)
        if (view_eq(names_get(&rig->known.names, rig->known.routes[i].name), view_of(name)))
            return &rig->known.routes[i];
    return NULL;
}

/* Samples may come before their span, with it, and after it. */
START_TEST(samples_are_joined_with_their_span_in_any_order)
{
    struct rig rig;
    rig_init(&rig);
    sampled(&rig, 1, 10, NOW);
    decide(&rig, 1, true, NOW);
    passed(&rig, 1, true, "GET /", NOW);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 10);
    sampled(&rig, 1, 5, NOW);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 15);
    passed(&rig, 1, true, "GET /", NOW); /* a second copy counts no more */
    decide(&rig, 2, false, NOW);
    passed(&rig, 2, false, "GET /", NOW);
    ck_assert_uint_eq(route(&rig, "GET /")->spans, 2);
    ck_assert_uint_eq(route(&rig, "GET /")->linked, 1);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 15);
    ck_assert(known_route_cpu(route(&rig, "GET /"), NOW / KNOWN_SERIES_STEP) == 15);
    ck_assert_uint_eq(known_find(&rig.known, 1)->cpu_ns, 15);
    ck_assert_uint_eq(rig.known.services[1]->linked, 1);
    ck_assert_uint_eq(rig.known.services[1]->reasons[0], 1);
    rig_release(&rig);
}
END_TEST

START_TEST(samples_without_a_span_count_for_others_after_a_while)
{
    struct rig rig;
    rig_init(&rig);
    sampled(&rig, 1, 10, NOW);
    known_settle(&rig.known, NOW + 60 * NS_PER_S);
    ck_assert_ptr_nonnull(known_find(&rig.known, 1));
    ck_assert_uint_eq(known_find(&rig.known, 1)->owed, 10);
    known_settle(&rig.known, NOW + 130 * NS_PER_S);
    ck_assert_uint_eq(known_find(&rig.known, 1)->owed, 0);
    ck_assert_uint_eq(rig.known.routes[1].cpu_ns, 10); /* of the service, without a name */
    rig_release(&rig);
}
END_TEST

START_TEST(nothing_is_lost_from_the_sums_when_ids_are_forgotten)
{
    struct rig rig;
    uint64_t sum = 0, now = NOW;
    rig_init(&rig);
    for (uint64_t id = 1; id <= KNOWN_SPANS + 1000; id++, now += NS_PER_MS)
        sampled(&rig, id * UINT64_C(0x9e3779b97f4a7c15), 3, now);
    ck_assert_uint_le(rig.known.span_count, KNOWN_SPANS);
    for (uint32_t i = 0; i < rig.known.span_count; i++)
        sum += known_at(&rig.known, i)->owed;
    for (size_t i = 0; i < rig.known.route_count; i++)
        sum += rig.known.routes[i].cpu_ns;
    ck_assert_uint_eq(sum, 3 * (KNOWN_SPANS + 1000));
    ck_assert_uint_eq(rig.known.services[1]->cpu_ns, sum);
    rig_release(&rig);
}
END_TEST

START_TEST(more_routes_than_there_is_room_for_are_one)
{
    struct rig rig;
    char name[32];
    uint64_t sum = 0, metered = 0;
    rig_init(&rig);
    for (unsigned i = 0; i < 2 * KNOWN_ROUTES; i++) {
        snprintf(name, sizeof name, "GET /%u", i);
        sampled(&rig, i + 1, 2, NOW + i * NS_PER_MS);
        passed(&rig, i + 1, true, name, NOW + i * NS_PER_MS);
    }
    known_settle(&rig.known, NOW + 1000 * NS_PER_S);
    for (size_t i = 0; i < rig.known.route_count; i++) {
        const struct known_route *each = &rig.known.routes[i];
        sum += each->cpu_ns;
        metered += each->metered ? each->cpu_ns - each->metered_from : 0;
    }
    ck_assert_uint_eq(rig.known.route_count, KNOWN_ROUTES);
    ck_assert_uint_eq(sum, 2 * 2 * KNOWN_ROUTES);
    ck_assert_uint_eq(metered + rig.known.metered_others, sum);
    rig_release(&rig);
}
END_TEST

/* A route that becomes busier than one of those that the metrics have takes its place. */
START_TEST(the_metrics_have_the_busiest_and_lose_nothing)
{
    struct rig rig;
    char name[32];
    uint64_t told = 0;
    rig_init(&rig);
    for (unsigned i = 0; i <= KNOWN_METERED; i++) {
        snprintf(name, sizeof name, "GET /%u", i);
        sampled(&rig, i + 1, 10, NOW);
        passed(&rig, i + 1, true, name, NOW);
    }
    snprintf(name, sizeof name, "GET /%u", KNOWN_METERED);
    ck_assert(!route(&rig, name)->metered);
    sampled(&rig, KNOWN_METERED + 1, 100, NOW);
    sampled(&rig, KNOWN_METERED + 1, 100, NOW);
    ck_assert(route(&rig, name)->metered);
    for (size_t i = 0; i < rig.known.route_count; i++)
        if (rig.known.routes[i].metered)
            told += rig.known.routes[i].cpu_ns - rig.known.routes[i].metered_from;
    ck_assert_uint_eq(told + rig.known.metered_others, 10 * (KNOWN_METERED + 1) + 200);
    rig_release(&rig);
}
END_TEST

START_TEST(history_goes_by_steps)
{
    struct rig rig;
    uint64_t step = NOW / KNOWN_HISTORY_STEP;
    rig_init(&rig);
    decide(&rig, 1, true, NOW);
    decide(&rig, 2, false, NOW + 2 * KNOWN_HISTORY_STEP);
    const struct known_service *service = rig.known.services[1];
    ck_assert_uint_eq(known_service_step(service, step)->linked, 1);
    ck_assert_uint_eq(known_service_step(service, step + 1)->linked, 0);
    ck_assert_uint_eq(known_service_step(service, step + 2)->reasons[0], 1);
    decide(&rig, 3, true, NOW + 100 * KNOWN_HISTORY_STEP);
    ck_assert_ptr_null(known_service_step(service, step));
    ck_assert_uint_eq(known_service_step(service, step + 99)->linked, 0);
    rig_release(&rig);
}
END_TEST

SUITE_MAIN("status known", samples_are_joined_with_their_span_in_any_order,
           samples_without_a_span_count_for_others_after_a_while,
           nothing_is_lost_from_the_sums_when_ids_are_forgotten,
           more_routes_than_there_is_room_for_are_one,
           the_metrics_have_the_busiest_and_lose_nothing, history_goes_by_steps)
