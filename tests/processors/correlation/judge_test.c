#include "processors/correlation/judge.h"

#include "base/clock.h"
#include "settings/key.h"
#include "tests/support/suite.h"

#define S NS_PER_S

/* A service profiled every 10 s whose last window ended at 100 s; everything began long ago. */
static struct judge_service profiled(void)
{
    return (struct judge_service){
        .profiled = true, .first_seen = 0, .watermark = 100 * S, .window = 10 * S, .hold = 20 * S};
}

static struct judgement at(const struct judge_service *service, uint64_t end, uint64_t arrived,
                           uint64_t now)
{
    struct judge_span span = {.end = end, .arrived = arrived};
    return judge(service, &span, (struct judge_now){now, now});
}

START_TEST(a_window_is_fifteen_seconds_until_two_were_seen)
{
    ck_assert_uint_eq(judge_window(0, 0, false), 15 * S);
    ck_assert_uint_eq(judge_window(10 * S, 1, false), 15 * S);
    ck_assert_uint_eq(judge_window(60 * S, 1, false), 60 * S);
    ck_assert_uint_eq(judge_window(10 * S, 2, false), 10 * S);
}
END_TEST

START_TEST(a_window_of_pyroscope_go_is_thirty_seconds_at_least)
{
    ck_assert_uint_eq(judge_window(15 * S, 2, true), 30 * S);
    ck_assert_uint_eq(judge_window(31 * S, 7, true), 31 * S);
    ck_assert_uint_eq(judge_window(0, 0, true), 30 * S);
}
END_TEST

START_TEST(hold_is_what_the_user_set_else_follows_the_window)
{
    ck_assert_uint_eq(judge_hold(5 * S, 60 * S, 9, false), 5 * S);
    ck_assert_uint_eq(judge_hold(0, 60 * S, 9, false), 0);
    ck_assert_uint_eq(judge_hold(DURATION_AUTO, 15 * S, 0, false), 45 * S);
    ck_assert_uint_eq(judge_hold(DURATION_AUTO, 15 * S, 1, false), 45 * S);
    ck_assert_uint_eq(judge_hold(DURATION_AUTO, 60 * S, 1, false), 90 * S);
    ck_assert_uint_eq(judge_hold(DURATION_AUTO, 10 * S, 2, false), 20 * S);
    ck_assert_uint_eq(judge_hold(DURATION_AUTO, 30 * S, 2, false), 45 * S);
    ck_assert_uint_eq(judge_hold(DURATION_AUTO, UINT64_MAX, 2, false), UINT64_MAX);
}
END_TEST

START_TEST(the_first_window_of_node_may_take_a_minute)
{
    ck_assert_uint_eq(judge_hold(DURATION_AUTO, 15 * S, 0, true), 75 * S);
    ck_assert_uint_eq(judge_hold(DURATION_AUTO, 15 * S, 1, true), 45 * S);
    ck_assert_uint_eq(judge_hold(DURATION_AUTO, 60 * S, 1, true), 90 * S);
    ck_assert_uint_eq(judge_hold(DURATION_AUTO, 60 * S, 2, true), 90 * S);
    ck_assert_uint_eq(judge_hold(5 * S, 15 * S, 0, true), 5 * S);
}
END_TEST

START_TEST(rule_2_needs_the_watermark_past_the_end)
{
    struct judge_service service = profiled();
    ck_assert_int_eq(at(&service, 99 * S, 99 * S, 112 * S).answer, JUDGE_UNLINK);
    ck_assert_int_eq(at(&service, 99 * S, 99 * S, 112 * S).reason, REASON_NO_SAMPLE);
    ck_assert_int_eq(at(&service, 100 * S, 100 * S, 113 * S).answer, JUDGE_WAIT);
}
END_TEST

START_TEST(rule_2_waits_a_window_and_a_quarter_after_the_end)
{
    struct judge_service service = profiled();
    uint64_t decided = 99 * S + 12 * S + S / 2;
    struct judgement judgement = at(&service, 99 * S, 99 * S, decided);
    ck_assert_int_eq(judgement.answer, JUDGE_WAIT);
    ck_assert_uint_eq(judgement.due, decided + 1);
    ck_assert_int_eq(at(&service, 99 * S, 99 * S, decided + 1).answer, JUDGE_UNLINK);
}
END_TEST

