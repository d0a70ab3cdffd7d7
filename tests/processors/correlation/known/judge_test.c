#include "processors/correlation/known/judge.h"

#include "lib/base/clock.h"
#include "lib/settings/key.h"
#include "tests/support/suite.h"

#define S NS_PER_S

/* A service profiled every 10 s whose last window ended at 100 s; everything began long ago. */
static struct judge_known profiled(void)
{
    return (struct judge_known){
        .profiled = true,
        .hold = DURATION_AUTO,
        .first_hold = 45 * S,
        .window = 10 * S,
        .margin = judge_margin(10 * S, 0),
        .watermark = 100 * S,
        .ask_at = UINT64_MAX,
    };
}

static struct judge_known unknown(void)
{
    return (struct judge_known){
        .first_seen = 10 * S, .first_hold = 45 * S, .hold = DURATION_AUTO, .ask_at = UINT64_MAX};
}

static bool is_given_up(const struct judge_known *known, uint64_t ended, uint64_t now)
{
    return ended < judge_limits(known, now).sampled;
}

START_TEST(local_time_is_never_past_now_nor_zero)
{
    struct judge_now now = {.wall = 1000 * S, .mono = 50 * S};
    ck_assert_uint_eq(judge_local(now, 990 * S), 40 * S);
    ck_assert_uint_eq(judge_local(now, 2000 * S), 50 * S);
    ck_assert_uint_eq(judge_local(now, 10 * S), 1);
}
END_TEST

START_TEST(a_window_is_fifteen_seconds_until_two_were_seen)
{
    ck_assert_uint_eq(judge_window(0, 0, false, 0), 15 * S);
    ck_assert_uint_eq(judge_window(10 * S, 1, false, 0), 15 * S);
    ck_assert_uint_eq(judge_window(60 * S, 1, false, 0), 60 * S);
    ck_assert_uint_eq(judge_window(10 * S, 2, false, 0), 10 * S);
}
END_TEST

START_TEST(a_window_of_pyroscope_go_is_thirty_seconds_at_least)
{
    ck_assert_uint_eq(judge_window(15 * S, 2, true, 0), 30 * S);
    ck_assert_uint_eq(judge_window(31 * S, 7, true, 0), 31 * S);
    ck_assert_uint_eq(judge_window(0, 0, true, 0), 30 * S);
}
END_TEST

START_TEST(in_the_first_minute_a_slower_profiler_may_be_silent_still)
{
    ck_assert_uint_eq(judge_window(10 * S, 5, false, 60 * S), 60 * S);
    ck_assert_uint_eq(judge_window(90 * S, 5, false, 60 * S), 90 * S);
}
END_TEST

START_TEST(a_window_may_come_a_quarter_late_or_as_late_as_others_did)
{
    ck_assert_uint_eq(judge_margin(20 * S, 0), 5 * S);
    ck_assert_uint_eq(judge_margin(4 * S, 0), 2 * S);
    ck_assert_uint_eq(judge_margin(10 * S, 3 * S), 3500 * NS_PER_MS);
    ck_assert_uint_eq(judge_margin(10 * S, 5 * S), 5625 * NS_PER_MS);
}
END_TEST

START_TEST(the_first_hold_is_what_the_user_set_else_follows_the_language)
{
    ck_assert_uint_eq(judge_first_hold(5 * S, true), 5 * S);
    ck_assert_uint_eq(judge_first_hold(0, false), 0);
    ck_assert_uint_eq(judge_first_hold(DURATION_AUTO, false), 45 * S);
    ck_assert_uint_eq(judge_first_hold(DURATION_AUTO, true), 75 * S);
}
END_TEST

START_TEST(rule_2_needs_the_watermark_past_the_end)
{
    struct judge_known known = profiled();
    ck_assert(is_given_up(&known, 99 * S, 113 * S));
    ck_assert(!is_given_up(&known, 100 * S, 114 * S));
}
END_TEST

START_TEST(rule_2_waits_for_a_window_and_the_margin)
{
    struct judge_known known = profiled();
    uint64_t decided = 99 * S + 12 * S + S / 2;
    ck_assert(!is_given_up(&known, 99 * S, decided));
    ck_assert(is_given_up(&known, 99 * S, decided + 1));
    ck_assert_uint_eq(judge_due(&known, 99 * S, 99 * S, 100 * S), decided + 1);
}
END_TEST

START_TEST(a_clock_that_is_behind_is_waited_for)
{
    struct judge_known known = profiled();
    known.skew = 5 * S;
    ck_assert(!is_given_up(&known, 99 * S, 99 * S + 17 * S));
    ck_assert(is_given_up(&known, 99 * S, 99 * S + 17 * S + S / 2 + 1));
    known.passed = 100 * S;
    ck_assert(!is_given_up(&known, 95 * S, 100 * S));
    ck_assert(is_given_up(&known, 95 * S - 1, 100 * S));
}
END_TEST

START_TEST(what_the_only_process_has_passed_is_decided_at_once)
{
    struct judge_known known = profiled();
    known.passed = 100 * S;
    ck_assert(is_given_up(&known, 100 * S - 1, 100 * S));
    ck_assert(!is_given_up(&known, 100 * S, 100 * S));
}
END_TEST

