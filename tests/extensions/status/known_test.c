#include "extensions/status/known_find.h"
#include "extensions/status/reason.h"

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

static struct watch_service till(void)
{
    return (struct watch_service){8, VIEW("till")};
}

static void decide_of(struct rig *rig, struct watch_service service, uint64_t id, bool linked,
                      uint64_t now)
{
    const struct watch_decision decision = {
        .span_id = id,
        .link_id = linked ? id : 0,
        .service = service,
        .action = linked ? WATCH_LINKED : WATCH_NOT_LINKED,
        .reason = linked ? NULL : &no_sample,
        .ended = now - NS_PER_S,
        .decided = now,
    };
    known_decided(&rig->known, &decision);
    known_fold(&rig->known);
}

static void decide(struct rig *rig, uint64_t id, bool linked, uint64_t now)
{
    decide_of(rig, shop(), id, linked, now);
}

/* Of the shop, unless the window names another service. */
static void sampled_in(struct rig *rig, struct watch_window window, struct watch_sample sample)
{
    if (!window.service.key)
        window.service = shop();
    known_window_came(&rig->known, &window);
    known_sampled(&rig->known, &window, &sample, 1);
}

static void sampled(struct rig *rig, uint64_t id, uint64_t cpu_ns, uint64_t now)
{
    sampled_in(rig,
               (struct watch_window){.kind = "process_cpu",
                                     .start = now - NS_PER_S,
                                     .end = now,
                                     .arrived = now,
                                     .times_cpu = true},
               (struct watch_sample){.id = id, .samples = 1, .cpu_ns = cpu_ns});
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
    uint64_t step = (NOW - 1) / KNOWN_SERIES_STEP; /* of their window */
    ck_assert_uint_eq(known_route_step(route(&rig, "GET /"), step)->cpu_ns, 15);
    ck_assert_uint_eq(known_find(&rig.known, 1)->cpu_ns, 15);
    ck_assert_uint_eq(rig.known.services[1]->linked, 1);
    ck_assert_uint_eq(rig.known.services[1]->reasons[0], 1);
    rig_release(&rig);
}
END_TEST

/* The SDK's profile id stays on a span that is forwarded as it came. */
START_TEST(a_profile_id_is_a_link_unless_it_was_decided_otherwise)
{
    struct rig rig;
    rig_init(&rig);
    const struct watch_decision as_came = {
        .span_id = 1,
        .service = shop(),
        .action = WATCH_AS_CAME,
        .reason = &no_sample,
        .decided = NOW,
    };
    known_decided(&rig.known, &as_came);
    known_fold(&rig.known);
    passed(&rig, 1, true, "GET /", NOW);
    ck_assert_uint_eq(route(&rig, "GET /")->spans, 1);
    ck_assert_uint_eq(route(&rig, "GET /")->linked, 0);
    ck_assert(!known_is_linked(&rig.known, 1, VIEW("shop"), 1));
    decide(&rig, 2, true, NOW);
    ck_assert(known_is_linked(&rig.known, 2, VIEW("shop"), 2));
    ck_assert(known_is_linked(&rig.known, 3, VIEW("shop"), 3)); /* no decision is remembered */
    ck_assert(!known_is_linked(&rig.known, 3, VIEW("shop"), 0));
    rig_release(&rig);
}
END_TEST

static bool differs(const struct rig *rig, const struct known_span *span, struct told_reason *told)
{
    return reason_of(&rig->known, span, told) && strcmp(told->word, REASON_NAMES_DIFFER) == 0;
}

/* How many spans of a service have a reason now, in all and in its history. */
static uint64_t counted(struct rig *rig, const char *service, const char *word)
{
    uint64_t all = 0, stepped = 0;
    struct known_service *of =
        rig->known.services[known_service_find(&rig->known, view_of(service))];
    for (size_t i = 0; i < rig->known.reason_count; i++) {
        if (strcmp(rig->known.reasons[i]->word, word) != 0)
            continue;
        all += of->reasons[i];
        for (uint64_t step = 0; step < KNOWN_HISTORY; step++)
            stepped += of->history[step].reasons[i];
    }
    ck_assert_uint_eq(all, stepped);
    return all;
}

static bool has_other_profiles(const struct rig *rig)
{
    return rig->known.services[known_service_find(&rig->known, VIEW("shop"))]->profiles_under;
}