START_TEST(the_quarter_is_two_seconds_at_least)
{
    struct judge_service service = profiled();
    service.window = 4 * S;
    ck_assert_int_eq(at(&service, 99 * S, 99 * S, 105 * S).answer, JUDGE_WAIT);
    ck_assert_int_eq(at(&service, 99 * S, 99 * S, 105 * S + 1).answer, JUDGE_UNLINK);
}
END_TEST

START_TEST(rule_3_counts_from_the_arrival)
{
    struct judge_service service = profiled();
    struct judgement judgement = at(&service, 200 * S, 203 * S, 222 * S);
    ck_assert_int_eq(judgement.answer, JUDGE_WAIT);
    ck_assert_uint_eq(judgement.due, 223 * S);
    judgement = at(&service, 200 * S, 203 * S, 223 * S);
    ck_assert_int_eq(judgement.answer, JUDGE_UNLINK);
    ck_assert_int_eq(judgement.reason, REASON_HOLD_RAN_OUT);
}
END_TEST

START_TEST(a_new_service_has_the_benefit_of_the_doubt_until_its_hold_is_over)
{
    struct judge_service service = {.first_seen = 10 * S, .window = 15 * S, .hold = 45 * S};
    struct judgement judgement = at(&service, 30 * S, 30 * S, 54 * S);
    ck_assert_int_eq(judgement.answer, JUDGE_WAIT);
    ck_assert_uint_eq(judgement.due, 55 * S);
    judgement = at(&service, 30 * S, 30 * S, 55 * S);
    ck_assert_int_eq(judgement.answer, JUDGE_LEAVE);
    ck_assert_int_eq(judgement.reason, REASON_NOT_PROFILED);
}
END_TEST

START_TEST(profiles_in_an_unread_format_end_all_judging)
{
    struct judge_service service = {.first_seen = 10 * S, .unread = true, .hold = 45 * S};
    ck_assert_int_eq(at(&service, 11 * S, 11 * S, 11 * S).reason, REASON_FORMAT);
    ck_assert_int_eq(at(&service, 11 * S, 11 * S, 11 * S).answer, JUDGE_LEAVE);
}
END_TEST

START_TEST(beside_profiles_that_are_read_an_unread_format_only_spares_the_attribute)
{
    struct judge_service service = profiled();
    service.unread = true;
    ck_assert_int_eq(at(&service, 99 * S, 99 * S, 101 * S).answer, JUDGE_WAIT);
    ck_assert_int_eq(at(&service, 99 * S, 99 * S, 115 * S).answer, JUDGE_LEAVE);
}
END_TEST

START_TEST(a_span_from_before_the_start_is_never_unlinked)
{
    struct judge_service service = profiled();
    struct judge_span span = {.end = 99 * S, .arrived = 99 * S, .before_start = true};
    struct judgement judgement = judge(&service, &span, (struct judge_now){115 * S, 115 * S});
    ck_assert_int_eq(judgement.answer, JUDGE_LEAVE);
    ck_assert_int_eq(judgement.reason, REASON_BEFORE_START);
}
END_TEST

START_TEST(made_up_times_do_not_overflow)
{
    struct judge_service service = profiled();
    service.watermark = UINT64_MAX;
    service.window = UINT64_MAX - 5;
    ck_assert_int_eq(at(&service, UINT64_MAX - 1, 99 * S, 110 * S).answer, JUDGE_WAIT);
    service.hold = UINT64_MAX;
    ck_assert_int_eq(at(&service, 7, UINT64_MAX - 3, 110 * S).answer, JUDGE_WAIT);
}
END_TEST

SUITE_MAIN("judge", a_window_is_fifteen_seconds_until_two_were_seen,
           a_window_of_pyroscope_go_is_thirty_seconds_at_least,
           hold_is_what_the_user_set_else_follows_the_window,
           the_first_window_of_node_may_take_a_minute, rule_2_needs_the_watermark_past_the_end,
           rule_2_waits_a_window_and_a_quarter_after_the_end, the_quarter_is_two_seconds_at_least,
           rule_3_counts_from_the_arrival,
           a_new_service_has_the_benefit_of_the_doubt_until_its_hold_is_over,
           profiles_in_an_unread_format_end_all_judging,
           beside_profiles_that_are_read_an_unread_format_only_spares_the_attribute,
           a_span_from_before_the_start_is_never_unlinked, made_up_times_do_not_overflow)
