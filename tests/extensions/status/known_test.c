#include "extensions/status/gaps.h"
#include "extensions/status/known_find.h"
#include "extensions/status/known_owed.h"
#include "extensions/status/reason.h"
#include "extensions/status/trouble.h"
#include "pipeline/watch_texts.h"

#include "lib/base/clock.h"
#include "lib/wire/otlp/otlp_span.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

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
    return (struct watch_service){.key = 7, .name = VIEW("shop")};
}

static struct watch_service till(void)
{
    return (struct watch_service){.key = 8, .name = VIEW("till")};
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
    const struct known_seen seen = {.id = id,
                                    .link = linked ? id : 0,
                                    .trace = id,
                                    .service = VIEW("shop"),
                                    .name = view_of(name)};
    known_seen(&rig->known, &seen, now);
}

static const struct known_route *route(const struct rig *rig, const char *name)
{
    for (size_t i = 0; i < rig->known.route_count; i++)
        if (view_eq(names_get(&rig->known.names, rig->known.routes[i].name), view_of(name)))
            return &rig->known.routes[i];
    return NULL;
}

/* It left with its ancestor's link before its own samples came. */
START_TEST(samples_of_a_span_with_an_inherited_link_are_of_its_route)
{
    struct rig rig;
    rig_init(&rig);
    const struct watch_decision decision = {
        .span_id = 2,
        .link_id = 1,
        .service = shop(),
        .action = WATCH_LINKED,
        .ended = NOW - NS_PER_S,
        .decided = NOW,
    };
    const struct known_seen seen = {.id = 2,
                                    .link = 1,
                                    .trace = 9,
                                    .service = VIEW("shop"),
                                    .name = VIEW("render"),
                                    .child = true,
                                    .inherits = true};
    known_decided(&rig.known, &decision);
    known_seen(&rig.known, &seen, NOW);
    ck_assert_uint_eq(route(&rig, "render")->spans, 0);
    sampled(&rig, 2, 30, NOW + 60 * NS_PER_S);
    known_settle(&rig.known, NOW + 120 * NS_PER_S);
    ck_assert_uint_eq(route(&rig, "render")->cpu_ns, 30);
    ck_assert_uint_eq(route(&rig, "render")->metered_ns, 30);
    ck_assert_uint_eq(route(&rig, "render")->spans, 1);
    ck_assert_uint_eq(route(&rig, "render")->linked, 1);
    ck_assert_uint_eq(rig.known.missed, 0);
    rig_release(&rig);
}
END_TEST

/* Nothing has named the shop yet: its profiles come under another name. */
START_TEST(a_child_may_be_the_first_that_tells_of_its_service)
{
    struct rig rig;
    rig_init(&rig);
    struct known_seen seen = {
        .id = 2, .trace = 9, .service = VIEW("shop"), .name = VIEW("work"), .child = true};
    sampled_in(&rig,
               (struct watch_window){.service = till(),
                                     .kind = "process_cpu",
                                     .start = NOW - NS_PER_S,
                                     .end = NOW,
                                     .arrived = NOW,
                                     .times_cpu = true},
               (struct watch_sample){.id = 2, .samples = 1, .cpu_ns = 30});
    known_seen(&rig.known, &seen, NOW);
    size_t service = route(&rig, "work")->service;
    ck_assert_uint_ne(service, 0);
    decide(&rig, 1, true, NOW);
    ck_assert_uint_eq(known_service_find(&rig.known, VIEW("shop")), service);
    ck_assert_uint_eq(rig.known.services[service]->key, shop().key);
    ck_assert_uint_eq(rig.known.services[service]->linked, 1);
    ck_assert_uint_eq(rig.known.service_count, 3);
    rig_release(&rig);
}
END_TEST

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

/* Newer spans take their place: the numbers are handed on, to be kept with the trace. */
START_TEST(numbers_of_a_forgotten_span_are_handed_on)
{
    struct rig rig;
    rig_init(&rig);
    size_t count;
    uint64_t now = NOW;
    sampled(&rig, 1, 10, NOW);
    sampled(&rig, 2, 20, NOW);
    decide(&rig, 1, true, NOW);
    passed(&rig, 1, true, "GET /", NOW); /* the other one never does */
    for (uint64_t id = 3; id <= KNOWN_SPANS + 2; id++, now += NS_PER_MS)
        decide(&rig, id, false, now);
    ck_assert_ptr_null(known_find(&rig.known, 1));
    struct known_figures *gone = known_take_gone(&rig.known, NOW + 120 * NS_PER_S, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(gone->id, 1);
    ck_assert_uint_eq(gone->trace, 1);
    ck_assert_uint_eq(gone->cpu_ns, 10);
    ck_assert_uint_eq(gone->samples, 1);
    ck_assert_uint_eq(gone->service, known_figures_service(VIEW("shop")) | FIGURES_TIME_CPU);
    free(gone);
    ck_assert_ptr_null(known_take_gone(&rig.known, 0, &count));
    ck_assert_uint_eq(rig.known.gone_lost, 0);
    rig_release(&rig);
}
END_TEST

/* More ids than are remembered: of those that are, the span and its samples. */
START_TEST(a_route_has_the_samples_of_the_spans_that_it_counts)
{
    struct rig rig;
    rig_init(&rig);
    uint64_t now = NOW;
    for (uint64_t i = 1; i <= 100000; i++, now += NS_PER_S / 4000) {
        uint64_t id = i * 0x9e3779b97f4a7c15;
        sampled(&rig, id, 10, now);
        decide(&rig, id, true, now);
        passed(&rig, id, true, "GET /", now);
    }
    const struct known_route *get = route(&rig, "GET /");
    ck_assert_uint_lt(get->spans, 70000);
    ck_assert_uint_gt(get->spans, 20000);
    ck_assert_uint_ge(get->cpu_ns, get->spans * 10);
    ck_assert_uint_le(get->cpu_ns, get->spans * 10 + 100);
    rig_release(&rig);
}
END_TEST

/* In a service some of whose profiles measure CPU time. */
START_TEST(a_route_with_wall_time_only_has_no_cpu_time)
{
    struct rig rig;
    rig_init(&rig);
    sampled(&rig, 1, 10, NOW);
    sampled_in(&rig,
               (struct watch_window){.kind = "wall", .end = NOW, .arrived = NOW, .beside = true},
               (struct watch_sample){.id = 2, .samples = 3, .wall_ns = 30});
    for (uint64_t id = 1; id <= 3; id++)
        decide(&rig, id, id == 1, NOW);
    passed(&rig, 1, true, "computes", NOW);
    passed(&rig, 2, false, "waits", NOW);
    passed(&rig, 3, false, "nothing", NOW);
    ck_assert(known_route_times_cpu(&rig.known, route(&rig, "computes")));
    ck_assert(!known_route_times_cpu(&rig.known, route(&rig, "waits")));
    ck_assert(known_route_times_cpu(&rig.known, route(&rig, "nothing")));
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
    ck_assert(!known_is_linked(&rig.known, 1, VIEW("shop"), 0, 1));
    decide(&rig, 2, true, NOW);
    ck_assert(known_is_linked(&rig.known, 2, VIEW("shop"), 0, 2));
    ck_assert(known_is_linked(&rig.known, 3, VIEW("shop"), 0, 3)); /* no decision is remembered */
    ck_assert(!known_is_linked(&rig.known, 3, VIEW("shop"), 0, 0));
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

static void refuse_profile(struct rig *rig, int64_t ahead, uint64_t now)
{
    clocks_refused(&rig->known.clocks, names_put(&rig->known.names, VIEW("shop")), ahead, now);
}

START_TEST(refused_profiles_are_the_reason_until_one_is_accepted)
{
    struct rig rig;
    rig_init(&rig);
    struct told_reason told = {0};
    const struct watch_window window = {.service = shop(), .end = NOW, .arrived = NOW + NS_PER_S};
    refuse_profile(&rig, INT64_C(3600000000000), NOW);
    decide(&rig, 1, false, NOW);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 1), &told));
    ck_assert_str_eq(told.word, REASON_REFUSED);
    ck_assert_str_eq(told.text, "Its profiles are refused: their clock is 1 h ahead.");
    ck_assert_uint_eq(counted(&rig, "shop", REASON_REFUSED), 1);
    refuse_profile(&rig, -INT64_C(7200000000000), NOW);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 1), &told));
    ck_assert_str_eq(told.text, "Its profiles are refused: their clock is 2 h behind.");
    known_window_came(&rig.known, &window);
    decide(&rig, 2, false, NOW + 2 * NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 2), &told));
    ck_assert_str_eq(told.word, "no_sample");
    rig_release(&rig);
}
END_TEST

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
    ck_assert_ptr_nonnull(strstr(told.fix, "OTEL_SERVICE_NAME=shop-worker, unless the code "
                                           "sets service.name itself). If both send one name, "
                                           "a processor in front of correlation changes it."));
    ck_assert_ptr_nonnull(strstr(told.fix, "Give the profiler the name of the spans, \"shop\" ("));
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

START_TEST(a_name_that_is_missing_is_not_proposed_for_the_profiler)
{
    struct rig rig;
    rig_init(&rig);
    struct watch_window window = {.service = {8, VIEW("unknown_service")}, .end = NOW};
    char fix[512];
    known_window_came(&rig.known, &window);
    window.service = shop();
    known_window_came(&rig.known, &window);
    const struct known_service *unnamed =
        rig.known.services[known_service_find(&rig.known, VIEW("unknown_service"))];
    const struct known_service *shop =
        rig.known.services[known_service_find(&rig.known, VIEW("shop"))];
    reason_names_fix(&rig.known, unnamed, shop, fix, sizeof fix);
    ck_assert_str_eq(fix, "Give the SDK the name of the profiles (OTEL_SERVICE_NAME=shop, unless "
                          "the code sets service.name itself). If both send one name, a processor "
                          "in front of correlation changes it.");
    rig_release(&rig);
}
END_TEST

/* In a window of 10 s that ends then and comes late. hold: as told with it. */
static void sampled_late(struct rig *rig, uint64_t id, uint64_t end, uint64_t late, uint64_t hold)
{
    sampled_in(rig,
               (struct watch_window){.kind = "process_cpu",
                                     .start = end - 10 * NS_PER_S,
                                     .end = end,
                                     .arrived = end + late,
                                     .times_cpu = true,
                                     .hold = hold},
               (struct watch_sample){.id = id, .samples = 1, .cpu_ns = 10});
}

START_TEST(samples_after_the_decision_came_late)
{
    static const struct watch_reason full = {"hold_full", "full", NULL};
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    decide(&rig, 1, false, NOW);
    sampled_late(&rig, 1, NOW, 40 * NS_PER_S, 0);
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

/* Its end is not known, since its clock is ahead. */
/* As with old profilers of .NET. */
START_TEST(late_samples_with_the_id_in_reversed_byte_order_are_the_span_s)
{
    const uint64_t ids[] = {0x0102030405060708, 0x1112131415161718};
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    sampled(&rig, span_id_reversed(ids[0]), 5, NOW);
    const struct watch_decision linked = {.span_id = ids[0],
                                          .link_id = span_id_reversed(ids[0]),
                                          .service = shop(),
                                          .action = WATCH_LINKED,
                                          .ended = NOW - NS_PER_S,
                                          .decided = NOW};
    known_decided(&rig.known, &linked);
    decide(&rig, ids[1], false, NOW);
    passed(&rig, ids[1], false, "GET /", NOW);
    for (uint64_t i = 1; i <= 2; i++)
        sampled(&rig, span_id_reversed(ids[1]), 7, NOW + i * NS_PER_S);
    const struct known_span *span = known_find(&rig.known, ids[1]);
    ck_assert(reason_of(&rig.known, span, &told));
    ck_assert_str_eq(told.word, REASON_CAME_LATE);
    ck_assert_uint_eq(known_samples(&rig.known, span), 2);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 14);
    ck_assert_uint_eq(known_named(span), span_id_reversed(ids[1]));
    ck_assert_ptr_eq(known_find_named(&rig.known, known_named(span)), span);
    span = known_find(&rig.known, ids[0]);
    ck_assert(!known_has_samples(span) && !span->reversed);
    rig_release(&rig);
}
END_TEST

START_TEST(of_a_span_that_ended_in_the_future_the_times_are_those_from_its_arrival)
{
    struct rig rig;
    struct told_reason told;
    rig_init(&rig);
    const struct watch_decision decision = {.span_id = 1,
                                            .service = shop(),
                                            .action = WATCH_NOT_LINKED,
                                            .reason = &no_sample,
                                            .arrived = NOW,
                                            .decided = NOW + 62 * NS_PER_S};
    known_decided(&rig.known, &decision);
    known_fold(&rig.known);
    sampled_late(&rig, 1, NOW, 90 * NS_PER_S, 0);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 1), &told));
    ck_assert_str_eq(told.word, REASON_CAME_LATE);
    ck_assert_str_eq(told.text,
                     "By its own time it ended after it had arrived. Samples with its id came 90 s "
                     "after the span did, but it was forwarded without a link after 62 s.");
    ck_assert_uint_eq(reason_ended(known_find(&rig.known, 1)), 0);
    rig_release(&rig);
}
END_TEST