START_TEST(names_differ_where_no_sample_came_under_the_name_of_the_span)
{
    struct rig rig;
    rig_init(&rig);
    struct told_reason told = {0};
    struct watch_window window = {.service = {8, VIEW("shop-worker")}, .end = NOW, .arrived = NOW};
    const struct watch_sample sample = {.id = 1, .samples = 1, .cpu_ns = 10};
    known_window_came(&rig.known, &window);
    known_sampled(&rig.known, &window, &sample, 1);
    ck_assert(!differs(&rig, NULL, &told));
    ck_assert(!differs(&rig, known_find(&rig.known, 1), &told)); /* not decided */
    decide(&rig, 1, false, NOW);
    ck_assert(differs(&rig, known_find(&rig.known, 1), &told));
    ck_assert_ptr_nonnull(strstr(told.text, "under \"shop-worker\", but the span is of "
                                            "\"shop\""));
    ck_assert_ptr_nonnull(strstr(told.fix, "OTEL_SERVICE_NAME=shop-worker)"));
    ck_assert_uint_eq(counted(&rig, "shop", REASON_NAMES_DIFFER), 1);
    ck_assert_uint_eq(counted(&rig, "shop", "no_sample"), 0);
    ck_assert(has_other_profiles(&rig));
    sampled(&rig, 1, 5, NOW);
    ck_assert(!differs(&rig, known_find(&rig.known, 1), &told));
    ck_assert_uint_eq(counted(&rig, "shop", "no_sample"), 1);
    ck_assert(!has_other_profiles(&rig));
    rig_release(&rig);
}
END_TEST

START_TEST(samples_after_the_decision_came_late)
{
    static const struct watch_reason full = {"hold_full", "full", NULL};
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    decide(&rig, 1, false, NOW);
    sampled(&rig, 1, 5, NOW + 40 * NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 1), &told));
    ck_assert_str_eq(told.word, REASON_CAME_LATE);
    ck_assert_ptr_nonnull(strstr(told.text, "arrived 41 s after its end"));
    ck_assert_uint_eq(counted(&rig, "shop", REASON_CAME_LATE), 1);
    ck_assert_uint_eq(counted(&rig, "shop", "no_sample"), 0);
    /* It had no chance to wait for them. */
    const struct watch_decision evicted = {
        .span_id = 2, .service = shop(), .action = WATCH_AS_CAME, .reason = &full, .decided = NOW};
    known_decided(&rig.known, &evicted);
    sampled(&rig, 2, 5, NOW + 40 * NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 2), &told));
    ck_assert_str_eq(told.word, "hold_full");
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

static uint64_t series_sum(const struct known_route *of)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < KNOWN_SERIES; i++)
        sum += known_route_step(of, of->step - i)->cpu_ns;
    return sum;
}

/* As the windows of a profiler that uploads every 10 s, one of which lies in two steps. */
START_TEST(a_steady_load_is_steady_in_the_steps)
{
    const uint64_t length = 10 * NS_PER_S, per_window = 8 * NS_PER_S + 7;
    struct rig rig;
    uint64_t sum = 0;
    rig_init(&rig);
    decide(&rig, 1, true, NOW);
    passed(&rig, 1, true, "GET /", NOW); /* dealt before its samples, and 2 after them */
    for (unsigned i = 0; i < 30; i++) {
        uint64_t start = NOW + 3 * NS_PER_S + i * length;
        sampled_in(&rig,
                   (struct watch_window){.start = start,
                                         .end = start + length,
                                         .arrived = start + length + NS_PER_S / 3},
                   (struct watch_sample){.id = i % 2 + 1, .samples = 80, .cpu_ns = per_window});
        passed(&rig, 2, true, "GET /", start + length);
        sum += per_window;
    }
    const struct known_route *of = route(&rig, "GET /");
    ck_assert_uint_eq(of->cpu_ns, sum);
    ck_assert_uint_eq(series_sum(of), sum);
    for (uint64_t step = NOW / KNOWN_SERIES_STEP + 1; step < of->step; step++) {
        ck_assert_uint_ge(known_route_step(of, step)->cpu_ns, 12 * NS_PER_S);
        ck_assert_uint_le(known_route_step(of, step)->cpu_ns, 12 * NS_PER_S + 13);
        ck_assert_uint_eq(known_route_step(of, step)->samples, 120);
    }
    rig_release(&rig);
}
END_TEST

/* Windows without times, of the future, longer than what is kept, and before it. */
START_TEST(no_window_is_lost_from_the_steps)
{
    const uint64_t hour = 3600 * NS_PER_S;
    const struct watch_window windows[] = {
        {.arrived = NOW},
        {.start = NOW - NS_PER_S, .end = NOW + hour, .arrived = NOW},
        {.start = NOW - 2 * hour, .end = NOW, .arrived = NOW},
        {.start = NOW - 5 * hour, .end = NOW - 5 * hour + 10 * NS_PER_S, .arrived = NOW},
        {.start = NOW - hour, .end = NOW - 2 * hour, .arrived = NOW - hour},
    };
    const size_t count = sizeof windows / sizeof *windows;
    struct rig rig;
    rig_init(&rig);
    passed(&rig, 1, true, "GET /", NOW);
    for (size_t i = 0; i < count; i++)
        sampled_in(&rig, windows[i],
                   (struct watch_sample){.id = 1, .samples = 1, .cpu_ns = 1000003});
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, count * 1000003);
    ck_assert_uint_eq(series_sum(route(&rig, "GET /")), count * 1000003);
    rig_release(&rig);
}
END_TEST

