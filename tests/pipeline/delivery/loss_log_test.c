#include "pipeline/delivery/loss_log.h"

#include "tests/support/fake_clock.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fake_clock fake;
static struct loss_log losses;
static struct ticker *ticker;
static FILE *captured;

static void begin(void)
{
    captured = tmpfile();
    ck_assert_ptr_nonnull(captured);
    ck_assert_int_ge(dup2(fileno(captured), STDERR_FILENO), 0);
    fake_clock_init(&fake);
    ticker = ticker_new(&fake.clock);
    loss_log_init(&losses, "tempo", &fake.clock, ticker);
}

static void lose(enum signal signal, uint64_t items)
{
    struct outcome why = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "span 3 is bad");
    loss_log_add(&losses, signal, items, &why);
}

static void end(void)
{
    loss_log_release(&losses);
    ticker_free(ticker);
}

/* Returns all lines so far, in the test's memory. */
static const char *lines(void)
{
    static char text[4096];
    ssize_t n = pread(fileno(captured), text, sizeof text - 1, 0);
    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    return text;
}

static unsigned line_count(void)
{
    unsigned count = 0;
    for (const char *at = lines(); (at = strchr(at, '\n')); at++)
        count++;
    return count;
}

START_TEST(the_first_loss_is_told_at_once)
{
    begin();
    lose(SIGNAL_TRACES, 3);
    ck_assert_ptr_nonnull(strstr(lines(), "tempo: 3 spans dropped: invalid: span 3 is bad\n"));
    end();
    ck_assert_uint_eq(line_count(), 1);
}
END_TEST

START_TEST(later_ones_are_summed_for_ten_seconds)
{
    begin();
    lose(SIGNAL_TRACES, 3);
    lose(SIGNAL_TRACES, 4);
    lose(SIGNAL_PROFILES, 1);
    fake_clock_advance(&fake, 9 * NS_PER_S);
    lose(SIGNAL_TRACES, 1);
    ck_assert_uint_eq(line_count(), 1);
    fake_clock_advance(&fake, NS_PER_S);
    lose(SIGNAL_TRACES, 1);
    ck_assert_uint_eq(line_count(), 2);
    ck_assert_ptr_nonnull(strstr(lines(), "tempo: 6 spans, 1 profile dropped"));
    end();
}
END_TEST

static void lose_for(enum cause cause, const char *text, uint64_t spans)
{
    struct outcome why = outcome_of(VERDICT_REJECT, cause, "%s", text);
    loss_log_add(&losses, SIGNAL_TRACES, spans, &why);
}

START_TEST(causes_are_summed_apart)
{
    begin();
    lose_for(CAUSE_AUTH, "HTTP 401", 10);
    lose_for(CAUSE_AUTH, "HTTP 401", 190);
    lose_for(CAUSE_INVALID, "HTTP 400", 1);
    ck_assert_ptr_nonnull(
        strstr(lines(), "tempo: 10 spans dropped: not authenticated: HTTP 401\n"));
    ck_assert_ptr_nonnull(strstr(lines(), "tempo: 1 span dropped: invalid: HTTP 400\n"));
    fake_clock_advance(&fake, 10 * NS_PER_S);
    lose_for(CAUSE_INVALID, "HTTP 400", 1);
    lose_for(CAUSE_AUTH, "HTTP 401", 1);
    ck_assert_ptr_nonnull(strstr(lines(), "tempo: 191 spans dropped: not authenticated"));
    ck_assert_uint_eq(line_count(), 4);
    end();
}
END_TEST

START_TEST(what_is_pending_is_told_when_its_time_is_over_even_if_nothing_follows)
{
    begin();
    ck_assert(ticker_step(ticker) == TIME_NEVER);
    lose_for(CAUSE_AUTH, "HTTP 401", 10);
    ck_assert(ticker_step(ticker) == TIME_NEVER);
    lose_for(CAUSE_AUTH, "HTTP 401 a", 100);
    lose_for(CAUSE_AUTH, "HTTP 401 b", 90);
    ticker_step(ticker);
    ck_assert_uint_eq(line_count(), 1);
    fake_clock_advance(&fake, 10 * NS_PER_S);
    ck_assert(ticker_step(ticker) == TIME_NEVER);
    ck_assert_ptr_nonnull(strstr(lines(), "tempo: 190 spans dropped: not authenticated, the last: "
                                          "HTTP 401 b; from 00:00:00Z to 00:00:00Z\n"));
    end();
    ck_assert_uint_eq(line_count(), 2);
}
END_TEST