static void decide_for(struct rig *rig, uint64_t id, const struct watch_reason *reason,
                       uint64_t now)
{
    const struct watch_decision decision = {.span_id = id,
                                            .service = shop(),
                                            .action = WATCH_AS_CAME,
                                            .reason = reason,
                                            .ended = now - NS_PER_S,
                                            .decided = now};
    known_decided(&rig->known, &decision);
    known_fold(&rig->known);
}

static void window_of(struct rig *rig, uint64_t start, uint64_t end)
{
    known_window_came(&rig->known, &(struct watch_window){.service = shop(),
                                                          .kind = "process_cpu",
                                                          .start = start,
                                                          .end = end,
                                                          .arrived = end ? end : start,
                                                          .times_cpu = true});
}

/* By the profiler's clock, which is ahead of the time in which it came. */
static void window_ahead(struct rig *rig, uint64_t start, uint64_t end, uint64_t ahead)
{
    known_window_came(&rig->known, &(struct watch_window){.service = shop(),
                                                          .kind = "process_cpu",
                                                          .start = start + ahead,
                                                          .end = end + ahead,
                                                          .arrived = end,
                                                          .times_cpu = true});
}

static const char *text_of(struct rig *rig, uint64_t id, struct told_reason *told)
{
    ck_assert(reason_of(&rig->known, known_find(&rig->known, id), told));
    return told->text;
}

/* Of a child that waited with its local root, with `children: inherit`. */
START_TEST(samples_of_a_child_whose_root_has_none_came_late_too)
{
    static const struct watch_reason no_parent = {"no_parent", "nor its root", NULL};
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    window_of(&rig, NOW - 20 * NS_PER_S, NOW - 10 * NS_PER_S);
    decide_for(&rig, 1, &no_parent, NOW);
    ck_assert_str_eq(text_of(&rig, 1, &told), "nor its root");
    sampled(&rig, 1, 5, NOW + 8 * NS_PER_S);
    ck_assert_str_eq(text_of(&rig, 1, &told),
                     "Samples with its id arrived 9 s after its end, but it was forwarded without "
                     "a link 1 s after its end.");
    ck_assert_str_eq(told.word, REASON_CAME_LATE);
    ck_assert_ptr_nonnull(told.fix);
    ck_assert_uint_eq(counted(&rig, "shop", REASON_CAME_LATE), 1);
    ck_assert_uint_eq(counted(&rig, "shop", "no_parent"), 0);
    rig_release(&rig);
}
END_TEST

START_TEST(spans_before_the_first_profile_are_told_so_whatever_it_names)
{
    static const struct watch_reason not_profiled = {"not_profiled", "none", "Start one."};
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    decide_for(&rig, 1, &not_profiled, NOW);
    ck_assert_str_eq(text_of(&rig, 1, &told), "none");
    window_of(&rig, NOW + 7 * NS_PER_S, NOW + 8 * NS_PER_S);
    text_of(&rig, 1, &told);
    ck_assert_str_eq(told.word, REASON_BEFORE_FIRST);
    ck_assert_ptr_null(told.fix);
    ck_assert_uint_eq(counted(&rig, "shop", REASON_BEFORE_FIRST), 1);
    ck_assert_uint_eq(counted(&rig, "shop", "not_profiled"), 0);
    rig_release(&rig);
}
END_TEST

/* Of a service without profiles for so long that correlation knew of none. */
START_TEST(profiles_that_came_long_before_are_not_denied)
{
    static const struct watch_reason not_profiled = {"not_profiled", "none", "Start one."};
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    sampled(&rig, 1, 5, NOW);
    decide_for(&rig, 1, &not_profiled, NOW + 4000 * NS_PER_S);
    text_of(&rig, 1, &told);
    ck_assert_str_eq(told.word, "forgotten");
    decide_for(&rig, 2, &not_profiled, NOW + 4000 * NS_PER_S);
    window_of(&rig, NOW + 4010 * NS_PER_S, NOW + 4015 * NS_PER_S);
    ck_assert_str_eq(text_of(&rig, 2, &told),
                     "Profiles of its service had come before, and none of them was remembered any "
                     "more when it was decided.");
    ck_assert_str_eq(told.word, "not_profiled");
    ck_assert_str_eq(told.fix, REASON_STOPPED_FIX);
    ck_assert_uint_eq(counted(&rig, "shop", "not_profiled"), 1);
    ck_assert_uint_eq(counted(&rig, "shop", "forgotten"), 1);
    rig_release(&rig);
}
END_TEST

/* Kafka's lanes: a span and its profiles meet only in one. */
START_TEST(profiles_in_other_partitions_are_named)
{
    static const struct watch_reason not_profiled = {"not_profiled", "none", "Start one."};
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    struct watch_decision decision = {.service = shop(),
                                      .action = WATCH_NOT_LINKED,
                                      .reason = &not_profiled,
                                      .ended = NOW - NS_PER_S,
                                      .decided = NOW,
                                      .lane = 1};
    for (decision.span_id = 1; decision.span_id < 5; decision.span_id++)
        known_decided(&rig.known, &decision);
    known_fold(&rig.known);
    ck_assert_str_eq(text_of(&rig, 1, &told), "none");
    struct watch_window window = {.kind = "process_cpu",
                                  .start = NOW - 2 * NS_PER_S,
                                  .end = NOW,
                                  .arrived = NOW + NS_PER_S,
                                  .times_cpu = true,
                                  .lane = 3};
    sampled_in(&rig, window, (struct watch_sample){.id = 1, .samples = 1});
    ck_assert_str_eq(
        text_of(&rig, 1, &told),
        "Samples with its id came in another partition than the span, so they did not meet.");
    ck_assert_str_eq(told.word, "partitions_differ");
    ck_assert_ptr_nonnull(strstr(told.fix, "partition_by"));
    ck_assert_str_eq(text_of(&rig, 2, &told),
                     "Profiles of its service came only in other partitions than the span: its "
                     "process sends none, or they were written with another key.");
    ck_assert_str_eq(told.word, "not_profiled");
    ck_assert(!trouble_of(&rig.known, rig.known.services[1], &told));
    sampled_in(&rig, window, (struct watch_sample){.id = 2, .samples = 1});
    sampled_in(&rig, window, (struct watch_sample){.id = 3, .samples = 1});
    ck_assert_uint_eq(counted(&rig, "shop", "partitions_differ"), 3);
    ck_assert(trouble_of(&rig.known, rig.known.services[1], &told));
    ck_assert_ptr_nonnull(strstr(told.text, "other partitions"));
    window.lane = 1;
    sampled_in(&rig, window, (struct watch_sample){.id = 4, .samples = 1});
    text_of(&rig, 4, &told);
    ck_assert_str_eq(told.word, REASON_BEFORE_FIRST);
    decision.action = WATCH_LINKED;
    decision.reason = NULL;
    decision.link_id = ++decision.span_id;
    known_decided(&rig.known, &decision);
    known_fold(&rig.known);
    ck_assert(trouble_of(&rig.known, rig.known.services[1], &told));
    decision.decided += 61 * NS_PER_S;
    decision.link_id = ++decision.span_id;
    known_decided(&rig.known, &decision);
    known_fold(&rig.known);
    ck_assert(!trouble_of(&rig.known, rig.known.services[1], &told));
    rig_release(&rig);
}
END_TEST

/* The profiler's clock is 20 s ahead, so that its first profile seems to begin after spans that
 * ended when it had come. */
START_TEST(a_span_that_ended_after_the_first_profile_came_is_not_before_it)
{
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    window_ahead(&rig, NOW, NOW + 8 * NS_PER_S, 20 * NS_PER_S);
    window_ahead(&rig, NOW + 8 * NS_PER_S, NOW + 16 * NS_PER_S, 20 * NS_PER_S);
    decide(&rig, 1, false, NOW + 11 * NS_PER_S);
    decide(&rig, 2, false, NOW + 5 * NS_PER_S);
    decide(&rig, 3, false, NOW);
    ck_assert_str_eq(text_of(&rig, 1, &told), no_sample.text);
    ck_assert_str_eq(text_of(&rig, 2, &told), no_sample.text);
    text_of(&rig, 3, &told);
    ck_assert_str_eq(told.word, REASON_BEFORE_FIRST);
    rig_release(&rig);
}
END_TEST

START_TEST(spans_before_the_first_profile_need_nothing)
{
    static const struct watch_reason not_profiled = {"not_profiled", "none", "Start one."};
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    decide_for(&rig, 1, &not_profiled, NOW);
    sampled(&rig, 1, 5, NOW + 8 * NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 1), &told));
    ck_assert_str_eq(told.word, REASON_BEFORE_FIRST);
    ck_assert_ptr_nonnull(strstr(told.text, "ended 9 s before the first profile of its service"));
    ck_assert_ptr_nonnull(strstr(told.text, "Nothing needs to be done"));
    ck_assert_ptr_null(told.fix);
    ck_assert_uint_eq(counted(&rig, "shop", REASON_CAME_LATE), 0);
    /* The profile begins at NOW + 7 s. */
    decide_for(&rig, 2, &no_sample, NOW + 5 * NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 2), &told));
    ck_assert_str_eq(told.word, REASON_BEFORE_FIRST);
    ck_assert_ptr_nonnull(strstr(told.text, "no profile covers its time"));
    ck_assert_uint_eq(counted(&rig, "shop", REASON_BEFORE_FIRST), 2);
    decide_for(&rig, 3, &no_sample, NOW + 9 * NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 3), &told));
    ck_assert_str_eq(told.word, "no_sample");
    rig_release(&rig);
}
END_TEST

/* The service's profiles came before, so that its spans wait for a time that is known. */
START_TEST(what_came_before_a_reload_is_not_known)
{
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    rig.known.reloaded = NOW;
    decide_for(&rig, 1, &no_sample, NOW);
    decide_for(&rig, 2, &no_sample, NOW + 2 * NS_PER_S);
    known_window_came(&rig.known, &(struct watch_window){.service = shop(),
                                                         .kind = "process_cpu",
                                                         .start = NOW + 4 * NS_PER_S,
                                                         .end = NOW + 9 * NS_PER_S,
                                                         .arrived = NOW + 9 * NS_PER_S,
                                                         .hold = 20 * NS_PER_S});
    for (uint64_t id = 1; id <= 2; id++) {
        decide_for(&rig, id + 2, &no_sample, NOW + (id - 1) * 2 * NS_PER_S);
        ck_assert_ptr_nonnull(strstr(text_of(&rig, id + 2, &told), "It is not known whether one"));
        ck_assert_str_eq(told.word, "no_sample");
        ck_assert_ptr_nonnull(strstr(text_of(&rig, id, &told), "It is not known whether one"));
        ck_assert_int_eq(strstr(told.text, "since a reload") != NULL, id == 1);
    }
    /* The till's first profile comes later. */
    struct watch_window late = {.service = till(),
                                .kind = "process_cpu",
                                .start = NOW + 40 * NS_PER_S,
                                .end = NOW + 45 * NS_PER_S,
                                .arrived = NOW + 45 * NS_PER_S};
    known_window_came(&rig.known, &late);
    decide_of(&rig, till(), 5, false, NOW + 30 * NS_PER_S);
    decide_of(&rig, till(), 6, false, NOW);
    text_of(&rig, 5, &told);
    ck_assert_str_eq(told.word, REASON_BEFORE_FIRST);
    text_of(&rig, 6, &told);
    ck_assert_str_eq(told.word, "no_sample");
    rig_release(&rig);
}
END_TEST

START_TEST(a_service_without_ids_has_no_span_that_was_not_caught_computing)
{
    static const struct watch_reason no_ids = {"no_ids", "no ids", "Add them."};
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    sampled(&rig, 0, 5, NOW - 60 * NS_PER_S);
    decide(&rig, 1, false, NOW);
    ck_assert_uint_eq(counted(&rig, "shop", "no_sample"), 1);
    decide_for(&rig, 2, &no_ids, NOW + NS_PER_S);
    decide(&rig, 3, false, NOW + 2 * NS_PER_S); /* as after a reload */
    for (uint64_t id = 1; id <= 3; id++) {
        ck_assert(reason_of(&rig.known, known_find(&rig.known, id), &told));
        ck_assert_str_eq(told.fix, "Add them.");
    }
    ck_assert_uint_eq(counted(&rig, "shop", "no_ids"), 3);
    ck_assert_uint_eq(counted(&rig, "shop", "no_sample"), 0);
    sampled(&rig, 4, 5, NOW + 3 * NS_PER_S);
    decide(&rig, 5, false, NOW + 4 * NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 5), &told));
    ck_assert_str_eq(told.word, "no_sample");
    rig_release(&rig);
}
END_TEST

/* What is told of a reason of the shop as a whole. */
static const struct told_reason *told_of_service(const struct rig *rig, const char *word,
                                                 struct told_reason *told)
{
    const struct known *known = &rig->known;
    size_t shop = known_service_find(known, VIEW("shop"));
    for (size_t i = 0; i < known->reason_count; i++)
        if (known->services[shop]->reasons[i] && strcmp(known->reasons[i]->word, word) == 0)
            reason_of_service(known, known->services[shop], known->reasons[i], told);
    ck_assert_str_eq(told->word, word);
    return told;
}

static bool has_problem(const struct rig *rig, struct told_reason *told)
{
    size_t shop = known_service_find(&rig->known, VIEW("shop"));
    return trouble_of(&rig->known, rig->known.services[shop], told);
}

