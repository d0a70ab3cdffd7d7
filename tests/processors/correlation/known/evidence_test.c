/* What is known of a service and its processes, as input to the rules. */
#include "processors/correlation/known/evidence.h"

#include "lib/base/clock.h"
#include "lib/settings/key.h"
#include "tests/support/suite.h"

#define S     NS_PER_S
#define MS    NS_PER_MS
#define HOUR  (3600 * S)
#define BEGIN (10000 * S) /* when the service is first seen; other times are relative to it */

struct bench {
    struct services services;
    struct service *shop;
    struct evidence_rules rules;
    uint64_t content;
};

static void open_bench(struct bench *bench)
{
    *bench = (struct bench){
        .rules = {.confirm = {.automatic = true}, .hold = DURATION_AUTO, .remember = HOUR}};
    services_init(&bench->services, 10, HOUR, NULL);
    bench->shop = services_see(&bench->services, VIEW(""), VIEW("shop"), BEGIN);
}

static void close_bench(struct bench *bench)
{
    services_release(&bench->services);
}

/* A window of 10 s that ends at `end` and is this late. Returns its sequence's serial. */
static uint32_t put(struct bench *bench, enum kind kind, uint64_t end, uint64_t late)
{
    struct timeline *timeline = service_timeline(bench->shop, kind, NULL);
    const struct timeline_window window = {BEGIN + end - 10 * S, BEGIN + end, 10 * S, 1,
                                           ++bench->content,     false};
    bool again;
    uint64_t now = BEGIN + end + late;
    struct sequence *sequence = timeline_place(timeline, &window, now, HOUR, &again);
    timeline_take(timeline, sequence, &window, now, HOUR);
    return sequence->serial;
}

static uint32_t put_row(struct bench *bench, enum kind kind, uint64_t from, uint64_t until)
{
    uint32_t serial = 0;
    for (uint64_t at = from; at < until; at += 10 * S)
        serial = put(bench, kind, at + 10 * S, 0);
    return serial;
}

static struct process *see(struct bench *bench, uint64_t resource, uint64_t at)
{
    return process_see(bench->shop, resource, VIEW(""), BEGIN + at, NULL);
}

static void match(struct bench *bench, struct process *process, uint32_t serial, unsigned times,
                  uint64_t at)
{
    while (times-- > 0)
        process_note_match(process, bench->shop->timelines[KIND_PROCESS_CPU], serial, BEGIN + at);
}

static struct judge_known known_at(struct bench *bench, const struct process *process, uint64_t at)
{
    return evidence_known(bench->shop, process, &bench->rules, BEGIN + at);
}