START_TEST(a_partial_success_is_a_failure_that_reached_the_backend)
{
    const struct outcome down = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "connection refused");
    const struct outcome part = {.rejected = 7, .cause = CAUSE_INVALID, .text = "too old"};
    begin();
    loss_log_retry(&losses, &down, NS_PER_S);
    ck_assert(!loss_log_state(&losses).drops);
    loss_log_add(&losses, SIGNAL_TRACES, 7, &part);
    loss_log_partial(&losses, &part, 10);
    struct loss_log_state state = loss_log_state(&losses);
    ck_assert_str_eq(state.error, "7 spans lost: invalid: 7 of 10 items rejected: too old");
    ck_assert(state.failing_since && state.succeeded && state.drops);
    ck_assert_ptr_nonnull(strstr(lines(), "tempo: 7 spans dropped: invalid: too old\n"));
    fake_clock_advance(&fake, 10 * NS_PER_S);
    ck_assert_ptr_null(strstr(lines(), "delivering again"));
    loss_log_success(&losses);
    ck_assert_uint_eq(loss_log_state(&losses).failing_since, 0);
    ck_assert_ptr_nonnull(
        strstr(lines(),
               "tempo: delivering again since 00:00:10Z, after 7 spans dropped since 00:00:00Z\n"));
    end();
}
END_TEST

START_TEST(a_successor_knows_since_when)
{
    const struct outcome down = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "connection refused");
    struct loss_log next;
    begin();
    loss_log_init(&next, "tempo", &fake.clock, ticker);
    loss_log_success(&losses);
    fake_clock_advance(&fake, NS_PER_S);
    loss_log_retry(&losses, &down, NS_PER_S);
    const struct loss_log_state before = loss_log_state(&losses);
    loss_log_inherit(&next, &losses);
    fake_clock_advance(&fake, NS_PER_S);
    loss_log_retry(&next, &down, NS_PER_S);
    const struct loss_log_state after = loss_log_state(&next);
    ck_assert_uint_eq(after.failing_since, before.failing_since);
    ck_assert_uint_eq(after.succeeded, before.succeeded);
    ck_assert_str_eq(after.error, before.error);
    ck_assert_uint_eq(line_count(), 1);
    loss_log_success(&losses);
    loss_log_success(&next);
    fake_clock_advance(&fake, 5 * NS_PER_S);
    ticker_step(ticker);
    ck_assert_ptr_nonnull(strstr(
        lines(), "tempo: delivering again since 00:00:02Z, after failures since 00:00:01Z\n"));
    ck_assert_uint_eq(line_count(), 2);
    loss_log_release(&next);
    end();
}
END_TEST

START_TEST(what_is_pending_is_told_at_the_end)
{
    begin();
    lose(SIGNAL_TRACES, 3);
    lose(SIGNAL_LOGS, 4);
    end();
    ck_assert_uint_eq(line_count(), 2);
    ck_assert_ptr_nonnull(strstr(lines(), "tempo: 4 log records dropped"));
}
END_TEST