START_TEST(uploads_that_come_later_than_the_hold_are_the_reason)
{
    static const struct watch_reason not_profiled = {"not_profiled", "none", "Start one."};
    static const struct watch_reason ran_out = {"hold_ran_out", "It waited.", NULL};
    const uint64_t s = NS_PER_S;
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    decide_for(&rig, 1, &not_profiled, NOW);
    decide_for(&rig, 2, &not_profiled, NOW + 10 * s);
    /* Until the hold is known, nothing is promised. */
    sampled_late(&rig, 1, NOW, 100 * s, 0);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 1), &told));
    ck_assert_str_eq(told.word, REASON_BEFORE_FIRST);
    ck_assert_ptr_null(strstr(told.text, "Nothing needs to be done"));
    ck_assert_ptr_null(strstr(told_of_service(&rig, REASON_BEFORE_FIRST, &told)->text, "Nothing"));
    ck_assert(!has_problem(&rig, &told));
    sampled_late(&rig, 2, NOW + 10 * s, 100 * s, 80 * s);
    decide_for(&rig, 3, &ran_out, NOW + 20 * s);
    decide_for(&rig, 4, &ran_out, NOW + 20 * s);
    sampled_late(&rig, 4, NOW + 20 * s, 100 * s, 80 * s);
    static const char *const words[] = {REASON_BEFORE_FIRST, REASON_BEFORE_FIRST, "hold_ran_out",
                                        REASON_CAME_LATE};
    for (uint64_t id = 1; id <= 4; id++) {
        for (int whole = 0; whole < 2; whole++) {
            if (whole)
                told_of_service(&rig, words[id - 1], &told);
            else
                ck_assert(reason_of(&rig.known, known_find(&rig.known, id), &told));
            ck_assert_str_eq(told.word, words[id - 1]);
            ck_assert_ptr_nonnull(strstr(told.text, "come 100 s after the end of their window, and "
                                                    "the hold is 80 s."));
            ck_assert_ptr_nonnull(strstr(told.fix, "Raise `hold` of the correlation processor "
                                                   "above 110 s"));
        }
    }
    ck_assert(has_problem(&rig, &told));
    ck_assert_ptr_nonnull(strstr(told.fix, "Raise `hold`"));
    /* As soon as that has been done. */
    decide(&rig, 5, true, NOW + 30 * s);
    sampled_late(&rig, 5, NOW + 30 * s, 100 * s, 120 * s);
    ck_assert(!has_problem(&rig, &told));
    ck_assert_ptr_nonnull(strstr(told_of_service(&rig, REASON_BEFORE_FIRST, &told)->text,
                                 "later spans wait for their profiles"));
    ck_assert_ptr_null(told.fix);
    rig_release(&rig);
}
END_TEST

/* Of a host whose clock is behind, spans and profiles are equally late. */
START_TEST(a_clock_that_is_behind_makes_no_late_uploads)
{
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    for (uint64_t id = 1; id <= 5; id++) {
        const struct watch_decision decision = {.span_id = id,
                                                .link_id = id,
                                                .service = shop(),
                                                .action = WATCH_LINKED,
                                                .ended = NOW - 300 * NS_PER_S,
                                                .arrived = NOW,
                                                .decided = NOW,
                                                .hold = 80 * NS_PER_S};
        known_decided(&rig.known, &decision);
        sampled_late(&rig, id, NOW - 300 * NS_PER_S, 300 * NS_PER_S, 80 * NS_PER_S);
    }
    ck_assert(has_problem(&rig, &told));
    ck_assert_str_eq(told.text,
                     "Its spans come 300 s after their end, and its profiles 300 s after "
                     "theirs: its clock seems to be behind.");
    rig_release(&rig);
}
END_TEST

/* Grafana looks for profiles at the spans' time. */
START_TEST(a_span_s_clock_that_is_ahead_is_a_problem_where_the_profiles_is_not)
{
    for (uint64_t ahead = 0; ahead <= 120; ahead += 60) {
        struct rig rig;
        struct told_reason told = {0};
        rig_init(&rig);
        for (uint64_t id = 1; id <= 3; id++) {
            const struct known_seen seen = {.id = id,
                                            .service = VIEW("shop"),
                                            .name = VIEW("GET"),
                                            .link = id,
                                            .ended = NOW + 120 * NS_PER_S};
            sampled_in(&rig,
                       (struct watch_window){.kind = "process_cpu",
                                             .start = NOW + (ahead - 1) * NS_PER_S,
                                             .end = NOW + ahead * NS_PER_S,
                                             .arrived = NOW,
                                             .times_cpu = true},
                       (struct watch_sample){.id = id, .samples = 1, .cpu_ns = 5});
            known_seen(&rig.known, &seen, NOW);
        }
        ck_assert_int_eq(has_problem(&rig, &told), ahead < 120);
        rig_release(&rig);
    }
}
END_TEST

START_TEST(a_service_whose_profiler_has_stopped_says_so_as_its_spans_do)
{
    static const struct watch_reason ran_out = {"hold_ran_out", "It waited.", NULL};
    static const struct watch_reason silent = {"hold_ran_out", WATCH_SILENT, "See."};
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    sampled(&rig, 0, 5, NOW);
    decide_for(&rig, 1, &ran_out, NOW + 60 * NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 1), &told));
    ck_assert_str_eq(told.fix, REASON_STOPPED_FIX);
    ck_assert_str_eq(told_of_service(&rig, "hold_ran_out", &told)->fix, REASON_STOPPED_FIX);
    ck_assert(!has_problem(&rig, &told)); /* it may have nothing to do */
    decide_for(&rig, 2, &ran_out, NOW + 200 * NS_PER_S);
    ck_assert(has_problem(&rig, &told));
    ck_assert_ptr_nonnull(strstr(told.text, "No profile of its service has come for 200 s"));
    sampled(&rig, 0, 5, NOW + 201 * NS_PER_S);
    ck_assert(!has_problem(&rig, &told));
    /* The last profile came after this one had ended: its process had nothing to do. */
    decide_for(&rig, 3, &ran_out, NOW + 202 * NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 3), &told));
    ck_assert_ptr_null(told.fix);
    decide_for(&rig, 4, &silent, NOW + 271 * NS_PER_S); /* so far above its windows */
    ck_assert(has_problem(&rig, &told));
    ck_assert_ptr_nonnull(strstr(told.text, "No profile of its service has come for 70 s"));
    rig_release(&rig);
}
END_TEST

START_TEST(samples_that_name_no_span_that_came_are_a_problem_of_all_spans_since_the_last_link)
{
    static const struct watch_reason unmatched = {"ids_unmatched", "of no span", "See the ids."};
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    sampled(&rig, 9, 5, NOW - 60 * NS_PER_S);
    decide(&rig, 1, false, NOW);
    decide(&rig, 2, true, NOW + NS_PER_S);
    decide(&rig, 3, false, NOW + 2 * NS_PER_S);
    ck_assert(!has_problem(&rig, &told));
    decide_for(&rig, 4, &unmatched, NOW + 3 * NS_PER_S);
    sampled(&rig, 10, 5, NOW + 3 * NS_PER_S);
    ck_assert_uint_eq(counted(&rig, "shop", "no_sample"), 1);
    ck_assert_uint_eq(counted(&rig, "shop", "ids_unmatched"), 2);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 3), &told));
    ck_assert_str_eq(told.fix, "See the ids.");
    ck_assert(has_problem(&rig, &told));
    ck_assert_str_eq(told.text, "of no span");
    decide(&rig, 5, true, NOW + 4 * NS_PER_S);
    ck_assert(!has_problem(&rig, &told));
    rig_release(&rig);
}
END_TEST

/* A job may wait for long after it has computed. */
START_TEST(long_spans_are_not_out_of_reach_of_their_profiles)
{
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    for (uint64_t id = 1; id <= 5; id++) {
        sampled_late(&rig, id, NOW, NS_PER_S, 0);
        decide(&rig, id, true, NOW + 100 * NS_PER_S);
    }
    ck_assert(!has_problem(&rig, &told));
    ck_assert_uint_eq(rig.known.services[known_service_find(&rig.known, VIEW("shop"))]->apart, 0);
    rig_release(&rig);
}
END_TEST

/* One alone may be a mistake of that span. */
START_TEST(links_that_all_open_nothing_are_a_problem_with_the_clock_that_is_wrong)
{
    for (int profile = 0; profile < 2; profile++) {
        struct rig rig;
        struct told_reason told = {0};
        rig_init(&rig);
        for (uint64_t id = 1; id <= 3; id++) {
            uint64_t apart = 300 * NS_PER_S;
            const struct watch_decision decision = {.span_id = id,
                                                    .link_id = id,
                                                    .service = shop(),
                                                    .action = WATCH_LINKED,
                                                    .ended = NOW - (profile ? 0 : apart),
                                                    .arrived = NOW,
                                                    .decided = NOW};
            ck_assert(!has_problem(&rig, &told));
            sampled_late(&rig, id, NOW - (profile ? apart : 0), profile ? apart : 0, 0);
            known_decided(&rig.known, &decision);
            known_fold(&rig.known);
        }
        ck_assert(has_problem(&rig, &told));
        ck_assert_ptr_nonnull(
            strstr(told.text, profile ? "300 s before these" : "290 s after these"));
        ck_assert_ptr_nonnull(
            strstr(told.fix, profile ? "profiled process's host" : "host of the span's SDK"));
        decide(&rig, 4, true, NOW);
        sampled(&rig, 4, 5, NOW);
        ck_assert(!has_problem(&rig, &told));
        rig_release(&rig);
    }
}
END_TEST

/* The number of a service is that of the route of its others. */
static const struct known_route *others(const struct rig *rig, const char *service)
{
    return &rig->known.routes[known_service_find(&rig->known, view_of(service))];
}

static const struct known_route *unclaimed(const struct rig *rig, const char *service)
{
    return others(rig, service) + KNOWN_SERVICES;
}

static uint64_t metered(const struct rig *rig)
{
    uint64_t sum = rig->known.metered_others;
    for (size_t i = 0; i < rig->known.route_count; i++)
        sum += rig->known.routes[i].metered_ns;
    return sum;
}

static uint64_t series_sum(const struct known_route *of)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; of->used && i < KNOWN_SERIES; i++)
        sum += known_route_step(of, of->step - i)->cpu_ns;
    return sum;
}

START_TEST(samples_are_unclaimed_until_their_span_passes)
{
    struct rig rig;
    uint64_t now = NOW;
    rig_init(&rig);
    for (unsigned i = 0; i < 16; i++, now += 10 * NS_PER_S) {
        sampled_in(&rig,
                   (struct watch_window){
                       .start = now - 10 * NS_PER_S, .end = now, .arrived = now, .times_cpu = true},
                   (struct watch_sample){.id = 1, .samples = 900, .cpu_ns = 9 * NS_PER_S});
        known_settle(&rig.known, now);
        ck_assert_uint_eq(unclaimed(&rig, "shop")->cpu_ns, (i + 1) * 9 * NS_PER_S); /* at once */
    }
    ck_assert_uint_eq(metered(&rig), 0);
    decide(&rig, 1, true, now);
    passed(&rig, 1, true, "nightly job", now);
    ck_assert_uint_eq(route(&rig, "nightly job")->cpu_ns, 144 * NS_PER_S);
    ck_assert_uint_eq(series_sum(route(&rig, "nightly job")), 144 * NS_PER_S);
    ck_assert_uint_eq(route(&rig, "nightly job")->samples, 16 * 900);
    ck_assert_uint_eq(route(&rig, "nightly job")->metered_ns, 144 * NS_PER_S);
    ck_assert_uint_eq(unclaimed(&rig, "shop")->cpu_ns, 0);
    ck_assert_uint_eq(unclaimed(&rig, "shop")->samples, 0);
    ck_assert_uint_eq(series_sum(unclaimed(&rig, "shop")), 0);
    ck_assert_uint_eq(metered(&rig), 144 * NS_PER_S);
    rig_release(&rig);
}
END_TEST

/* A counter cannot take back. */
START_TEST(the_metrics_count_what_no_span_claims_for_long)
{
    struct rig rig;
    rig_init(&rig);
    sampled(&rig, 1, 10, NOW);
    known_settle(&rig.known, NOW + 590 * NS_PER_S);
    ck_assert_uint_eq(metered(&rig), 0);
    known_settle(&rig.known, NOW + 610 * NS_PER_S);
    ck_assert_uint_eq(unclaimed(&rig, "shop")->metered_ns, 10);
    sampled(&rig, 1, 5, NOW + 620 * NS_PER_S);
    ck_assert_uint_eq(unclaimed(&rig, "shop")->metered_ns, 15);
    passed(&rig, 1, true, "GET /", NOW + 630 * NS_PER_S);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 15);
    ck_assert_uint_eq(route(&rig, "GET /")->metered_ns, 0);
    ck_assert_uint_eq(metered(&rig), 15);
    sampled(&rig, 1, 3, NOW + 640 * NS_PER_S);
    ck_assert_uint_eq(route(&rig, "GET /")->metered_ns, 3);
    rig_release(&rig);
}
END_TEST