START_TEST(of_a_service_without_profiles_nothing_is_known)
{
    struct bench bench;
    open_bench(&bench);
    struct judge_known known = known_at(&bench, NULL, 100 * S);
    ck_assert(!known.profiled && !known.others && !known.unread && !known.no_ids);
    ck_assert_uint_eq(known.first_seen, BEGIN);
    ck_assert_uint_eq(known.first_hold, 45 * S);
    ck_assert_uint_eq(known.passed, 0);
    bench.shop->from_node = true;
    ck_assert_uint_eq(known_at(&bench, NULL, 100 * S).first_hold, 75 * S);
    bench.rules.hold = 7 * S;
    ck_assert_uint_eq(known_at(&bench, NULL, 100 * S).first_hold, 7 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(in_its_first_minute_slower_profilers_are_reckoned_with)
{
    struct bench bench;
    open_bench(&bench);
    struct process *process = see(&bench, 1, 0);
    put_row(&bench, KIND_PROCESS_CPU, 0, 70 * S);
    struct judge_known known = known_at(&bench, process, 62 * S - 1);
    ck_assert(known.profiled);
    ck_assert_uint_eq(known.window, 60 * S);
    ck_assert_uint_eq(known.passed, 0);
    ck_assert_uint_eq(known.ask_at, BEGIN + 62 * S);
    known = known_at(&bench, process, 62 * S);
    ck_assert_uint_eq(known.window, 10 * S);
    ck_assert_uint_gt(known.passed, 0);
    close_bench(&bench);
}
END_TEST

/* The windows of one process, if it is the only one, are still judged as they pass. */
START_TEST(in_its_first_minute_no_profiler_is_slower_than_the_hold_that_the_user_set)
{
    static const struct {
        uint64_t hold, window;
    } all[] = {{5 * S, 10 * S}, {50 * S, 50 * S}, {90 * S, 60 * S}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct bench bench;
        open_bench(&bench);
        bench.rules.hold = all[i].hold;
        put_row(&bench, KIND_PROCESS_CPU, 0, 70 * S);
        struct judge_known known = known_at(&bench, NULL, 62 * S - 1);
        ck_assert_uint_eq(known.window, all[i].window);
        ck_assert_uint_gt(known.passed, 0);
        ck_assert_uint_eq(known_at(&bench, NULL, 62 * S).window, 10 * S);
        close_bench(&bench);
    }
}
END_TEST

START_TEST(the_one_process_of_a_service_is_judged_as_its_windows_pass)
{
    struct bench bench;
    open_bench(&bench);
    struct process *process = see(&bench, 1, 0);
    put_row(&bench, KIND_PROCESS_CPU, 0, 100 * S);
    struct judge_known known = known_at(&bench, process, 101 * S);
    ck_assert_uint_eq(known.passed, BEGIN + 100 * S);
    ck_assert_uint_eq(known.watermark, BEGIN + 100 * S);
    ck_assert_uint_eq(known.margin, 2500 * MS);
    ck_assert_uint_eq(known.ask_at, UINT64_MAX);
    /* Spans of a second resource: it may upload under the same labels. */
    see(&bench, 2, 101 * S);
    known = known_at(&bench, process, 101 * S);
    ck_assert_uint_eq(known.passed, 0);
    ck_assert_uint_eq(known.window, 10 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(a_process_known_by_its_samples_is_judged_by_its_own_windows)
{
    struct bench bench;
    open_bench(&bench);
    struct process *a = see(&bench, 1, 0), *b = see(&bench, 2, 0);
    put_row(&bench, KIND_PROCESS_CPU, 0, 100 * S);
    uint32_t second = put(&bench, KIND_PROCESS_CPU, 83 * S, 0);
    put(&bench, KIND_PROCESS_CPU, 93 * S, 0);
    uint32_t first = put_row(&bench, KIND_PROCESS_CPU, 100 * S, 150 * S);
    put_row(&bench, KIND_PROCESS_CPU, 93 * S, 143 * S);
    ck_assert_uint_ne(first, second);
    match(&bench, a, first, 8, 150 * S);
    ck_assert_uint_eq(known_at(&bench, a, 151 * S).passed, 0); /* both sequences may be its own */
    match(&bench, b, second, 8, 150 * S);
    ck_assert_uint_eq(known_at(&bench, a, 151 * S).passed, BEGIN + 150 * S);
    ck_assert_uint_eq(known_at(&bench, b, 151 * S).passed, BEGIN + 143 * S);
    ck_assert_uint_eq(known_at(&bench, b, 151 * S).watermark, BEGIN + 143 * S);
    ck_assert_uint_eq(known_at(&bench, NULL, 151 * S).passed, 0);
    ck_assert_uint_eq(known_at(&bench, NULL, 151 * S).watermark, BEGIN + 150 * S);
    match(&bench, b, first, 1, 151 * S);
    ck_assert_uint_eq(known_at(&bench, a, 152 * S).passed, 0); /* its windows may be the other's */
    ck_assert_uint_eq(known_at(&bench, b, 152 * S).passed, 0);
    close_bench(&bench);
}
END_TEST

START_TEST(a_process_that_its_resource_names_is_known_from_its_first_window_on)
{
    struct bench bench;
    open_bench(&bench);
    struct process *process = see(&bench, 1, 0);
    uint32_t serial = put(&bench, KIND_PROCESS_CPU, 10 * S, 0);
    match(&bench, process, serial, 2, 10 * S);
    ck_assert_uint_eq(known_at(&bench, process, 11 * S).window, 60 * S);
    process->identified = true;
    struct judge_known known = known_at(&bench, process, 11 * S);
    ck_assert_uint_eq(known.passed, BEGIN + 10 * S);
    ck_assert_uint_eq(known.window, 60 * S); /* that window may have been a part of a longer one */
    put(&bench, KIND_PROCESS_CPU, 20 * S, 0);
    ck_assert_uint_eq(known_at(&bench, process, 21 * S).window, 10 * S);
    /* A process that joins a service known for long has a first minute, too. */
    put_row(&bench, KIND_PROCESS_CPU, 20 * S, 130 * S);
    struct process *late = see(&bench, 2, 120 * S);
    ck_assert_uint_eq(known_at(&bench, late, 131 * S).window, 10 * S);
    late->identified = true;
    ck_assert_uint_eq(known_at(&bench, late, 131 * S).window, 60 * S);
    ck_assert_uint_eq(known_at(&bench, late, 182 * S).window, 10 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(where_several_kinds_confirm_all_their_windows_are_waited_for)
{
    struct bench bench;
    open_bench(&bench);
    bench.rules.confirm =
        (struct confirm_by){.kinds = KIND_BIT(KIND_PROCESS_CPU) | KIND_BIT(KIND_WALL)};
    put_row(&bench, KIND_PROCESS_CPU, 0, 100 * S);
    ck_assert_uint_eq(known_at(&bench, NULL, 101 * S).watermark, BEGIN + 100 * S);
    ck_assert_uint_gt(known_at(&bench, NULL, 101 * S).passed, 0);
    put(&bench, KIND_WALL, 80 * S, 9 * S);
    struct judge_known known = known_at(&bench, NULL, 101 * S);
    ck_assert_uint_eq(known.watermark, BEGIN + 80 * S);
    ck_assert_uint_eq(known.passed, 0);
    ck_assert_uint_eq(known.window, 15 * S);     /* one window of wall was seen */
    ck_assert_uint_eq(known.margin, 10125 * MS); /* that of wall was 9 s late */
    close_bench(&bench);
}
END_TEST

START_TEST(a_kind_not_heard_for_remember_counts_only_where_there_is_no_other)
{
    struct bench bench;
    open_bench(&bench);
    put_row(&bench, KIND_WALL, 0, 100 * S);
    struct judge_known known = known_at(&bench, NULL, 100 * S + 2 * HOUR);
    ck_assert(known.profiled);
    ck_assert_uint_eq(known.watermark, BEGIN + 100 * S);
    bench.rules.confirm =
        (struct confirm_by){.kinds = KIND_BIT(KIND_PROCESS_CPU) | KIND_BIT(KIND_WALL)};
    put(&bench, KIND_PROCESS_CPU, 2 * HOUR, 0);
    known = known_at(&bench, NULL, 100 * S + 2 * HOUR);
    ck_assert_uint_eq(known.watermark, BEGIN + 2 * HOUR);
    close_bench(&bench);
}
END_TEST

START_TEST(windows_of_pyroscope_go_count_for_half_a_minute)
{
    struct bench bench;
    open_bench(&bench);
    bench.shop->from_go = true;
    put_row(&bench, KIND_PROCESS_CPU, 0, 100 * S);
    ck_assert_uint_eq(known_at(&bench, NULL, 101 * S).window, 30 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(what_cannot_be_read_is_remembered_for_a_while)
{
    struct bench bench;
    open_bench(&bench);
    service_note_unread(bench.shop, "why", BEGIN + S);
    ck_assert(known_at(&bench, NULL, HOUR + S).unread);
    ck_assert(!known_at(&bench, NULL, HOUR + 2 * S).unread);
    close_bench(&bench);
}
END_TEST

/* A CPU profile with samples, with or without ids. */
static void note(struct bench *bench, bool named)
{
    evidence_note_profile(bench->shop, KIND_PROCESS_CPU, true, true, named);
}

START_TEST(profiles_that_name_no_span_show_so_after_the_first_hold_and_two_of_them)
{
    struct bench bench;
    open_bench(&bench);
    put_row(&bench, KIND_PROCESS_CPU, 0, 100 * S);
    note(&bench, false);
    note(&bench, false); /* before there was a span: they prove nothing */
    bench.shop->first_candidate = BEGIN + 20 * S;
    ck_assert(!known_at(&bench, NULL, 100 * S).no_ids);
    note(&bench, false);
    ck_assert(!known_at(&bench, NULL, 100 * S).no_ids);
    evidence_note_profile(bench.shop, KIND_PROCESS_CPU, true, false, false); /* idle */
    ck_assert(!known_at(&bench, NULL, 100 * S).no_ids);
    note(&bench, false);
    ck_assert(!known_at(&bench, NULL, 65 * S - 1).no_ids);
    ck_assert(known_at(&bench, NULL, 65 * S).no_ids);
    note(&bench, true);
    ck_assert(!known_at(&bench, NULL, 65 * S).no_ids);
    note(&bench, false);
    note(&bench, false);
    ck_assert(!known_at(&bench, NULL, 65 * S).no_ids);
    close_bench(&bench);
}
END_TEST

START_TEST(profiles_of_other_kinds_alone_name_no_span)
{
    struct bench bench;
    open_bench(&bench);
    bench.shop->first_candidate = BEGIN;
    ck_assert(!known_at(&bench, NULL, 45 * S).no_ids);
    for (int i = 0; i < 300; i++)
        evidence_note_profile(bench.shop, KIND_MEMORY, false, true, false);
    ck_assert_uint_eq(bench.shop->others[KIND_MEMORY], UINT8_MAX);
    struct judge_known known = known_at(&bench, NULL, 45 * S);
    ck_assert(known.others && known.no_ids && !known.profiled);
    ck_assert(!known_at(&bench, NULL, 45 * S - 1).no_ids);
    put(&bench, KIND_PROCESS_CPU, 45 * S, 0);
    ck_assert(!known_at(&bench, NULL, 45 * S).no_ids);
    close_bench(&bench);
}
END_TEST

START_TEST(one_profile_of_each_of_several_kinds_says_nothing)
{
    struct bench bench;
    open_bench(&bench);
    bench.shop->first_candidate = BEGIN;
    evidence_note_profile(bench.shop, KIND_MEMORY, false, true, false);
    evidence_note_profile(bench.shop, KIND_GOROUTINE, false, true, false);
    ck_assert(!known_at(&bench, NULL, 100 * S).no_ids);
    close_bench(&bench);
}
END_TEST

START_TEST(a_clock_that_is_behind_is_learnt_and_slowly_forgotten)
{
    struct bench bench;
    open_bench(&bench);
    put_row(&bench, KIND_PROCESS_CPU, 0, 100 * S);
    ck_assert_uint_eq(known_at(&bench, NULL, 101 * S).skew, 20 * MS);
    evidence_note_skew(bench.shop, 100 * S, 99 * S); /* it ended after its window began */
    ck_assert_uint_eq(known_at(&bench, NULL, 101 * S).skew, 20 * MS);
    evidence_note_skew(bench.shop, 96 * S, 100 * S);
    evidence_note_skew(bench.shop, 98 * S, 100 * S);
    ck_assert_uint_eq(bench.shop->skew, 4 * S);
    ck_assert_uint_eq(known_at(&bench, NULL, 101 * S).skew, 5250 * MS);
    for (int i = 0; i < 64; i++)
        note(&bench, true);
    ck_assert_uint_lt(bench.shop->skew, 3 * S / 2);
    ck_assert_uint_gt(bench.shop->skew, S);
    evidence_note_skew(bench.shop, 1, 100 * S);
    ck_assert_uint_eq(bench.shop->skew, 30 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(a_window_cut_at_its_arrival_tells_of_a_clock_a_little_ahead)
{
    struct bench bench;
    open_bench(&bench);
    evidence_note_capped(bench.shop);
    ck_assert_uint_eq(bench.shop->skew, 500 * MS);
    close_bench(&bench);
}
END_TEST

START_TEST(each_profile_changes_what_spans_are_judged_by)
{
    struct bench bench;
    open_bench(&bench);
    unsigned before = bench.shop->version;
    note(&bench, false);
    ck_assert_uint_ne(bench.shop->version, before);
    before = bench.shop->version;
    evidence_note_profile(bench.shop, KIND_MEMORY, false, true, false);
    ck_assert_uint_ne(bench.shop->version, before);
    close_bench(&bench);
}
END_TEST

SUITE_MAIN("evidence", of_a_service_without_profiles_nothing_is_known,
           in_its_first_minute_slower_profilers_are_reckoned_with,
           in_its_first_minute_no_profiler_is_slower_than_the_hold_that_the_user_set,
           the_one_process_of_a_service_is_judged_as_its_windows_pass,
           a_process_known_by_its_samples_is_judged_by_its_own_windows,
           a_process_that_its_resource_names_is_known_from_its_first_window_on,
           where_several_kinds_confirm_all_their_windows_are_waited_for,
           a_kind_not_heard_for_remember_counts_only_where_there_is_no_other,
           windows_of_pyroscope_go_count_for_half_a_minute,
           what_cannot_be_read_is_remembered_for_a_while,
           profiles_that_name_no_span_show_so_after_the_first_hold_and_two_of_them,
           profiles_of_other_kinds_alone_name_no_span,
           one_profile_of_each_of_several_kinds_says_nothing,
           a_clock_that_is_behind_is_learnt_and_slowly_forgotten,
           a_window_cut_at_its_arrival_tells_of_a_clock_a_little_ahead,
           each_profile_changes_what_spans_are_judged_by)