START_TEST(wall_time_is_not_cpu_time)
{
    struct rig rig;
    rig_init(&rig);
    decide(&rig, 1, true, NOW);
    sampled_in(&rig, (struct watch_window){.kind = "wall", .start = NOW - NS_PER_S, .arrived = NOW},
               (struct watch_sample){.id = 1, .samples = 3, .wall_ns = 30});
    passed(&rig, 1, true, "GET /", NOW);
    ck_assert_uint_eq(route(&rig, "GET /")->wall_ns, 30);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 0);
    ck_assert(!known_times_cpu(&rig.known, known_find(&rig.known, 1)));
    sampled(&rig, 2, 5, NOW);
    ck_assert(known_times_cpu(&rig.known, known_find(&rig.known, 2)));
    ck_assert(!known_times_cpu(&rig.known, known_find(&rig.known, 1)));
    ck_assert(rig.known.services[1]->times_cpu);
    /* Of a span that never passes, both count for the others. */
    sampled_in(&rig, (struct watch_window){.kind = "wall", .arrived = NOW},
               (struct watch_sample){.id = 3, .samples = 1, .wall_ns = 7});
    known_settle(&rig.known, NOW + 130 * NS_PER_S);
    ck_assert_uint_eq(known_find(&rig.known, 3)->owed_wall, 0);
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

/* As where a client's and a server's span share an id; whatever comes first. */
START_TEST(spans_of_two_services_with_one_id_stay_apart)
{
    for (int late = 0; late < 2; late++) {
        struct rig rig;
        struct told_reason told = {0};
        const struct watch_window window = {.service = till(), .arrived = NOW, .times_cpu = true};
        const struct watch_sample sample = {.id = 1, .samples = 2, .cpu_ns = 20};
        rig_init(&rig);
        if (!late)
            sampled_in(&rig, window, sample);
        decide(&rig, 1, false, NOW);
        if (late)
            sampled_in(&rig, window, sample);
        ck_assert(differs(&rig, known_find(&rig.known, 1), &told));
        decide_of(&rig, till(), 1, true, NOW);
        const struct known_span *one = known_find_of(&rig.known, 1, VIEW("shop"));
        const struct known_span *two = known_find_of(&rig.known, 1, VIEW("till"));
        ck_assert_ptr_ne(one, two);
        ck_assert_int_eq(one->action, WATCH_NOT_LINKED);
        ck_assert_int_eq(two->action, WATCH_LINKED);
        ck_assert_uint_eq(one->cpu_ns, 0);
        ck_assert_uint_eq(two->cpu_ns, 20);
        ck_assert(!differs(&rig, one, &told));
        ck_assert(!known_is_linked(&rig.known, 1, VIEW("shop"), 1));
        ck_assert(known_is_linked(&rig.known, 1, VIEW("till"), 1));
        ck_assert_ptr_null(known_find_of(&rig.known, 1, VIEW("other")));
        rig_release(&rig);
    }
}
END_TEST

START_TEST(each_window_says_whether_it_holds_samples)
{
    struct rig rig;
    rig_init(&rig);
    const struct watch_window window = {.arrived = NOW};
    for (uint32_t i = 0; i < 100; i++) {
        uint64_t id = i == 10 || i == 12 || i == 90 ? 1 : 2;
        sampled_in(&rig, window, (struct watch_sample){.id = id, .samples = 1});
    }
    const struct known_span *span = known_find(&rig.known, 1);
    static const struct {
        uint32_t number;
        enum known_held held;
    } cases[] = {{9, KNOWN_NOT_HELD},      {10, KNOWN_HELD},     {11, KNOWN_NOT_HELD},
                 {12, KNOWN_HELD},         {73, KNOWN_NOT_HELD}, {74, KNOWN_HELD_UNKNOWN},
                 {89, KNOWN_HELD_UNKNOWN}, {90, KNOWN_HELD},     {91, KNOWN_NOT_HELD}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_int_eq(known_holds(&rig.known, span, &rig.known.windows[cases[i].number + 1]),
                         cases[i].held);
    rig_release(&rig);
}
END_TEST

SUITE_MAIN("status known", samples_are_joined_with_their_span_in_any_order,
           a_profile_id_is_a_link_unless_it_was_decided_otherwise,
           names_differ_where_no_sample_came_under_the_name_of_the_span,
           samples_after_the_decision_came_late,
           samples_without_a_span_count_for_others_after_a_while,
           nothing_is_lost_from_the_sums_when_ids_are_forgotten,
           more_routes_than_there_is_room_for_are_one,
           the_metrics_have_the_busiest_and_lose_nothing, a_steady_load_is_steady_in_the_steps,
           no_window_is_lost_from_the_steps, wall_time_is_not_cpu_time, history_goes_by_steps,
           spans_of_two_services_with_one_id_stay_apart, each_window_says_whether_it_holds_samples)