START_TEST(rule_3_is_for_processes_that_send_nothing)
{
    struct judge_known known = profiled();
    ck_assert_uint_eq(judge_limits(&known, 222 * S).ended, 202 * S);
    ck_assert_uint_eq(judge_due(&known, 202 * S, 205 * S, 206 * S), 222 * S + 1);
    ck_assert_uint_eq(judge_longest(&known), 20 * S);
    known.window = 60 * S;
    ck_assert_uint_eq(judge_limits(&known, 222 * S).ended, 132 * S);
}
END_TEST

START_TEST(a_hold_that_was_set_counts_from_the_arrival)
{
    struct judge_known known = profiled();
    known.hold = known.first_hold = 5 * S;
    struct judge_limits limits = judge_limits(&known, 208 * S);
    ck_assert_uint_eq(limits.ended, 0);
    ck_assert_uint_eq(limits.arrived, 203 * S + 1);
    ck_assert_uint_eq(judge_due(&known, 200 * S, 203 * S, 204 * S), 208 * S);
    ck_assert_uint_eq(judge_longest(&known), 5 * S);
}
END_TEST

START_TEST(a_new_service_has_the_benefit_of_the_doubt_until_its_hold_is_over)
{
    struct judge_known known = unknown();
    enum judge_reason reason;
    ck_assert_int_eq(judge_all(&known, 54 * S, &reason), JUDGE_EACH);
    ck_assert_uint_eq(judge_due(&known, 30 * S, 30 * S, 54 * S), 55 * S);
    ck_assert_int_eq(judge_all(&known, 55 * S, &reason), JUDGE_LEAVE);
    ck_assert_int_eq(reason, REASON_NOT_PROFILED);
}
END_TEST

START_TEST(profiles_of_other_kinds_alone_end_no_doubt)
{
    struct judge_known known = unknown();
    enum judge_reason reason;
    known.others = true;
    ck_assert_int_eq(judge_all(&known, 60 * S, &reason), JUDGE_EACH);
    ck_assert_uint_eq(judge_limits(&known, 90 * S).arrived, 45 * S + 1);
    ck_assert_uint_eq(judge_limits(&known, 90 * S).sampled, 0);
}
END_TEST

START_TEST(where_no_sample_names_a_span_none_has_any)
{
    struct judge_known known = profiled();
    enum judge_reason reason;
    known.no_ids = true;
    ck_assert_int_eq(judge_all(&known, 101 * S, &reason), JUDGE_UNLINK);
    ck_assert_int_eq(reason, REASON_NO_IDS);
    known.unread = true;
    ck_assert_int_eq(judge_all(&known, 101 * S, &reason), JUDGE_LEAVE);
    ck_assert_int_eq(reason, REASON_FORMAT);
}
END_TEST

START_TEST(profiles_in_an_unread_format_end_all_judging)
{
    struct judge_known known = unknown();
    enum judge_reason reason;
    known.unread = true;
    ck_assert_int_eq(judge_all(&known, 11 * S, &reason), JUDGE_LEAVE);
    ck_assert_int_eq(reason, REASON_FORMAT);
    known.profiled = true;
    ck_assert_int_eq(judge_all(&known, 11 * S, &reason), JUDGE_EACH);
}
END_TEST

START_TEST(what_is_known_may_change_though_nothing_comes)
{
    struct judge_known known = profiled();
    known.ask_at = 105 * S;
    ck_assert_uint_eq(judge_due(&known, 99 * S, 99 * S, 100 * S), 105 * S);
    ck_assert_uint_eq(judge_due(&known, 99 * S, 99 * S, 106 * S), 106 * S);
}
END_TEST

START_TEST(made_up_times_do_not_overflow)
{
    struct judge_known known = profiled();
    known.watermark = UINT64_MAX;
    known.window = UINT64_MAX - 5;
    known.margin = judge_margin(known.window, UINT64_MAX);
    ck_assert(!is_given_up(&known, UINT64_MAX - 1, 110 * S));
    ck_assert_uint_eq(judge_due(&known, 7, 7, 110 * S), UINT64_MAX);
    ck_assert_uint_eq(judge_longest(&known), UINT64_MAX);
}
END_TEST

SUITE_MAIN("judge", local_time_is_never_past_now_nor_zero,
           a_window_is_fifteen_seconds_until_two_were_seen,
           a_window_of_pyroscope_go_is_thirty_seconds_at_least,
           in_the_first_minute_a_slower_profiler_may_be_silent_still,
           a_window_may_come_a_quarter_late_or_as_late_as_others_did,
           the_first_hold_is_what_the_user_set_else_follows_the_language,
           rule_2_needs_the_watermark_past_the_end, rule_2_waits_for_a_window_and_the_margin,
           a_clock_that_is_behind_is_waited_for,
           what_the_only_process_has_passed_is_decided_at_once,
           rule_3_is_for_processes_that_send_nothing, a_hold_that_was_set_counts_from_the_arrival,
           a_new_service_has_the_benefit_of_the_doubt_until_its_hold_is_over,
           profiles_of_other_kinds_alone_end_no_doubt, where_no_sample_names_a_span_none_has_any,
           profiles_in_an_unread_format_end_all_judging,
           what_is_known_may_change_though_nothing_comes, made_up_times_do_not_overflow)