/* As with an SDK that samples, or work in threads that have no span. */
START_TEST(samples_that_name_no_span_are_a_row_of_their_service)
{
    struct rig rig;
    rig_init(&rig);
    sampled(&rig, 0, 70, NOW);
    sampled(&rig, 1, 10, NOW);
    sampled(&rig, 2, 5, NOW);
    passed(&rig, 1, true, NAME_UNCLAIMED, NOW);
    const struct known_route *none = unclaimed(&rig, "shop");
    ck_assert_uint_eq(none->cpu_ns, 75);
    ck_assert_uint_eq(none->samples, 2);
    ck_assert_uint_eq(series_sum(none), 75);
    ck_assert_uint_eq(none->metered_ns, 70);
    ck_assert_int_eq(known_route_kind(&rig.known, none), KNOWN_ROUTE_UNCLAIMED);
    ck_assert(view_eq(known_route_name(&rig.known, none), VIEW(NAME_UNCLAIMED)));
    const struct known_route *named = route(&rig, NAME_UNCLAIMED);
    ck_assert_uint_eq(named->cpu_ns, 10);
    ck_assert_int_eq(known_route_kind(&rig.known, named), KNOWN_ROUTE_NAMED);
    ck_assert_int_eq(known_route_kind(&rig.known, others(&rig, "shop")), KNOWN_ROUTE_OTHERS);
    ck_assert_uint_eq(rig.known.services[1]->cpu_ns, 15); /* of samples that name spans */
    ck_assert_ptr_null(known_find(&rig.known, 0));
    rig_release(&rig);
}
END_TEST

START_TEST(samples_of_another_name_say_what_they_measure)
{
    struct rig rig;
    rig_init(&rig);
    decide(&rig, 1, false, NOW);
    passed(&rig, 1, false, "GET /", NOW);
    ck_assert(!known_route_times_cpu(&rig.known, route(&rig, "GET /")));
    sampled_in(&rig, (struct watch_window){.service = till(), .arrived = NOW, .times_cpu = true},
               (struct watch_sample){.id = 1, .samples = 2, .cpu_ns = 20});
    ck_assert(known_route_times_cpu(&rig.known, route(&rig, "GET /")));
    ck_assert_uint_eq(route(&rig, "GET /")->samples, 2);
    rig_release(&rig);
}
END_TEST

static struct watch_service shop_of(const char *tenant)
{
    return (struct watch_service){
        .key = (uint64_t)*tenant, .name = VIEW("shop"), .tenant = view_of(tenant)};
}

static void sampled_of(struct rig *rig, const char *tenant, uint64_t id, uint64_t cpu_ns)
{
    sampled_in(rig,
               (struct watch_window){.service = shop_of(tenant), .arrived = NOW, .times_cpu = true},
               (struct watch_sample){.id = id, .samples = 1, .cpu_ns = cpu_ns});
}

static void passed_of(struct rig *rig, const char *tenant, uint64_t id)
{
    const struct known_seen seen = {.id = id,
                                    .link = id,
                                    .service = VIEW("shop"),
                                    .name = view_of(tenant),
                                    .tenant = view_of(tenant)};
    known_seen(&rig->known, &seen, NOW);
}

/* Forwarded at once, since no profile of its service had come. */
static void unprofiled_of(struct rig *rig, struct watch_service service, uint64_t id)
{
    static const struct watch_reason not_profiled = {"not_profiled", "none", NULL};
    const struct watch_decision decision = {.span_id = id,
                                            .service = service,
                                            .action = WATCH_AS_CAME,
                                            .reason = &not_profiled,
                                            .ended = NOW - NS_PER_S,
                                            .decided = NOW};
    known_decided(&rig->known, &decision);
}

static struct watch_service of_tenant(const char *name, const char *tenant)
{
    uint64_t key = (uint64_t)*name << 8 | (unsigned char)*tenant;
    return (struct watch_service){.key = key, .name = view_of(name), .tenant = view_of(tenant)};
}

/* Passed as no local root, without a decision, and was then sampled in such a window. */
static void child_in(struct rig *rig, struct watch_window window, uint64_t id)
{
    const struct known_seen seen = {
        .id = id, .trace = 9, .service = VIEW("shop"), .name = VIEW("child"), .child = true};
    window.arrived = NOW;
    sampled_in(rig, window, (struct watch_sample){.id = id, .samples = !window.untimed});
    known_seen(&rig->known, &seen, NOW);
}

START_TEST(why_a_child_with_samples_has_no_link)
{
    static const struct watch_reason roots = {"came_late", "Roots only.", "Set it."};
    static const struct {
        struct watch_window window;
        const char *word, *text;
    } all[] = {
        {{.kind = "process_cpu"}, "came_late", "only once samples have named others of its"},
        {{.kind = "process_cpu", .roots_only = &roots}, "came_late", "Roots only."},
        {{.kind = "wall", .beside = true}, "no_local_root", "Only samples of wall time name it"},
        {{.kind = "wall", .beside = true, .roots_only = &roots},
         "no_local_root",
         "Only samples of wall time name it, and `confirm_by`"},
        {{.kind = "memory", .beside = true, .untimed = true},
         "no_local_root",
         "Only samples of memory name it, and `confirm_by`"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct rig rig;
        struct told_reason told = {0};
        rig_init(&rig);
        child_in(&rig, all[i].window, 1);
        ck_assert(reason_passed(&rig.known, known_find(&rig.known, 1), false, &told));
        ck_assert_str_eq(told.word, all[i].word);
        ck_assert_msg(strstr(told.text, all[i].text) != NULL, "%s", told.text);
        ck_assert_msg(!told.fix == (i == 0), "%s", told.fix);
        rig_release(&rig);
    }
}
END_TEST

/* All of a service whose profiles have span ids, but of no kind that confirms. */
START_TEST(spans_are_told_that_confirm_by_leaves_out_what_names_others)
{
    static const struct watch_reason no_ids = {"no_ids", "none", "label"};
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    struct watch_decision decision = {.service = shop(),
                                      .action = WATCH_NOT_LINKED,
                                      .reason = &no_ids,
                                      .ended = NOW - NS_PER_S,
                                      .decided = NOW};
    for (decision.span_id = 1; decision.span_id <= 2; decision.span_id++)
        known_decided(&rig.known, &decision);
    sampled_in(&rig, (struct watch_window){.kind = "wall", .arrived = NOW, .beside = true},
               (struct watch_sample){.id = 1, .samples = 1, .wall_ns = 10});
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 2), &told));
    ck_assert_str_eq(told.word, "no_ids");
    ck_assert_str_eq(told.text, "Only samples of wall time name spans of its service, and "
                                "`confirm_by` of the correlation processor leaves these out.");
    ck_assert_str_eq(told.fix, REASON_BESIDE_FIX);
    reason_child(&rig.known, VIEW("shop"), &told);
    ck_assert_str_eq(told.word, REASON_NO_LOCAL_ROOT);
    ck_assert_str_eq(told.fix, REASON_BESIDE_FIX);
    rig_release(&rig);
}
END_TEST

/* Sent to two tenants, with the profiles in one; also in traces of their own. */
START_TEST(a_span_of_two_tenants_is_found_by_trace_and_link)
{
    struct rig rig;
    rig_init(&rig);
    for (uint64_t id = 1; id <= 2; id++) {
        const char *const tenants[] = {"b", "a"};
        for (size_t i = 0; i < 2; i++) {
            struct known_seen seen = {.id = id,
                                      .trace = id == 1 ? 5 : 6 + i,
                                      .service = VIEW("shop"),
                                      .name = VIEW("GET /"),
                                      .tenant = view_of(tenants[i])};
            decide_of(&rig, shop_of(tenants[i]), id, *tenants[i] == 'b', NOW);
            known_seen(&rig.known, &seen, NOW);
        }
    }
    for (int linked = 0; linked <= 1; linked++) {
        const struct known_span *span = known_find_as(&rig.known, 1, VIEW("shop"), 5, linked > 0);
        ck_assert_int_eq(span->action == WATCH_LINKED, linked);
        ck_assert_int_eq(known_find_as(&rig.known, 2, VIEW("shop"), 6, linked > 0)->action,
                         WATCH_LINKED);
        ck_assert_int_eq(known_find_as(&rig.known, 2, VIEW("shop"), 7, linked > 0)->action,
                         WATCH_NOT_LINKED);
    }
    ck_assert(known_is_linked(&rig.known, 1, VIEW("shop"), 5, 1));
    ck_assert_ptr_null(known_find_as(&rig.known, 3, VIEW("shop"), 5, true));
    rig_release(&rig);
}
END_TEST

START_TEST(samples_that_came_from_another_tenant_are_told)
{
    static const struct {
        const char *traces, *profiles, *name, *text, *fix;
    } all[] = {
        {"a", "", "shop",
         "Samples with ids of spans of its service came without a tenant, but its spans are of "
         "tenant \"a\".",
         "Give the profiler the X-Scope-OrgID of the exporter of the traces, \"a\"."},
        {"", "b", "shop",
         "Samples with ids of spans of its service came from tenant \"b\", but its spans have no "
         "tenant.",
         "Give the exporter of the traces the X-Scope-OrgID of the profiler, \"b\"."},
        {"a", "b", "app",
         "Samples with ids of spans of its service came under \"app\" from tenant \"b\", but its "
         "spans are of tenant \"a\".",
         "Give the profiler the X-Scope-OrgID of the exporter of the traces, \"a\", and the "
         "profiler the name of the spans, \"shop\"."},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct rig rig;
        struct told_reason told = {0};
        struct watch_service shop = of_tenant("shop", all[i].traces);
        rig_init(&rig);
        unprofiled_of(&rig, shop, 1);
        unprofiled_of(&rig, shop, 2);
        sampled_in(&rig,
                   (struct watch_window){.service = of_tenant(all[i].name, all[i].profiles),
                                         .arrived = NOW,
                                         .times_cpu = true},
                   (struct watch_sample){.id = 1, .samples = 1, .cpu_ns = 10});
        known_settle(&rig.known, NOW);
        for (uint64_t id = 1; id <= 2; id++) {
            ck_assert(reason_of(&rig.known,
                                known_find_in(&rig.known, id, VIEW("shop"), shop.tenant), &told));
            ck_assert_str_eq(told.word, REASON_TENANTS_DIFFER);
            ck_assert_str_eq(told.text, all[i].text);
            ck_assert_str_eq(told.fix, all[i].fix);
        }
        const struct known_service *service = rig.known.services[1];
        ck_assert(trouble_of(&rig.known, service, &told));
        ck_assert_str_eq(told.text, all[i].text);
        ck_assert_uint_eq(counted(&rig, "shop", REASON_TENANTS_DIFFER), 2);
        sampled_in(&rig, /* the tenant is right now */
                   (struct watch_window){.service = shop, .arrived = NOW + 1, .times_cpu = true},
                   (struct watch_sample){.id = 3, .samples = 1, .cpu_ns = 10});
        ck_assert(!trouble_of(&rig.known, service, &told));
        ck_assert_uint_eq(counted(&rig, "shop", REASON_BEFORE_FIRST), 2);
        rig_release(&rig);
    }
}
END_TEST

START_TEST(samples_of_one_span_from_another_tenant_are_told)
{
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    sampled_of(&rig, "a", 1, 10);
    decide_of(&rig, shop_of("a"), 1, true, NOW);
    for (uint64_t id = 2; id <= 4; id++)
        decide_of(&rig, shop_of("a"), id, false, NOW);
    for (uint64_t id = 2; id <= 3; id++) {
        sampled_of(&rig, "b", id, 10);
        known_settle(&rig.known, NOW);
        ck_assert(
            reason_of(&rig.known, known_find_in(&rig.known, id, VIEW("shop"), VIEW("a")), &told));
        ck_assert_str_eq(told.word, REASON_TENANTS_DIFFER);
    }
    ck_assert_uint_eq(counted(&rig, "shop", REASON_TENANTS_DIFFER), 2);
    ck_assert_uint_eq(counted(&rig, "shop", "no_sample"), 1);
    rig_release(&rig);
}
END_TEST

START_TEST(a_span_of_two_tenants_whose_profiles_come_to_one_is_no_mistake)
{
    struct rig rig;
    rig_init(&rig);
    unprofiled_of(&rig, shop_of("a"), 1);
    sampled_of(&rig, "b", 1, 10);
    decide_of(&rig, shop_of("b"), 1, true, NOW);
    known_settle(&rig.known, NOW);
    ck_assert_uint_eq(counted(&rig, "shop", "not_profiled"), 1);
    rig_release(&rig);
}
END_TEST

START_TEST(a_tenant_has_samples_of_its_own)
{
    struct rig rig;
    rig_init(&rig);
    sampled_of(&rig, "a", 1, 10); /* the same span in two */
    sampled_of(&rig, "b", 1, 20);
    decide_of(&rig, shop_of("a"), 1, true, NOW);
    decide_of(&rig, shop_of("b"), 1, true, NOW);
    passed_of(&rig, "a", 1);
    passed_of(&rig, "b", 1);
    ck_assert_uint_eq(route(&rig, "a")->cpu_ns, 10);
    ck_assert_uint_eq(route(&rig, "b")->cpu_ns, 20);
    ck_assert(view_eq(known_tenant(&rig.known, route(&rig, "b")->service), VIEW("b")));
    decide_of(&rig, shop_of("a"), 2, false, NOW); /* span in one, samples in the other */
    passed_of(&rig, "a", 2);
    sampled_of(&rig, "b", 2, 5);
    sampled_of(&rig, "b", 3, 7);
    decide_of(&rig, shop_of("a"), 3, false, NOW);
    for (uint64_t id = 2; id <= 3; id++) {
        const struct known_span *span = known_find_of(&rig.known, id, VIEW("shop"));
        ck_assert_uint_eq(span->cpu_ns, 0);
        ck_assert_int_eq(span->action, WATCH_NOT_LINKED);
    }
    ck_assert_uint_eq(route(&rig, "a")->cpu_ns, 10);
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
    for (size_t i = 0; i < rig.known.route_count; i++)
        sum += rig.known.routes[i].cpu_ns;
    ck_assert_uint_eq(sum, 3 * (KNOWN_SPANS + 1000));
    ck_assert_uint_eq(metered(&rig), 3 * 1000); /* of those that are forgotten */
    ck_assert_uint_eq(rig.known.services[1]->cpu_ns, sum);
    rig_release(&rig);
}
END_TEST