START_TEST(a_silent_backend_is_told_once_a_minute_and_its_return_once)
{
    struct outcome why = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "connection refused");
    begin();
    loss_log_success(&losses);
    ck_assert_uint_eq(line_count(), 0);
    loss_log_retry(&losses, &why, 5 * NS_PER_S);
    ck_assert_ptr_nonnull(
        strstr(lines(), "tempo: waiting, trying again in 5.0 s: connection refused\n"));
    loss_log_retry(&losses, &why, 7 * NS_PER_S);
    ck_assert_uint_eq(line_count(), 1);
    fake_clock_advance(&fake, 60 * NS_PER_S);
    loss_log_retry(&losses, &why, 7 * NS_PER_S);
    ck_assert_uint_eq(line_count(), 2);
    loss_log_success(&losses);
    loss_log_success(&losses);
    ck_assert_uint_eq(line_count(), 2);
    fake_clock_advance(&fake, 5 * NS_PER_S);
    loss_log_success(&losses);
    loss_log_success(&losses);
    ck_assert_uint_eq(line_count(), 3);
    ck_assert_ptr_nonnull(strstr(
        lines(), "tempo: delivering again since 00:01:00Z, after failures since 00:00:00Z\n"));
    end();
}
END_TEST

START_TEST(the_state_has_the_error_as_logged_and_since_when)
{
    const struct outcome down =
        outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "POST http://u:p@tempo/v1/traces: HTTP 503");
    const struct outcome full = outcome_of(VERDICT_RETRY, CAUSE_FULL, "the oldest in a full queue");
    begin();
    loss_log_success(&losses);
    uint64_t start = clock_wall(&fake.clock);
    struct loss_log_state state = loss_log_state(&losses);
    ck_assert(state.succeeded == start && !state.failing_since && !*state.error);
    ck_assert_uint_eq(state.again, 0);
    fake_clock_advance(&fake, NS_PER_S);
    loss_log_retry(&losses, &down, NS_PER_S);
    fake_clock_advance(&fake, NS_PER_S);
    loss_log_retry(&losses, &down, NS_PER_S);
    loss_log_add(&losses, SIGNAL_TRACES, 1, &full);
    state = loss_log_state(&losses);
    ck_assert_uint_eq(state.failing_since, start + NS_PER_S);
    ck_assert_uint_eq(state.failed, start + 2 * NS_PER_S);
    ck_assert_uint_eq(state.succeeded, start);
    ck_assert_ptr_nonnull(strstr(state.error, "tempo/v1/traces: HTTP 503"));
    ck_assert_ptr_null(strstr(state.error, "u:p"));
    fake_clock_advance(&fake, 3 * NS_PER_S);
    loss_log_success(&losses);
    ck_assert_uint_eq(loss_log_state(&losses).failing_since, start + NS_PER_S);
    fake_clock_advance(&fake, 5 * NS_PER_S);
    loss_log_success(&losses);
    ck_assert_uint_eq(loss_log_state(&losses).failing_since, 0);
    ck_assert_uint_eq(loss_log_state(&losses).again, start + 5 * NS_PER_S);
    fake_clock_advance(&fake, 60 * NS_PER_S);
    lose(SIGNAL_TRACES, 3);
    state = loss_log_state(&losses);
    ck_assert_uint_eq(state.again, 0);
    ck_assert_uint_eq(state.failing_since, clock_wall(&fake.clock));
    ck_assert_str_eq(state.error, "3 spans lost: invalid: span 3 is bad");
    end();
}
END_TEST

START_TEST(slow_requests_are_logged_once_a_minute)
{
    begin();
    loss_log_took(&losses, 0);
    ck_assert_uint_eq(line_count(), 0);
    loss_log_took(&losses, 25 * NS_PER_S);
    loss_log_took(&losses, 26 * NS_PER_S);
    ck_assert_ptr_nonnull(
        strstr(lines(), "tempo: slow: a request took 25.0 s while others waited in the queue\n"));
    ck_assert_uint_eq(line_count(), 1);
    ck_assert_uint_eq(loss_log_state(&losses).slow_ns, 26 * NS_PER_S);
    fake_clock_advance(&fake, 60 * NS_PER_S);
    loss_log_took(&losses, 25 * NS_PER_S);
    ck_assert_uint_eq(line_count(), 2);
    ck_assert_uint_eq(line_count(), 2);
    loss_log_took(&losses, 0);
    loss_log_took(&losses, 0);
    ck_assert_uint_eq(loss_log_state(&losses).slow_ns, 0);
    ck_assert_ptr_nonnull(strstr(lines(), "tempo: no longer slow\n"));
    ck_assert_uint_eq(line_count(), 3);
    end();
}
END_TEST