static const struct known_route *not_looked_at(const struct rig *rig)
{
    return &rig->known
                .routes[2 * (size_t)KNOWN_SERVICES + known_service_find(&rig->known, VIEW("shop"))];
}

/* A decided span has passed: what it costs is no work outside of spans. */
START_TEST(samples_of_a_span_that_was_not_looked_at_say_so)
{
    struct rig rig;
    rig_init(&rig);
    sampled(&rig, 1, 10, NOW);
    sampled(&rig, 2, 5, NOW);
    decide(&rig, 1, true, NOW);
    known_settle(&rig.known, NOW + NS_PER_S); /* it may yet be looked at */
    ck_assert_uint_eq(unclaimed(&rig, "shop")->cpu_ns, 15);
    known_settle(&rig.known, NOW + 10 * NS_PER_S);
    ck_assert_uint_eq(unclaimed(&rig, "shop")->cpu_ns, 5);
    ck_assert_uint_eq(not_looked_at(&rig)->cpu_ns, 10);
    ck_assert_uint_eq(not_looked_at(&rig)->spans, 0);
    ck_assert(view_eq(known_route_name(&rig.known, not_looked_at(&rig)), VIEW(NAME_NOT_LOOKED)));
    ck_assert_int_eq(known_route_kind(&rig.known, not_looked_at(&rig)), KNOWN_ROUTE_NOT_LOOKED);
    sampled(&rig, 1, 7, NOW + 11 * NS_PER_S);
    ck_assert_uint_eq(not_looked_at(&rig)->cpu_ns, 17);
    known_settle(&rig.known, NOW + 610 * NS_PER_S);
    ck_assert_uint_eq(not_looked_at(&rig)->metered_ns, 17);
    ck_assert_uint_eq(unclaimed(&rig, "shop")->metered_ns, 5);
    passed(&rig, 1, true, "GET /", NOW + 620 * NS_PER_S); /* after all */
    ck_assert_uint_eq(not_looked_at(&rig)->cpu_ns, 0);
    ck_assert_uint_eq(series_sum(not_looked_at(&rig)), 0);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 17);
    rig_release(&rig);
}
END_TEST

/* Makes the spans of before give way. */
static uint64_t sample_others(struct rig *rig, uint64_t now)
{
    for (uint64_t id = 1; id <= KNOWN_SPANS; id++, now += NS_PER_MS)
        sampled(rig, id * UINT64_C(0x9e3779b97f4a7c15), 3, now);
    return now;
}

static void passed_before(struct rig *rig, uint64_t id, bool child, uint64_t arrived, uint64_t now)
{
    const struct known_seen seen = {.id = id,
                                    .link = child ? 0 : id,
                                    .trace = id,
                                    .service = VIEW("shop"),
                                    .name = VIEW("GET /"),
                                    .child = child,
                                    .passed = arrived};
    known_seen(&rig->known, &seen, now);
}

START_TEST(a_span_that_is_forgotten_and_looked_at_again_counts_once)
{
    struct rig rig;
    rig_init(&rig);
    decide(&rig, 1, true, NOW);
    sampled(&rig, 1, 10, NOW);
    passed(&rig, 1, true, "GET /", NOW + NS_PER_S);
    uint64_t now = sample_others(&rig, NOW + 2 * NS_PER_S);
    ck_assert_ptr_null(known_find(&rig.known, 1));
    passed_before(&rig, 1, false, NOW, now);
    ck_assert_uint_eq(route(&rig, "GET /")->spans, 1);
    ck_assert_ptr_null(known_find(&rig.known, 1));
    sampled(&rig, 1, 5, now); /* of a later window */
    passed_before(&rig, 1, false, NOW, now);
    ck_assert_uint_eq(route(&rig, "GET /")->spans, 1);
    ck_assert_uint_eq(route(&rig, "GET /")->linked, 1);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 15);
    rig_release(&rig);
}
END_TEST

/* With samples that came after them, as in the first seconds of a service. */
START_TEST(a_child_that_is_looked_at_again_counts_once)
{
    struct rig rig;
    rig_init(&rig);
    sampled(&rig, 1, 10, NOW + NS_PER_S);
    passed_before(&rig, 1, true, NOW, NOW + 2 * NS_PER_S);
    passed_before(&rig, 1, true, NOW, NOW + 3 * NS_PER_S);
    ck_assert_uint_eq(route(&rig, "GET /")->spans, 1);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 10);
    uint64_t now = sample_others(&rig, NOW + 4 * NS_PER_S);
    ck_assert_ptr_null(known_find(&rig.known, 1));
    sampled(&rig, 1, 5, now);
    passed_before(&rig, 1, true, NOW, now);
    ck_assert_uint_eq(route(&rig, "GET /")->spans, 1);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 10);
    sampled(&rig, 2, 7, now); /* that passed after all that is forgotten */
    passed_before(&rig, 2, true, now, now + NS_PER_S);
    ck_assert_uint_eq(route(&rig, "GET /")->spans, 2);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 17);
    rig_release(&rig);
}
END_TEST

/* Of spans that were not held, as their profiles come under another name. */
START_TEST(late_samples_look_for_their_span_for_as_long_as_a_service_runs)
{
    struct rig rig;
    rig_init(&rig);
    uint64_t now = NOW + 600 * NS_PER_S;
    sampled(&rig, 1, 10, NOW);
    ck_assert(known_may_have_passed(&rig.known, NOW + NS_PER_S, false));
    sampled(&rig, 2, 20, now);
    ck_assert(known_may_have_passed(&rig.known, now + NS_PER_S, false));
    ck_assert(!known_may_have_passed(&rig.known, now + 70 * NS_PER_S, true));
    passed_before(&rig, 2, true, now - 30 * NS_PER_S, now + NS_PER_S);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 20);
    sampled(&rig, 3, 30, now + 71 * NS_PER_S);
    ck_assert(known_may_have_passed(&rig.known, now + 72 * NS_PER_S, false));
    sampled(&rig, 4, 40, now + 73 * NS_PER_S);
    ck_assert(!known_may_have_passed(&rig.known, now + 74 * NS_PER_S, false));
    ck_assert(known_may_have_passed(&rig.known, now + 78 * NS_PER_S, true));
    sampled(&rig, 5, 50, now + 79 * NS_PER_S);
    decide(&rig, 5, true, now + 79 * NS_PER_S); /* it passes now */
    ck_assert(!known_may_have_passed(&rig.known, now + 200 * NS_PER_S, true));
    /* A child that was decided and passed before its samples came. */
    decide(&rig, 6, false, now);
    const struct known_seen seen = {
        .id = 6, .trace = 9, .service = VIEW("shop"), .name = VIEW("GET /"), .child = true};
    known_seen(&rig.known, &seen, now);
    sampled(&rig, 6, 60, now + 201 * NS_PER_S);
    ck_assert(known_may_have_passed(&rig.known, now + 202 * NS_PER_S, false));
    passed_before(&rig, 6, true, now, now + 202 * NS_PER_S);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 80);
    rig_release(&rig);
}
END_TEST

START_TEST(the_costliest_routes_have_names_and_the_rest_is_one)
{
    struct rig rig;
    char name[32];
    uint64_t sum = 0, now = NOW, id = 0;
    rig_init(&rig);
    for (unsigned i = 0; i < 10 * KNOWN_NAMED; i++, now += NS_PER_MS) {
        snprintf(name, sizeof name, "GET /%u", i);
        sampled(&rig, ++id, 2, now);
        passed(&rig, id, true, name, now);
        sum += 2;
        if (i % 8 != 0)
            continue;
        sampled(&rig, ++id, 7, now);
        passed(&rig, id, true, "GET /hot", now);
        sum += 7;
    }
    ck_assert_uint_le(rig.known.route_count, KNOWN_ROUTES);
    ck_assert_uint_eq(route(&rig, "GET /hot")->cpu_ns, 7 * 10 * KNOWN_NAMED / 8);
    ck_assert(route(&rig, "GET /hot")->metered);
    sampled(&rig, 1, 1000, now); /* of a route that gave way */
    sum += 1000;
    uint64_t all = 0, stepped = 0;
    for (size_t i = 0; i < rig.known.route_count; i++) {
        all += rig.known.routes[i].cpu_ns;
        stepped += series_sum(&rig.known.routes[i]);
    }
    ck_assert_uint_eq(all, sum);
    ck_assert_uint_eq(stepped, sum);
    ck_assert_uint_eq(metered(&rig), sum);
    ck_assert_uint_eq(rig.known.services[1]->cpu_ns, sum);
    ck_assert_uint_ge(others(&rig, "shop")->cpu_ns, 1000);
    ck_assert_uint_le(rig.known.names.count, rig.known.names.max);
    rig_release(&rig);
}
END_TEST

/* Spans that cost nothing have no use for a place. */
START_TEST(a_route_that_costs_nothing_takes_no_place_of_another)
{
    struct rig rig;
    char name[32];
    rig_init(&rig);
    for (unsigned i = 0; i < 2 * KNOWN_NAMED; i++) {
        snprintf(name, sizeof name, "GET /%u", i);
        if (i < KNOWN_NAMED)
            sampled(&rig, i + 1, 2, NOW);
        else
            decide(&rig, i + 1, false, NOW);
        passed(&rig, i + 1, i < KNOWN_NAMED, name, NOW);
    }
    ck_assert_ptr_nonnull(route(&rig, "GET /0"));
    ck_assert_uint_eq(others(&rig, "shop")->spans, KNOWN_NAMED);
    rig_release(&rig);
}
END_TEST

START_TEST(a_new_service_takes_the_place_of_the_one_with_the_least)
{
    struct rig rig;
    char name[32];
    uint64_t cpu = 0, spans = 0, now = NOW;
    rig_init(&rig);
    for (unsigned i = 0; i < 3 * KNOWN_SERVICES; i++, now += NS_PER_S / 4) {
        snprintf(name, sizeof name, "junk-%u", i);
        const struct watch_service junk = {.key = 100 + i, .name = view_of(name)};
        const struct watch_window window = {.service = junk, .arrived = now, .times_cpu = true};
        sampled_in(&rig, window, (struct watch_sample){.id = i + 1, .samples = 1, .cpu_ns = 3});
        decide_of(&rig, junk, i + 1, false, now);
        decide(&rig, 10000 + i, true, now);
        sampled(&rig, 10000 + i, 5, now);
        passed(&rig, 10000 + i, true, "GET /", now);
    }
    decide_of(&rig, till(), 1, false, now);
    ck_assert_uint_ne(known_service_find(&rig.known, VIEW("till")), 0);
    ck_assert_uint_ne(known_service_find(&rig.known, VIEW("shop")), 0);
    ck_assert_uint_eq(known_service_find(&rig.known, VIEW("junk-1")), 0);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 5 * 3 * KNOWN_SERVICES);
    passed(&rig, 1, false, "late", now); /* its service has given way, its samples have not */
    for (size_t i = 0; i < rig.known.service_count; i++) {
        cpu += rig.known.services[i]->cpu_ns;
        spans += rig.known.services[i]->linked + rig.known.services[i]->not_linked;
    }
    ck_assert_uint_eq(cpu, 8 * 3 * KNOWN_SERVICES);
    ck_assert_uint_eq(spans, 6 * KNOWN_SERVICES + 1);
    for (size_t i = 0; i < rig.known.route_count; i++)
        cpu -= rig.known.routes[i].cpu_ns;
    ck_assert_uint_eq(cpu, 0);
    known_settle(&rig.known, now + 700 * NS_PER_S);
    ck_assert_uint_eq(metered(&rig), 8 * 3 * KNOWN_SERVICES);
    rig_release(&rig);
}
END_TEST

/* A route that becomes busier than one of those that the metrics have takes its place. */
START_TEST(the_metrics_have_the_busiest_and_lose_nothing)
{
    struct rig rig;
    char name[32];
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
    ck_assert_uint_eq(metered(&rig), 10 * (KNOWN_METERED + 1) + 200);
    rig_release(&rig);
}
END_TEST

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
/* It may have waited for its samples long after both. */
START_TEST(a_span_counts_in_the_step_of_its_end_like_its_samples)
{
    struct rig rig;
    rig_init(&rig);
    const uint64_t late = NOW + 4 * KNOWN_SERIES_STEP, step = (NOW - 1) / KNOWN_SERIES_STEP;
    const struct known_seen linked = {.id = 1,
                                      .link = 1,
                                      .trace = 1,
                                      .ended = NOW - 1,
                                      .service = VIEW("shop"),
                                      .name = VIEW("GET /")};
    struct known_seen other = linked;
    sampled(&rig, 1, 10, NOW);
    decide(&rig, 1, true, NOW);
    known_seen(&rig.known, &linked, late);
    decide(&rig, 2, false, NOW); /* by another instance: it is linked later */
    other.id = 2;
    other.link = 0;
    known_seen(&rig.known, &other, late);
    decide(&rig, 2, true, NOW);
    const struct known_route_step *at = known_route_step(route(&rig, "GET /"), step);
    ck_assert_ptr_nonnull(at);
    ck_assert_uint_eq(at->cpu_ns, 10);
    ck_assert_uint_eq(at->spans, 2);
    ck_assert_uint_eq(at->linked, 2);
    ck_assert_ptr_null(known_route_step(route(&rig, "GET /"), late / KNOWN_SERIES_STEP));
    other.id = 3;
    other.ended = late + NS_PER_S; /* its clock is ahead */
    decide(&rig, 3, false, late);
    known_seen(&rig.known, &other, late);
    at = known_route_step(route(&rig, "GET /"), late / KNOWN_SERIES_STEP);
    ck_assert_uint_eq(at->spans, 1);
    rig_release(&rig);
}
END_TEST

START_TEST(a_window_counts_in_its_own_steps_or_in_none)
{
    const uint64_t hour = 3600 * NS_PER_S, value = 7200000, kept = KNOWN_SERIES;
    const struct {
        struct watch_window window;
        uint64_t stepped;
    } cases[] = {
        {{.arrived = NOW}, value},
        {{.start = NOW - NS_PER_S, .end = NOW + hour / 12, .arrived = NOW}, value}, /* moved back */
        {{.start = NOW - 2 * hour, .end = NOW, .arrived = NOW}, value / 480 * kept},
        {{.start = NOW - 5 * hour, .end = NOW - 5 * hour + 10 * NS_PER_S, .arrived = NOW}, 0},
        {{.start = NOW - hour, .end = NOW - 2 * hour, .arrived = NOW - hour}, 0},
    };
    struct rig rig;
    uint64_t stepped = 0, sum = 0;
    rig_init(&rig);
    decide(&rig, 1, true, NOW);
    passed(&rig, 1, true, "GET /", NOW);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sampled_in(&rig, cases[i].window,
                   (struct watch_sample){.id = 1, .samples = 1, .cpu_ns = value});
        stepped += cases[i].stepped;
        sum += value;
        ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, sum);
        ck_assert_uint_le(series_sum(route(&rig, "GET /")), stepped);
        ck_assert_uint_ge(series_sum(route(&rig, "GET /")) + value / 100, stepped);
    }
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
    /* Of a span that never passes, both are unclaimed. */
    sampled_in(&rig, (struct watch_window){.kind = "wall", .arrived = NOW},
               (struct watch_sample){.id = 3, .samples = 1, .wall_ns = 7});
    ck_assert_uint_eq(unclaimed(&rig, "shop")->wall_ns, 7);
    rig_release(&rig);
}
END_TEST

/* As where several pipelines or instances hand it on: once, as linked if any copy is. */
START_TEST(a_span_that_is_decided_twice_counts_once)
{
    struct rig rig;
    rig_init(&rig);
    decide(&rig, 1, true, NOW);
    decide(&rig, 1, false, NOW);
    decide(&rig, 2, false, NOW);
    passed(&rig, 2, false, "GET /", NOW);
    decide(&rig, 2, false, NOW);
    const struct known_service *service = rig.known.services[1];
    ck_assert_uint_eq(service->linked, 1);
    ck_assert_uint_eq(service->not_linked, 1);
    ck_assert_uint_eq(counted(&rig, "shop", "no_sample"), 1);
    decide(&rig, 2, true, NOW + KNOWN_HISTORY_STEP);
    passed(&rig, 2, true, "GET /", NOW + KNOWN_HISTORY_STEP);
    ck_assert_uint_eq(service->linked, 2);
    ck_assert_uint_eq(service->not_linked, 0);
    ck_assert_uint_eq(counted(&rig, "shop", "no_sample"), 0);
    ck_assert_uint_eq(route(&rig, "GET /")->spans, 1);
    ck_assert_uint_eq(route(&rig, "GET /")->linked, 1);
    ck_assert_int_eq(known_find(&rig.known, 2)->action, WATCH_LINKED);
    rig_release(&rig);
}
END_TEST

/* A child whose samples came when it had passed, and that was sent again then. */
START_TEST(a_copy_that_is_linked_later_is_linked_for_its_route)
{
    struct rig rig;
    rig_init(&rig);
    sampled(&rig, 1, 10, NOW + NS_PER_S);
    passed_before(&rig, 1, true, NOW, NOW + 2 * NS_PER_S);
    ck_assert_uint_eq(route(&rig, "GET /")->linked, 0);
    decide(&rig, 1, true, NOW + 3 * NS_PER_S);
    passed(&rig, 1, true, "GET /", NOW + 4 * NS_PER_S);
    ck_assert_uint_eq(rig.known.services[1]->linked, 1);
    ck_assert_uint_eq(route(&rig, "GET /")->spans, 1);
    ck_assert_uint_eq(route(&rig, "GET /")->linked, 1);
    decide(&rig, 1, true, NOW + 5 * NS_PER_S);
    ck_assert_uint_eq(route(&rig, "GET /")->linked, 1);
    rig_release(&rig);
}
END_TEST

/* An instance that tells of equal uploads means that they are two. */
START_TEST(an_upload_that_two_instances_tell_of_counts_once)
{
    static const struct {
        const char *sources;
        uint64_t uploads;
    } orders[] = {{"ab", 1}, {"abab", 2}, {"aabb", 2}, {"abba", 2}, {"aa", 2}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct rig rig;
        rig_init(&rig);
        decide(&rig, 1, true, NOW);
        for (const char *at = orders[i].sources; *at; at++)
            sampled_in(&rig,
                       (struct watch_window){.arrived = NOW,
                                             .times_cpu = true,
                                             .upload = 17,
                                             .source = *at == 'a' ? &orders[0] : &orders[1]},
                       (struct watch_sample){.id = 1, .samples = 1, .cpu_ns = 10});
        ck_assert_uint_eq(known_find(&rig.known, 1)->cpu_ns, 10 * orders[i].uploads);
        ck_assert_uint_eq(rig.known.services[1]->cpu_ns, 10 * orders[i].uploads);
        ck_assert_uint_eq(rig.known.window_serial, orders[i].uploads);
        rig_release(&rig);
    }
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
/* A decision about a span whose clock is that far behind; reason NULL: linked. */
static void decide_behind(struct rig *rig, uint64_t id, int64_t behind, uint64_t now,
                          const struct watch_reason *reason)
{
    const struct watch_decision decision = {.span_id = id,
                                            .link_id = reason ? 0 : id,
                                            .service = shop(),
                                            .action = reason ? WATCH_AS_CAME : WATCH_LINKED,
                                            .reason = reason,
                                            .ended = now - (uint64_t)behind,
                                            .decided = now};
    known_decided(&rig->known, &decision);
    known_fold(&rig->known);
}

START_TEST(links_that_open_nothing_count_whichever_came_first)
{
    for (int ahead = 0; ahead < 2; ahead++) {
        struct rig rig;
        int64_t behind = (ahead ? -3600 : 3600) * (int64_t)NS_PER_S;
        rig_init(&rig);
        sampled(&rig, 1, 10, NOW);
        decide_behind(&rig, 1, behind, NOW + 1, NULL);
        for (uint64_t id = 2; id < 10; id++) {
            decide_behind(&rig, id, behind, NOW + 1, NULL);
            sampled(&rig, id, 10, NOW + id);
            sampled(&rig, id, 10, NOW + id + NS_PER_S);
        }
        decide_behind(&rig, 10, NS_PER_S, NOW + 1, NULL);
        sampled(&rig, 10, 10, NOW + 2);
        const struct known_service *service =
            rig.known.services[known_service_find(&rig.known, VIEW("shop"))];
        ck_assert_uint_eq(service->apart, 9);
        ck_assert_int_eq(service->apart_ns < 0, ahead);
        rig_release(&rig);
    }
}
END_TEST

START_TEST(where_the_spans_own_time_is_not_known_its_link_is_not_said_to_open_nothing)
{
    struct rig rig;
    const struct watch_decision decision = {
        .span_id = 1, .link_id = 1, .service = shop(), .action = WATCH_LINKED, .decided = NOW};
    rig_init(&rig);
    known_decided(&rig.known, &decision);
    known_fold(&rig.known);
    sampled(&rig, 1, 10, NOW + 60 * NS_PER_S);
    ck_assert_uint_eq(rig.known.services[known_service_find(&rig.known, VIEW("shop"))]->apart, 0);
    rig_release(&rig);
}
END_TEST

START_TEST(a_clock_that_is_behind_is_not_the_start_of_this_process)
{
    static const struct watch_reason before = {"before_start", "It started before.", NULL};
    struct rig rig;
    struct told_reason told;
    rig_init(&rig);
    decide_behind(&rig, 1, 3600 * (int64_t)NS_PER_S, NOW, &before);
    decide_behind(&rig, 2, 3600 * (int64_t)NS_PER_S, NOW, &before);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 2), &told));
    ck_assert_str_eq(told.text, "It started before.");
    sampled(&rig, 1, 10, NOW + 15 * NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 1), &told));
    ck_assert_str_eq(told.word, "before_start");
    ck_assert_ptr_nonnull(strstr(told.text, "3614 s after the span"));
    ck_assert_ptr_nonnull(strstr(told.fix, "Set the clock of the host of the span's SDK"));
    ck_assert_uint_eq(counted(&rig, "shop", "before_start"), 2);
    ck_assert_ptr_nonnull(strstr(told_of_service(&rig, "before_start", &told)->fix, "span's SDK"));
    decide_behind(&rig, 3, 3600 * (int64_t)NS_PER_S, NOW, NULL);
    sampled(&rig, 3, 10, NOW + 15 * NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 2), &told));
    ck_assert_str_eq(told.word, "before_start");
    ck_assert_ptr_nonnull(strstr(told.text, "3614 s after these"));
    ck_assert_ptr_nonnull(strstr(told.fix, "Set the clock of the host of the span's SDK"));
    rig_release(&rig);
}
END_TEST

START_TEST(a_reload_is_named_where_it_is_why_a_span_looks_old)
{
    static const struct watch_reason before = {"before_start", WATCH_BEFORE_RELOAD ", so.", NULL};
    struct rig rig;
    struct told_reason told;
    rig_init(&rig);
    decide_behind(&rig, 1, 20 * (int64_t)NS_PER_S, NOW, &before);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 1), &told));
    ck_assert_str_eq(told.text, WATCH_BEFORE_RELOAD ", so.");
    sampled(&rig, 1, 10, NOW + NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 1), &told));
    ck_assert_str_eq(told.word, REASON_CAME_LATE);
    ck_assert_str_eq(told.text, WATCH_BEFORE_RELOAD ", so it was forwarded at once. Samples with "
                                                    "its id came after that.");
    ck_assert_str_eq(told_of_service(&rig, REASON_CAME_LATE, &told)->text, told.text);
    decide_behind(&rig, 2, 20 * (int64_t)NS_PER_S, NOW, &before);
    decide_behind(&rig, 3, 3600 * (int64_t)NS_PER_S, NOW, NULL);
    sampled(&rig, 3, 10, NOW + 15 * NS_PER_S);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 2), &told));
    ck_assert_str_eq(told.text, WATCH_BEFORE_RELOAD "; but the profiles of other spans of its "
                                                    "service are 3614 s after these.");
    rig_release(&rig);
}
END_TEST

/* Samples may name children of its service, too, or come under another name. */
START_TEST(of_a_child_that_no_sample_names_only_what_is_known_is_said)
{
    struct rig rig;
    struct told_reason told;
    rig_init(&rig);
    decide(&rig, 1, false, NOW);
    reason_child(&rig.known, VIEW("shop"), &told);
    ck_assert_str_eq(told.word, REASON_NO_LOCAL_ROOT);
    ck_assert_str_eq(told.text,
                     "It is no local root, and no profile of its service is known here.");
    sampled_in(&rig,
               (struct watch_window){.service = till(), .kind = "process_cpu", .arrived = NOW},
               (struct watch_sample){.id = 1, .samples = 1});
    for (int own = 0; own < 2; own++) {
        reason_child(&rig.known, VIEW("shop"), &told);
        ck_assert_str_eq(told.text,
                         "It is no local root, and no sample names it. Where samples name local "
                         "roots only, its work is in the flame graph of its local root.");
        ck_assert_ptr_null(told.fix);
        sampled(&rig, 1, 5, NOW);
    }
    rig_release(&rig);
}
END_TEST

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
        ck_assert(!known_is_linked(&rig.known, 1, VIEW("shop"), 0, 1));
        ck_assert(known_is_linked(&rig.known, 1, VIEW("till"), 0, 1));
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