START_TEST(a_backend_that_rejects_some_requests_fails_until_it_rejects_none)
{
    begin();
    uint64_t start = clock_wall(&fake.clock);
    for (int i = 0; i < 20; i++) {
        lose_for(CAUSE_AUTH, "HTTP 401", 10);
        fake_clock_advance(&fake, NS_PER_S);
        loss_log_success(&losses);
        ticker_step(ticker);
        const struct loss_log_state state = loss_log_state(&losses);
        ck_assert_uint_eq(state.failing_since, start);
        ck_assert(state.drops);
    }
    ck_assert_str_eq(loss_log_state(&losses).error,
                     "200 spans lost, 20 of 40 requests failed: not authenticated: HTTP 401");
    ck_assert_ptr_null(strstr(lines(), "again"));
    fake_clock_advance(&fake, 4 * NS_PER_S);
    ticker_step(ticker);
    ck_assert_uint_eq(loss_log_state(&losses).failing_since, 0);
    ck_assert_ptr_nonnull(
        strstr(lines(), "dropped: not authenticated: HTTP 401; from 00:00:10Z to 00:00:19Z\n"));
    ck_assert_ptr_nonnull(strstr(
        lines(),
        "tempo: delivering again since 00:00:20Z, after 200 spans dropped since 00:00:00Z\n"));
    end();
}
END_TEST

START_TEST(an_incident_that_follows_within_a_minute_counts_anew_and_lasts_for_a_minute)
{
    begin();
    lose_for(CAUSE_AUTH, "HTTP 401", 10);
    loss_log_success(&losses);
    fake_clock_advance(&fake, 30 * NS_PER_S);
    ck_assert_uint_eq(loss_log_state(&losses).failing_since, 0);
    loss_log_success(&losses);
    loss_log_success(&losses);
    uint64_t start = clock_wall(&fake.clock);
    lose_for(CAUSE_AUTH, "HTTP 401", 20);
    fake_clock_advance(&fake, 2 * NS_PER_S);
    loss_log_success(&losses);
    ck_assert_uint_eq(loss_log_state(&losses).recovered, 0); /* the next may fail */
    fake_clock_advance(&fake, 57 * NS_PER_S);
    ck_assert_uint_eq(loss_log_state(&losses).failing_since, start);
    ck_assert_uint_eq(loss_log_state(&losses).recovered, start + 2 * NS_PER_S);
    ck_assert_str_eq(loss_log_state(&losses).error,
                     "20 spans lost, 1 of 2 requests failed: not authenticated: HTTP 401");
    fake_clock_advance(&fake, NS_PER_S);
    ck_assert_uint_eq(loss_log_state(&losses).failing_since, 0);
    lose_for(CAUSE_AUTH, "HTTP 401", 10);
    ck_assert_uint_eq(loss_log_state(&losses).failing_since, clock_wall(&fake.clock));
    end();
}
END_TEST

START_TEST(losses_have_their_own_cause_beside_the_last_failure)
{
    const struct outcome down = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "HTTP 503");
    begin();
    lose_for(CAUSE_TOO_LARGE, "HTTP 413", 3);
    lose_for(CAUSE_AUTH, "HTTP 401", 2);
    ck_assert_str_eq(loss_log_state(&losses).error,
                     "5 spans lost (3 too large, 2 not authenticated); the last failure: not "
                     "authenticated: HTTP 401");
    loss_log_success(&losses);
    fake_clock_advance(&fake, 6 * NS_PER_S);
    lose_for(CAUSE_TOO_LARGE, "HTTP 413", 1);
    loss_log_success(&losses);
    loss_log_retry(&losses, &down, NS_PER_S);
    ck_assert_str_eq(
        loss_log_state(&losses).error,
        "1 span lost (1 too large), 2 of 3 requests failed; the last failure: HTTP 503");
    end();
}
END_TEST