/* Whatever comes first. */
START_TEST(samples_of_two_services_with_one_id_stay_apart)
{
    static const char *const orders[] = {"aAbB", "abAB", "ABab", "bAaB", "AabB", "AbBa", "bBAa"};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct rig rig;
        rig_init(&rig);
        for (const char *at = orders[i]; *at; at++) {
            struct watch_service service = *at == 'a' || *at == 'A' ? shop() : till();
            const struct watch_window window = {
                .service = service, .arrived = NOW, .times_cpu = true};
            if (*at == 'a' || *at == 'b')
                sampled_in(
                    &rig, window,
                    (struct watch_sample){.id = 1, .samples = 1, .cpu_ns = *at == 'a' ? 30 : 50});
            else
                decide_of(&rig, service, 1, true, NOW);
        }
        const struct known_seen one = {1,     1, 7, VIEW("shop"), VIEW("GET /"), {0}, false, false,
                                       false, 0, 0};
        const struct known_seen two = {1,     1, 7, VIEW("till"), VIEW("POST /"), {0}, false, false,
                                       false, 0, 0};
        known_seen(&rig.known, &one, NOW);
        known_seen(&rig.known, &two, NOW);
        ck_assert_uint_eq(known_find_of(&rig.known, 1, VIEW("shop"))->cpu_ns, 30);
        ck_assert_uint_eq(known_find_of(&rig.known, 1, VIEW("till"))->cpu_ns, 50);
        ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 30);
        ck_assert_uint_eq(route(&rig, "POST /")->cpu_ns, 50);
        rig_release(&rig);
    }
}
END_TEST

/* The names may differ; but a span of the other service may come yet. */
START_TEST(samples_under_another_name_are_the_spans_unless_it_has_one)
{
    for (int late = 0; late < 2; late++) {
        struct rig rig;
        rig_init(&rig);
        const struct watch_window window = {.service = till(), .arrived = NOW, .times_cpu = true};
        const struct watch_sample sample = {.id = 1, .samples = 2, .cpu_ns = 20};
        decide(&rig, 1, false, NOW);
        passed(&rig, 1, false, "GET /", NOW);
        sampled_in(&rig, window, sample);
        ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 20);
        ck_assert_uint_eq(metered(&rig), 0);
        if (late) {
            decide_of(&rig, till(), 1, true, NOW);
            known_seen(&rig.known,
                       &(struct known_seen){
                           1, 1, 1, VIEW("till"), VIEW("POST /"), {0}, false, false, false, 0, 0},
                       NOW);
        }
        known_settle(&rig.known, NOW + 40 * NS_PER_S);
        ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, late ? 0 : 20);
        ck_assert_uint_eq(unclaimed(&rig, "till")->cpu_ns, 0);
        ck_assert_uint_eq(metered(&rig), 20);
        ck_assert_uint_eq(
            late ? route(&rig, "POST /")->metered_ns : route(&rig, "GET /")->metered_ns, 20);
        rig_release(&rig);
    }
}
END_TEST

/* CPU and wall time of a span come in profiles of their own; before CPU time comes (c), wall time
 * confirms (w), later it does not (x, y). */
START_TEST(samples_are_those_of_cpu_time_whatever_comes_first)
{
    static const struct {
        const char *uploads;
        uint64_t walls;
    } orders[] = {{"wc", 1}, {"cx", 1}, {"cxx", 1}, {"cxyx", 2}, {"xwcy", 3}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct rig rig;
        struct told_reason told = {0};
        rig_init(&rig);
        decide(&rig, 1, true, NOW);
        passed(&rig, 1, true, "GET /", NOW);
        for (const char *at = orders[i].uploads; *at; at++) {
            const struct watch_window window = {.arrived = NOW,
                                                .times_cpu = *at == 'c',
                                                .beside = *at > 'w',
                                                .content = *at > 'w' ? (uint64_t)*at : 0};
            sampled_in(&rig, window,
                       *at == 'c' ? (struct watch_sample){.id = 1, .samples = 3, .cpu_ns = 30}
                                  : (struct watch_sample){.id = 1, .samples = 23, .wall_ns = 230});
        }
        const struct known_span *span = known_find(&rig.known, 1);
        ck_assert_uint_eq(known_samples(&rig.known, span), 3);
        ck_assert_uint_eq(span->cpu_ns, 30);
        ck_assert_uint_eq(span->wall_ns, 230 * orders[i].walls);
        ck_assert_uint_eq(route(&rig, "GET /")->samples, 3);
        ck_assert_uint_eq(route(&rig, "GET /")->wall_ns, 230 * orders[i].walls);
        ck_assert_uint_eq(rig.known.services[1]->samples, 3);
        ck_assert(!reason_of(&rig.known, span, &told));
        rig_release(&rig);
    }
}
END_TEST

START_TEST(wall_time_beside_cpu_time_explains_nothing)
{
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    sampled(&rig, 2, 5, NOW);
    decide(&rig, 1, false, NOW);
    sampled_in(&rig, (struct watch_window){.arrived = NOW + 40 * NS_PER_S, .beside = true},
               (struct watch_sample){.id = 1, .samples = 3, .wall_ns = 30});
    const struct known_span *span = known_find(&rig.known, 1);
    ck_assert(reason_of(&rig.known, span, &told));
    ck_assert_str_eq(told.word, "no_sample"); /* rather than came_late */
    ck_assert_ptr_nonnull(strstr(told.text, "Only samples of wall time name it"));
    ck_assert_uint_eq(span->wall_ns, 30);
    ck_assert_uint_eq(known_samples(&rig.known, span), 3);
    rig_release(&rig);
}
END_TEST

/* `confirm_by` decides what links a span, not what it costs. */
START_TEST(cpu_time_counts_whatever_confirms)
{
    struct rig rig;
    struct told_reason told = {0};
    rig_init(&rig);
    decide(&rig, 1, true, NOW);
    decide(&rig, 2, false, NOW);
    passed(&rig, 1, true, "GET /", NOW);
    passed(&rig, 2, false, "GET /", NOW);
    sampled_in(&rig, (struct watch_window){.kind = "wall", .arrived = NOW},
               (struct watch_sample){.id = 1, .samples = 23, .wall_ns = 230});
    for (uint64_t id = 1; id <= 2; id++) {
        const struct watch_window cpu = {.kind = "process_cpu",
                                         .arrived = NOW,
                                         .times_cpu = true,
                                         .beside = true,
                                         .content = id};
        sampled_in(&rig, cpu, (struct watch_sample){.id = id, .samples = 3, .cpu_ns = 30});
    }
    const struct known_span *span = known_find(&rig.known, 1);
    ck_assert(known_times_cpu(&rig.known, span));
    ck_assert_uint_eq(known_samples(&rig.known, span), 3);
    ck_assert_uint_eq(span->cpu_ns, 30);
    ck_assert_uint_eq(span->wall_ns, 230);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 60);
    ck_assert_uint_eq(route(&rig, "GET /")->samples, 6);
    ck_assert(rig.known.services[1]->times_cpu);
    ck_assert_uint_eq(rig.known.services[1]->cpu_ns, 60);
    ck_assert(reason_of(&rig.known, known_find(&rig.known, 2), &told));
    ck_assert_str_eq(told.word, "no_sample");
    ck_assert_ptr_nonnull(strstr(told.text, "Only samples of CPU time name it"));
    rig_release(&rig);
}
END_TEST

START_TEST(samples_of_neither_time_name_their_span_and_cost_nothing)
{
    static const struct {
        const char *kinds[2], *words;
    } cases[] = {{{"memory", "memory"}, "Only samples of memory name it, and `confirm_by`"},
                 {{"mutex", "block"}, "Only samples of locks name it"},
                 {{"memory", "mutex"}, "Only samples of other kinds name it"},
                 {{"other", "wall"}, "Only samples of wall time and other kinds name it"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig rig;
        struct told_reason told = {0};
        rig_init(&rig);
        sampled(&rig, 2, 5, NOW);
        decide(&rig, 1, false, NOW);
        passed(&rig, 1, false, "GET /", NOW);
        for (size_t k = 0; k < 2; k++) {
            bool wall = strcmp(cases[i].kinds[k], "wall") == 0;
            sampled_in(
                &rig,
                (struct watch_window){
                    .kind = cases[i].kinds[k], .arrived = NOW, .beside = true, .untimed = !wall},
                (struct watch_sample){.id = 1, .wall_ns = wall ? 7 : 0});
        }
        const struct known_span *span = known_find(&rig.known, 1);
        ck_assert(known_has_samples(span));
        ck_assert(known_times_cpu(&rig.known, span));
        ck_assert_uint_eq(known_samples(&rig.known, span), 0);
        ck_assert(reason_of(&rig.known, span, &told));
        ck_assert_str_eq(told.word, "no_sample");
        ck_assert_msg(strstr(told.text, cases[i].words) != NULL, "%s", told.text);
        ck_assert_ptr_nonnull(told.fix);
        ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 0);
        rig_release(&rig);
    }
}
END_TEST

START_TEST(a_child_that_memory_confirms_is_linked_and_costs_nothing)
{
    struct rig rig;
    rig_init(&rig);
    sampled(&rig, 2, 5, NOW);
    sampled_in(&rig, (struct watch_window){.kind = "memory", .arrived = NOW},
               (struct watch_sample){.id = 1});
    decide(&rig, 1, true, NOW);
    const struct known_seen seen = {.id = 1,
                                    .link = 1,
                                    .trace = 1,
                                    .service = VIEW("shop"),
                                    .name = VIEW("GET /"),
                                    .child = true};
    known_seen(&rig.known, &seen, NOW);
    const struct known_span *span = known_find(&rig.known, 1);
    ck_assert(known_has_samples(span) && known_has_counted(span));
    ck_assert(known_times_cpu(&rig.known, span));
    ck_assert_uint_eq(known_samples(&rig.known, span), 0);
    ck_assert_uint_eq(route(&rig, "GET /")->linked, 1);
    ck_assert_uint_eq(route(&rig, "GET /")->samples, 0);
    rig_release(&rig);
}
END_TEST

START_TEST(a_service_has_the_reason_of_its_spans_that_other_kinds_name)
{
    static const struct watch_reason in_vain = {"hold_ran_out", "It waited.", NULL};
    const struct watch_window window = {.kind = "memory", .arrived = NOW, .beside = true},
                              late = {.kind = "memory", .arrived = NOW + NS_PER_S, .beside = true};
    struct rig rig;
    struct told_reason told = {0}, whole;
    for (int wall = 0; wall < 2; wall++) {
        rig_init(&rig);
        struct watch_window first = window, second = late;
        first.untimed = second.untimed = !wall;
        const uint64_t wall_ns = wall ? 7 : 0;
        sampled(&rig, 9, 5, NOW);
        sampled_in(&rig, first, (struct watch_sample){.id = 1, .wall_ns = wall_ns});
        decide_for(&rig, 1, &in_vain, NOW);
        decide_for(&rig, 2, &in_vain, NOW);
        sampled_in(&rig, second, (struct watch_sample){.id = 2, .wall_ns = wall_ns});
        ck_assert_uint_eq(counted(&rig, "shop", "hold_ran_out"), 2);
        told_of_service(&rig, "hold_ran_out", &whole);
        for (uint64_t id = 1; id <= 2; id++) {
            ck_assert(reason_of(&rig.known, known_find(&rig.known, id), &told));
            ck_assert_str_eq(told.word, "hold_ran_out");
            ck_assert_str_eq(told.text, whole.text);
            ck_assert_ptr_eq(told.fix, whole.fix);
        }
        ck_assert_ptr_nonnull(strstr(whole.text, wall ? "Only samples of wall time name it: the"
                                                      : "Only samples of memory name it, and"));
        ck_assert(wall ? !whole.fix : strstr(whole.fix, "`confirm_by`") != NULL);
        rig_release(&rig);
    }
}
END_TEST

static void recalled(struct rig *rig, uint64_t id, uint64_t cpu_ns, uint64_t came)
{
    sampled_in(rig,
               (struct watch_window){.kind = "process_cpu",
                                     .start = came - NS_PER_S,
                                     .end = came,
                                     .arrived = came,
                                     .recalled = true},
               (struct watch_sample){.id = id, .samples = 1, .cpu_ns = cpu_ns});
}

static void replayed(struct rig *rig, uint64_t id, const char *name, uint64_t now)
{
    const struct known_seen seen = {.id = id,
                                    .link = id,
                                    .trace = id,
                                    .service = VIEW("shop"),
                                    .name = view_of(name),
                                    .again = true};
    known_seen(&rig->known, &seen, now);
}

/* As after a kill, with what the journal kept of the process before. */
START_TEST(samples_of_an_earlier_process_count_when_their_span_passes_here)
{
    struct rig rig;
    rig_init(&rig);
    for (uint64_t id = 1; id <= 4; id++)
        recalled(&rig, id, 100, NOW - 20 * NS_PER_S);
    sampled(&rig, 4, 7, NOW); /* it runs on */
    ck_assert_uint_eq(unclaimed(&rig, "shop")->cpu_ns, 7);
    ck_assert_uint_eq(rig.known.services[1]->cpu_ns, 7);
    ck_assert_uint_eq(known_find(&rig.known, 4)->cpu_ns, 107);
    decide(&rig, 2, true, NOW);
    passed(&rig, 2, true, "GET /", NOW);
    decide(&rig, 3, true, NOW);
    replayed(&rig, 3, "GET /", NOW);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 200);
    ck_assert_uint_eq(route(&rig, "GET /")->samples, 2);
    uint64_t step = (NOW - 20 * NS_PER_S - 1) / KNOWN_SERIES_STEP; /* of their window */
    ck_assert_uint_eq(known_route_step(route(&rig, "GET /"), step)->cpu_ns, 200);
    ck_assert_uint_eq(route(&rig, "GET /")->metered_ns, 100); /* 3 was counted before */
    decide(&rig, 4, true, NOW);
    passed(&rig, 4, true, "GET /", NOW);
    known_settle(&rig.known, NOW + 700 * NS_PER_S);
    ck_assert_uint_eq(unclaimed(&rig, "shop")->cpu_ns, 0);
    ck_assert_uint_eq(unclaimed(&rig, "shop")->metered_ns, 0);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 307);
    ck_assert_uint_eq(route(&rig, "GET /")->metered_ns, 207);
    ck_assert_uint_eq(rig.known.services[1]->cpu_ns, 307);
    ck_assert_uint_eq(rig.known.services[1]->samples, 4);
    rig_release(&rig);
}
END_TEST