START_TEST(a_reload_that_mends_what_failed_again_is_told_within_seconds)
{
    const struct outcome gone = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "no such host");
    struct loss_log next;
    begin();
    loss_log_init(&next, "tempo", &fake.clock, ticker);
    lose_for(CAUSE_AUTH, "HTTP 401", 1);
    loss_log_success(&losses);
    fake_clock_advance(&fake, 6 * NS_PER_S);
    ticker_step(ticker);
    loss_log_retry(&losses, &gone, NS_PER_S); /* it follows another within a minute */
    fake_clock_advance(&fake, 4 * NS_PER_S);
    loss_log_inherit(&next, &losses);
    loss_log_success(&next);
    ck_assert_uint_ne(loss_log_state(&next).failing_since, 0);
    fake_clock_advance(&fake, NS_PER_S);
    ticker_step(ticker);
    ck_assert_uint_eq(loss_log_state(&next).failing_since, 0);
    loss_log_release(&next);
    end();
    const char *again = strstr(lines(), "no such host");
    ck_assert(again && strstr(again, "tempo: delivering again"));
}
END_TEST

/* Each time it delivers for a while, which is told at the end of a calm minute. */
START_TEST(another_outage_within_a_minute_is_told_at_once_with_its_beginning)
{
    const struct outcome down = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "connection refused");
    begin();
    lose_for(CAUSE_AUTH, "HTTP 401", 1);
    loss_log_success(&losses);
    fake_clock_advance(&fake, 6 * NS_PER_S);
    ticker_step(ticker);
    loss_log_retry(&losses, &down, NS_PER_S);
    loss_log_retry(&losses, &down, NS_PER_S);
    loss_log_success(&losses);
    fake_clock_advance(&fake, 20 * NS_PER_S);
    loss_log_retry(&losses, &down, 3 * NS_PER_S);
    ck_assert_ptr_nonnull(strstr(lines(),
                                 "tempo: waiting since 00:00:26Z, after delivering since "
                                 "00:00:06Z, trying again in 3.0 s: connection refused\n"));
    unsigned told = line_count();
    fake_clock_advance(&fake, 10 * NS_PER_S);
    loss_log_retry(&losses, &down, 3 * NS_PER_S);
    ticker_step(ticker);
    ck_assert_uint_eq(line_count(), told);
    end();
}
END_TEST

/* Of an attempt that goes on, such as one of Kafka, which was never retried from here. */
START_TEST(an_attempt_that_stalls_again_is_told_with_its_reason)
{
    const struct outcome stalls = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "no broker answers");
    begin();
    lose_for(CAUSE_AUTH, "HTTP 401", 1);
    loss_log_success(&losses);
    fake_clock_advance(&fake, 6 * NS_PER_S);
    ticker_step(ticker);
    loss_log_begin(&losses);
    fake_clock_advance(&fake, 10 * NS_PER_S);
    ticker_step(ticker);
    loss_log_refused(&losses, &stalls);
    loss_log_success(&losses);
    fake_clock_advance(&fake, 6 * NS_PER_S);
    ticker_step(ticker);
    loss_log_refused(&losses, &stalls);
    fake_clock_advance(&fake, 10 * NS_PER_S);
    ticker_step(ticker);
    ck_assert_ptr_nonnull(strstr(lines(), ", trying again: no broker answers\n"));
    ck_assert_ptr_null(strstr(lines(), "again: \n"));
    end();
}
END_TEST

START_TEST(a_backend_that_does_not_answer_is_told_after_ten_seconds)
{
    struct outcome late = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "no answer within 30 s");
    late.took_ns = 30 * NS_PER_S;
    begin();
    loss_log_success(&losses);
    fake_clock_advance(&fake, 5 * NS_PER_S);
    loss_log_begin(&losses);
    fake_clock_advance(&fake, 9 * NS_PER_S);
    ticker_step(ticker);
    ck_assert_uint_eq(line_count(), 0);
    fake_clock_advance(&fake, NS_PER_S);
    ticker_step(ticker);
    ck_assert_ptr_nonnull(strstr(lines(), "tempo: waiting, no answer for 10 s\n"));
    fake_clock_advance(&fake, 20 * NS_PER_S);
    ticker_step(ticker);
    ck_assert_uint_eq(line_count(), 1);
    loss_log_end(&losses);
    loss_log_retry(&losses, &late, 5 * NS_PER_S);
    ck_assert_uint_eq(line_count(), 2);
    ck_assert_uint_eq(loss_log_state(&losses).failing_since,
                      clock_wall(&fake.clock) - 30 * NS_PER_S);
    end();
}
END_TEST