/* As where a partition of a log comes back. */
START_TEST(samples_that_came_here_do_not_count_again_as_those_of_another_process)
{
    struct rig rig;
    rig_init(&rig);
    sampled(&rig, 1, 10, NOW);
    decide(&rig, 1, true, NOW);
    passed(&rig, 1, true, "GET /", NOW);
    sampled(&rig, 2, 5, NOW);
    recalled(&rig, 1, 10, NOW + 20 * NS_PER_S);
    recalled(&rig, 2, 5, NOW + 20 * NS_PER_S);
    ck_assert_uint_eq(known_find(&rig.known, 1)->cpu_ns, 10);
    ck_assert_uint_eq(known_find(&rig.known, 2)->cpu_ns, 5);
    ck_assert_uint_eq(route(&rig, "GET /")->cpu_ns, 10);
    ck_assert_uint_eq(unclaimed(&rig, "shop")->cpu_ns, 5);
    ck_assert_uint_eq(rig.known.services[1]->cpu_ns, 15);
    rig_release(&rig);
}
END_TEST

START_TEST(a_span_in_a_gap_between_profiles_is_not_told_that_its_profile_came)
{
    struct rig rig;
    struct told_reason told;
    rig_init(&rig);
    window_of(&rig, NOW, NOW + 5 * NS_PER_S);
    window_of(&rig, NOW + 10 * NS_PER_S, NOW + 15 * NS_PER_S);
    window_of(&rig, NOW + 15 * NS_PER_S + NS_PER_MS, NOW + 20 * NS_PER_S);
    decide(&rig, 1, false, NOW + 8 * NS_PER_S + NS_PER_S); /* ended a second before */
    decide(&rig, 2, false, NOW + 12 * NS_PER_S);
    decide(&rig, 3, false, NOW + 16 * NS_PER_S + NS_PER_MS / 2); /* between two in a row */
    ck_assert_str_eq(
        text_of(&rig, 1, &told),
        "No profile of its time has come: one ends 3.0 s before the span's end, and "
        "the next begins 2.0 s after it. An upload was lost, or the profiler sent none "
        "while the process was idle.");
    ck_assert_str_eq(told.fix, GAP_FIX);
    ck_assert_str_eq(text_of(&rig, 2, &told), no_sample.text);
    ck_assert_str_eq(text_of(&rig, 3, &told), no_sample.text);
    window_of(&rig, NOW + 5 * NS_PER_S, NOW + 10 * NS_PER_S); /* it was late */
    ck_assert_str_eq(text_of(&rig, 1, &told), no_sample.text);
    rig_release(&rig);
}
END_TEST

/* The last is shorter than the clock is ahead, so that it seems to begin after it came: those
 * before are known to have ended as they came. */
START_TEST(a_clock_that_is_ahead_makes_no_gap)
{
    struct rig rig;
    struct told_reason told;
    rig_init(&rig);
    window_of(&rig, NOW, NOW + 5 * NS_PER_S);
    window_ahead(&rig, NOW + 5 * NS_PER_S, NOW + 6500 * NS_PER_MS, 4 * NS_PER_S);
    decide(&rig, 1, false, NOW + 7 * NS_PER_S);
    ck_assert_str_eq(text_of(&rig, 1, &told), no_sample.text);
    ck_assert_ptr_null(told.fix);
    rig_release(&rig);
}
END_TEST

START_TEST(where_windows_are_not_known_no_gap_is_told)
{
    struct rig rig;
    struct told_reason told;
    rig_init(&rig);
    window_of(&rig, NOW, NOW + 5 * NS_PER_S);
    window_of(&rig, 0, NOW + 10 * NS_PER_S); /* states no start */
    window_of(&rig, NOW + 20 * NS_PER_S, NOW + 25 * NS_PER_S);
    decide(&rig, 1, false, NOW + 9 * NS_PER_S);
    text_of(&rig, 1, &told);
    ck_assert_ptr_null(told.fix);
    ck_assert_ptr_nonnull(strstr(told.text, "It is not known"));
    for (int i = 0; i < 2 * KNOWN_WINDOWS; i++)
        window_of(&rig, NOW + 30 * NS_PER_S, NOW + 31 * NS_PER_S);
    text_of(&rig, 1, &told);
    ck_assert_ptr_nonnull(strstr(told.text, "It is not known"));
    rig_release(&rig);
}
END_TEST

/* Every other window is missing. busy: of each ten spans, samples name nine; else, as where the
 * process is idle, there is one. */
static bool tells_losses(bool busy)
{
    struct rig rig;
    char text[256];
    rig_init(&rig);
    uint64_t id = 1, at = NOW;
    for (int window = 0; window < 40; window++, at += 10 * NS_PER_S) {
        bool came = window % 2 == 0;
        if (came)
            window_of(&rig, at, at + 10 * NS_PER_S);
        for (uint64_t i = 0; i < (busy ? 10 : 1); i++, id++)
            decide(&rig, id, came && (i < 9), at + (i + 1) * NS_PER_S + NS_PER_S / 2);
    }
    window_of(&rig, at, at + 10 * NS_PER_S);
    struct gaps gaps;
    known_fold(&rig.known);
    gaps_count(&rig.known, at, &gaps);
    const struct service_gaps *of = &gaps.of[known_service_find(&rig.known, VIEW("shop"))];
    ck_assert(gaps_are_most(of));
    ck_assert_uint_eq(of->count, 20);
    bool lost = gaps_are_losses(of, text, sizeof text);
    rig_release(&rig);
    return lost;
}

START_TEST(gaps_are_a_problem_unless_the_process_may_have_been_idle)
{
    ck_assert(tells_losses(true));
    ck_assert(!tells_losses(false));
}
END_TEST

START_TEST(a_clock_that_is_some_seconds_behind_is_named)
{
    static const struct watch_reason old = {"before_start", "old", NULL};
    struct rig rig;
    struct told_reason told;
    rig_init(&rig);
    struct watch_decision decision = {.span_id = 1,
                                      .service = shop(),
                                      .action = WATCH_NOT_LINKED,
                                      .reason = &old,
                                      .ended = NOW - 25 * NS_PER_S,
                                      .arrived = NOW,
                                      .decided = NOW};
    known_decided(&rig.known, &decision);
    known_fold(&rig.known);
    text_of(&rig, 1, &told);
    ck_assert_ptr_null(told.fix); /* it may have been sent late */
    known_window_came(&rig.known, &(struct watch_window){.service = shop(),
                                                         .kind = "process_cpu",
                                                         .start = NOW - 35 * NS_PER_S,
                                                         .end = NOW - 25 * NS_PER_S,
                                                         .arrived = NOW});
    ck_assert_str_eq(text_of(&rig, 1, &told),
                     "By its own time it started before spanlink did. Spans of its service come "
                     "25 s after their end, and profiles 25 s after theirs: its clock seems to be "
                     "behind.");
    ck_assert_str_eq(told.fix, "Set the clock of its host.");
    rig_release(&rig);
}
END_TEST

START_TEST(a_span_that_a_reload_let_go_says_so_when_its_samples_come)
{
    static const struct watch_reason stop = {"shutdown", "stopped", NULL};
    struct rig rig;
    struct told_reason told;
    rig_init(&rig);
    const struct watch_decision decision = {.span_id = 1,
                                            .service = shop(),
                                            .action = WATCH_NOT_LINKED,
                                            .reason = &stop,
                                            .ended = NOW - NS_PER_S,
                                            .decided = NOW};
    known_decided(&rig.known, &decision);
    sampled(&rig, 1, 10, NOW + NS_PER_S);
    text_of(&rig, 1, &told);
    ck_assert_str_eq(told.word, "shutdown");
    ck_assert_ptr_nonnull(strstr(told.text, "samples with its id came later"));
    rig_release(&rig);
}
END_TEST

SUITE_MAIN(
    "status known", samples_are_joined_with_their_span_in_any_order,
    samples_of_a_span_with_an_inherited_link_are_of_its_route,
    a_child_may_be_the_first_that_tells_of_its_service,
    a_profile_id_is_a_link_unless_it_was_decided_otherwise,
    refused_profiles_are_the_reason_until_one_is_accepted,
    names_differ_where_no_sample_came_under_the_name_of_the_span,
    a_name_that_is_missing_is_not_proposed_for_the_profiler,
    a_span_s_clock_that_is_ahead_is_a_problem_where_the_profiles_is_not,
    samples_after_the_decision_came_late,
    late_samples_with_the_id_in_reversed_byte_order_are_the_span_s,
    of_a_span_that_ended_in_the_future_the_times_are_those_from_its_arrival,
    samples_of_a_child_whose_root_has_none_came_late_too,
    spans_before_the_first_profile_need_nothing, what_came_before_a_reload_is_not_known,
    a_service_without_ids_has_no_span_that_was_not_caught_computing,
    samples_are_unclaimed_until_their_span_passes, the_metrics_count_what_no_span_claims_for_long,
    samples_that_name_no_span_are_a_row_of_their_service,
    samples_of_another_name_say_what_they_measure, why_a_child_with_samples_has_no_link,
    spans_are_told_that_confirm_by_leaves_out_what_names_others,
    a_span_of_two_tenants_is_found_by_trace_and_link,
    samples_that_came_from_another_tenant_are_told,
    samples_of_one_span_from_another_tenant_are_told,
    a_span_of_two_tenants_whose_profiles_come_to_one_is_no_mistake, a_tenant_has_samples_of_its_own,
    nothing_is_lost_from_the_sums_when_ids_are_forgotten,
    a_span_that_is_forgotten_and_looked_at_again_counts_once,
    a_child_that_is_looked_at_again_counts_once,
    late_samples_look_for_their_span_for_as_long_as_a_service_runs,
    samples_of_a_span_that_was_not_looked_at_say_so,
    the_costliest_routes_have_names_and_the_rest_is_one,
    a_route_that_costs_nothing_takes_no_place_of_another,
    a_new_service_takes_the_place_of_the_one_with_the_least,
    the_metrics_have_the_busiest_and_lose_nothing, a_steady_load_is_steady_in_the_steps,
    a_window_counts_in_its_own_steps_or_in_none, wall_time_is_not_cpu_time,
    a_span_that_is_decided_twice_counts_once, a_copy_that_is_linked_later_is_linked_for_its_route,
    an_upload_that_two_instances_tell_of_counts_once, history_goes_by_steps,
    links_that_open_nothing_count_whichever_came_first,
    a_clock_that_is_behind_is_not_the_start_of_this_process,
    a_reload_is_named_where_it_is_why_a_span_looks_old,
    of_a_child_that_no_sample_names_only_what_is_known_is_said,
    uploads_that_come_later_than_the_hold_are_the_reason,
    a_clock_that_is_behind_makes_no_late_uploads,
    a_service_whose_profiler_has_stopped_says_so_as_its_spans_do,
    samples_that_name_no_span_that_came_are_a_problem_of_all_spans_since_the_last_link,
    long_spans_are_not_out_of_reach_of_their_profiles,
    links_that_all_open_nothing_are_a_problem_with_the_clock_that_is_wrong,
    spans_of_two_services_with_one_id_stay_apart, samples_of_two_services_with_one_id_stay_apart,
    samples_under_another_name_are_the_spans_unless_it_has_one,
    samples_are_those_of_cpu_time_whatever_comes_first, wall_time_beside_cpu_time_explains_nothing,
    where_the_spans_own_time_is_not_known_its_link_is_not_said_to_open_nothing,
    cpu_time_counts_whatever_confirms, a_span_counts_in_the_step_of_its_end_like_its_samples,
    samples_of_neither_time_name_their_span_and_cost_nothing,
    a_child_that_memory_confirms_is_linked_and_costs_nothing,
    numbers_of_a_forgotten_span_are_handed_on, a_route_has_the_samples_of_the_spans_that_it_counts,
    a_route_with_wall_time_only_has_no_cpu_time, each_window_says_whether_it_holds_samples,
    a_service_has_the_reason_of_its_spans_that_other_kinds_name,
    samples_of_an_earlier_process_count_when_their_span_passes_here,
    samples_that_came_here_do_not_count_again_as_those_of_another_process,
    a_span_in_a_gap_between_profiles_is_not_told_that_its_profile_came,
    where_windows_are_not_known_no_gap_is_told, a_clock_that_is_ahead_makes_no_gap,
    spans_before_the_first_profile_are_told_so_whatever_it_names,
    profiles_that_came_long_before_are_not_denied, profiles_in_other_partitions_are_named,
    a_span_that_ended_after_the_first_profile_came_is_not_before_it,
    gaps_are_a_problem_unless_the_process_may_have_been_idle,
    a_clock_that_is_some_seconds_behind_is_named,
    a_span_that_a_reload_let_go_says_so_when_its_samples_come)