START_TEST(an_answer_that_comes_late_is_told)
{
    begin();
    loss_log_begin(&losses);
    fake_clock_advance(&fake, 12 * NS_PER_S);
    ticker_step(ticker);
    ck_assert_uint_eq(line_count(), 1);
    loss_log_end(&losses);
    loss_log_success(&losses);
    ck_assert_ptr_nonnull(strstr(lines(), "tempo: delivering again\n"));
    ck_assert_uint_eq(loss_log_state(&losses).failing_since, 0);
    loss_log_begin(&losses);
    loss_log_end(&losses);
    fake_clock_advance(&fake, 60 * NS_PER_S);
    ticker_step(ticker);
    ck_assert_uint_eq(line_count(), 2);
    end();
}
END_TEST

START_TEST(what_waits_after_a_success_is_not_called_dropped)
{
    const struct outcome down = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "HTTP 503");
    begin();
    for (int i = 0; i < 2; i++) {
        lose_for(CAUSE_AUTH, "HTTP 401", 4);
        loss_log_success(&losses);
        fake_clock_advance(&fake, 6 * NS_PER_S);
        ticker_step(ticker);
        loss_log_retry(&losses, &down, NS_PER_S);
        const struct loss_log_state state = loss_log_state(&losses);
        ck_assert_uint_eq(state.failing_since, clock_wall(&fake.clock));
        ck_assert_str_eq(state.error, "HTTP 503");
        ck_assert(!state.drops);
        loss_log_success(&losses);
        fake_clock_advance(&fake, 6 * NS_PER_S);
    }
    fake_clock_advance(&fake, 60 * NS_PER_S);
    ticker_step(ticker);
    ck_assert_ptr_nonnull(
        strstr(lines(),
               "tempo: delivering again since 00:00:00Z, after 4 spans dropped since 00:00:00Z\n"));
    ck_assert_ptr_nonnull(
        strstr(lines(),
               "tempo: delivering again since 00:00:18Z, after 4 spans dropped since 00:00:06Z\n"));
    end();
}
END_TEST

static void retry_for(const char *text)
{
    const struct outcome why = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "%s", text);
    loss_log_retry(&losses, &why, NS_PER_S);
    fake_clock_advance(&fake, NS_PER_S);
    ticker_step(ticker);
}

START_TEST(another_reason_of_a_failure_is_told_within_ten_seconds)
{
    begin();
    retry_for("HTTP 503: request 7f3a");
    retry_for("HTTP 503: request 81bc");
    retry_for("no answer within 3 s");
    ck_assert_uint_eq(line_count(), 1);
    fake_clock_advance(&fake, 7 * NS_PER_S);
    ticker_step(ticker);
    ck_assert_uint_eq(line_count(), 2);
    ck_assert_ptr_nonnull(strstr(lines(), "tempo: waiting, trying again: no answer"));
    for (int i = 0; i < 9; i++)
        retry_for("HTTP 500: request 7f3a");
    ck_assert_uint_eq(line_count(), 2);
    retry_for("HTTP 500: request 81bc");
    ck_assert_uint_eq(line_count(), 3);
    ck_assert_ptr_nonnull(strstr(lines(), "tempo: waiting, trying again: HTTP 500: request 81bc"));
    for (int i = 0; i < 49; i++)
        retry_for("HTTP 500: request 81bc");
    ck_assert_uint_eq(line_count(), 3);
    end();
}
END_TEST

START_TEST(a_retry_that_is_over_is_not_told_later)
{
    begin();
    lose_for(CAUSE_AUTH, "HTTP 401", 1);
    loss_log_success(&losses);
    fake_clock_advance(&fake, 6 * NS_PER_S);
    ticker_step(ticker);
    retry_for("HTTP 429: quota used up");
    loss_log_success(&losses);
    fake_clock_advance(&fake, 20 * NS_PER_S);
    lose_for(CAUSE_UNSUPPORTED, "HTTP 404", 4);
    lose_for(CAUSE_UNSUPPORTED, "HTTP 404", 4); /* its line is left for later */
    fake_clock_advance(&fake, 30 * NS_PER_S);
    ticker_step(ticker);
    end();
    const char *told = strstr(lines(), "quota used up");
    ck_assert(told && !strstr(told + 1, "quota used up"));
}
END_TEST

START_TEST(what_a_full_queue_displaces_is_an_incident)
{
    const struct outcome full = outcome_of(VERDICT_RETRY, CAUSE_FULL, "the oldest in a full queue");
    const struct outcome stop = outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "shutting down");
    begin();
    loss_log_add(&losses, SIGNAL_TRACES, 3, &stop);
    ck_assert_uint_eq(loss_log_state(&losses).failing_since, 0);
    loss_log_success(&losses);
    loss_log_add(&losses, SIGNAL_TRACES, 400, &full);
    loss_log_add(&losses, SIGNAL_PROFILES, 1, &full);
    loss_log_success(&losses);
    const struct loss_log_state state = loss_log_state(&losses);
    ck_assert(state.failing_since == clock_wall(&fake.clock) && state.drops && !state.failed);
    ck_assert_str_eq(state.error, "400 spans, 1 profile lost: the oldest in a full queue");
    fake_clock_advance(&fake, 5 * NS_PER_S);
    ticker_step(ticker);
    ck_assert_ptr_nonnull(
        strstr(lines(),
               "tempo: no longer dropping, after 400 spans, 1 profile dropped since 00:00:00Z\n"));
    end();
}
END_TEST

START_TEST(what_is_lost_after_retries_is_told_while_others_wait)
{
    const struct outcome down = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "HTTP 503");
    begin();
    loss_log_retry(&losses, &down, NS_PER_S);
    ck_assert(!loss_log_state(&losses).drops);
    loss_log_add(&losses, SIGNAL_TRACES, 10, &down);
    loss_log_retry(&losses, &down, NS_PER_S);
    const struct loss_log_state state = loss_log_state(&losses);
    ck_assert(state.drops);
    ck_assert_str_eq(state.error, "10 spans lost: HTTP 503");
    end();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_first_loss_is_told_at_once,
        later_ones_are_summed_for_ten_seconds,
        causes_are_summed_apart,
        what_is_pending_is_told_when_its_time_is_over_even_if_nothing_follows,
        a_partial_success_is_a_failure_that_reached_the_backend,
        a_successor_knows_since_when,
        what_is_pending_is_told_at_the_end,
        a_silent_backend_is_told_once_a_minute_and_its_return_once,
        the_state_has_the_error_as_logged_and_since_when,
        slow_requests_are_logged_once_a_minute,
        a_backend_that_rejects_some_requests_fails_until_it_rejects_none,
        an_incident_that_follows_within_a_minute_counts_anew_and_lasts_for_a_minute,
        losses_have_their_own_cause_beside_the_last_failure,
        a_reload_that_mends_what_failed_again_is_told_within_seconds,
        another_outage_within_a_minute_is_told_at_once_with_its_beginning,
        an_attempt_that_stalls_again_is_told_with_its_reason,
        a_backend_that_does_not_answer_is_told_after_ten_seconds,
        an_answer_that_comes_late_is_told,
        what_waits_after_a_success_is_not_called_dropped,
        another_reason_of_a_failure_is_told_within_ten_seconds,
        a_retry_that_is_over_is_not_told_later,
        what_a_full_queue_displaces_is_an_incident,
        what_is_lost_after_retries_is_told_while_others_wait,
        NULL,
    };
    return suite_run("loss_log", tests);
}
