#include "pipeline/admission.h"

#include "pipeline/ticker.h"
#include "tests/support/captured.h"
#include "tests/support/fake_clock.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct fake_clock fake;
static struct ticker *ticker;
static struct admission *admission;

static void begin(void)
{
    captured_begin();
    fake_clock_init(&fake);
    ticker = ticker_new(&fake.clock);
    admission = admission_new("otlp", &fake.clock, ticker);
    ck_assert_ptr_nonnull(admission);
}

static void end(void)
{
    admission_free(admission);
    ticker_free(ticker);
}

static void advance(uint64_t ns)
{
    fake_clock_advance(&fake, ns);
    ticker_step(ticker);
}

static void refuse(int signal, enum verdict verdict, enum cause cause, uint32_t items,
                   const char *address)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(4711)};
    ck_assert_int_eq(inet_pton(AF_INET, address, &in.sin_addr), 1);
    struct peer peer = peer_of((const struct sockaddr *)&in);
    struct outcome why = outcome_of(verdict, cause, "because");
    struct refusal refusal = {
        .transport = ADMISSION_HTTP, .signal = signal, .why = &why, .items = items, .peer = &peer};
    admission_refuse(admission, &refusal);
}

static const char *explained(void)
{
    static char text[1024];
    struct bytes out;
    bytes_init(&out, sizeof text - 1, NULL);
    admission_explain(admission, &out);
    snprintf(text, sizeof text, "%.*s", (int)out.size, (const char *)out.data);
    bytes_release(&out);
    return text;
}

START_TEST(requests_and_items_are_counted_by_signal_and_cause)
{
    begin();
    refuse(SIGNAL_TRACES, VERDICT_REJECT, CAUSE_INVALID, 0, "10.0.0.1");
    refuse(SIGNAL_TRACES, VERDICT_RETRY, CAUSE_FULL, 7, "10.0.0.1");
    refuse(SIGNAL_TRACES, VERDICT_RETRY, CAUSE_FULL, 5, "10.0.0.1");
    refuse(ADMISSION_NO_SIGNAL, VERDICT_REJECT, CAUSE_TLS, 0, "10.0.0.1");
    admission_accept(admission, ADMISSION_GRPC, SIGNAL_LOGS, 3);
    ck_assert_uint_eq(admission_requests(admission, ADMISSION_HTTP, SIGNAL_TRACES, CAUSE_FULL), 2);
    ck_assert_uint_eq(admission_items(admission, ADMISSION_HTTP, SIGNAL_TRACES, CAUSE_FULL), 12);
    ck_assert_uint_eq(admission_requests(admission, ADMISSION_GRPC, SIGNAL_TRACES, CAUSE_FULL), 0);
    ck_assert_uint_eq(admission_accepted(admission, ADMISSION_GRPC, SIGNAL_LOGS), 3);
    ck_assert_str_eq(explained(),
                     "otlp: 3 requests of traces refused over HTTP (invalid 1, queue full 2)\n"
                     "otlp: 1 request refused over HTTP (TLS failed 1)\n");
    end();
}
END_TEST

START_TEST(the_first_refusal_of_a_cause_is_told_at_once_with_its_peer)
{
    begin();
    refuse(SIGNAL_LOGS, VERDICT_REJECT, CAUSE_INVALID, 0, "10.0.0.1");
    ck_assert_ptr_nonnull(strstr(captured_lines(),
                                 "warn  otlp: 1 request refused: invalid: because "
                                 "(logs over HTTP from 10.0.0.1:4711)\n"));
    refuse(ADMISSION_NO_SIGNAL, VERDICT_RETRY, CAUSE_MEMORY, 0, "10.0.0.2");
    ck_assert_ptr_nonnull(strstr(captured_lines(),
                                 "otlp: 1 request told to retry: out of memory: because "
                                 "(over HTTP from 10.0.0.2:4711)\n"));
    ck_assert_uint_eq(captured_count(), 2);
    end();
}
END_TEST

START_TEST(more_of_a_cause_are_one_line_a_minute_with_their_number_and_the_last_peer)
{
    begin();
    for (int i = 0; i < 100; i++)
        refuse(SIGNAL_LOGS, VERDICT_REJECT, CAUSE_INVALID, 0, "10.0.0.1");
    refuse(SIGNAL_TRACES, VERDICT_REJECT, CAUSE_INVALID, 0, "10.0.0.9");
    advance(59 * NS_PER_S);
    ck_assert_uint_eq(captured_count(), 1);
    advance(NS_PER_S);
    ck_assert_ptr_nonnull(strstr(captured_lines(),
                                 "otlp: 100 requests refused: invalid: because "
                                 "(the last: traces over HTTP from 10.0.0.9:4711; from "));
    ck_assert_uint_eq(captured_count(), 2);
    advance(600 * NS_PER_S);
    ck_assert_uint_eq(captured_count(), 2);
    end();
}
END_TEST

static void refuse_saying(const char *text)
{
    struct outcome why = outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED, "%s", text);
    struct refusal refusal = {
        .transport = ADMISSION_HTTP, .signal = ADMISSION_NO_SIGNAL, .why = &why};
    admission_refuse(admission, &refusal);
}

START_TEST(kinds_of_one_cause_are_told_apart)
{
    begin();
    for (int i = 0; i < 100; i++) {
        char text[64];
        snprintf(text, sizeof text, "unknown path /v1/%d", i);
        refuse_saying(text);
        refuse_saying("unsupported media type, supported: [application/json]");
        refuse_saying("405 method not allowed");
    }
    ck_assert_uint_eq(captured_count(), 3);
    ck_assert_uint_eq(captured_with("unsupported media type"), 1);
    ck_assert_uint_eq(captured_with("405 method not allowed"), 1);
    advance(60 * NS_PER_S);
    ck_assert_uint_eq(captured_count(), 6);
    ck_assert_uint_eq(
        captured_with("otlp: 99 requests refused: unsupported, the last: unknown path /v1/99"), 1);
    end();
}
END_TEST

static void accept_one(void)
{
    admission_accept(admission, ADMISSION_HTTP, SIGNAL_TRACES, 1);
}

START_TEST(requests_are_refused_until_they_have_been_accepted_for_some_seconds)
{
    begin();
    accept_one();
    refuse(SIGNAL_TRACES, VERDICT_REJECT, CAUSE_INVALID, 1, "10.0.0.1");
    ck_assert_uint_eq(admission_pressure(admission).since, 0);
    uint64_t since = clock_wall(&fake.clock);
    refuse(SIGNAL_TRACES, VERDICT_RETRY, CAUSE_FULL, 1, "10.0.0.1");
    advance(NS_PER_S);
    accept_one();
    advance(4 * NS_PER_S - 1);
    struct admission_pressure pressure = admission_pressure(admission);
    ck_assert(pressure.since == since && pressure.requests == 1 && pressure.cause == CAUSE_FULL);
    ck_assert_str_eq(pressure.text, "because");
    refuse(SIGNAL_TRACES, VERDICT_RETRY, CAUSE_MEMORY, 1, "10.0.0.1");
    advance(59 * NS_PER_S); /* nothing comes */
    pressure = admission_pressure(admission);
    ck_assert(pressure.since == since && pressure.requests == 2 && pressure.cause == CAUSE_MEMORY);
    accept_one();
    ck_assert_uint_eq(admission_pressure(admission).since, 0);
    ck_assert_uint_eq(captured_with("otlp: accepting requests again, after 2 refused"), 1);
    refuse(SIGNAL_TRACES, VERDICT_RETRY, CAUSE_FULL, 1, "10.0.0.1");
    ck_assert_uint_eq(admission_pressure(admission).requests, 1);
    advance(60 * NS_PER_S);
    ck_assert_uint_eq(admission_pressure(admission).since, 0);
    end();
}
END_TEST

START_TEST(kinds_that_never_end_are_lines_that_do)
{
    begin();
    for (int minute = 0; minute < 3; minute++) {
        for (int i = 0; i < 26 * 26; i++) {
            char text[64];
            snprintf(text, sizeof text, "new%c%c", 'a' + i / 26, 'a' + i % 26);
            refuse_saying(text);
        }
        ck_assert_uint_eq(captured_count(), 4 + 4 * (unsigned)minute);
        advance(60 * NS_PER_S);
    }
    end();
}
END_TEST

START_TEST(nothing_waits_for_a_tick_where_nothing_is_pending)
{
    begin();
    refuse(SIGNAL_LOGS, VERDICT_REJECT, CAUSE_INVALID, 0, "10.0.0.1");
    ck_assert(ticker_step(ticker) == TIME_NEVER);
    refuse(SIGNAL_LOGS, VERDICT_REJECT, CAUSE_INVALID, 0, "10.0.0.1");
    ck_assert(ticker_step(ticker) == clock_mono(&fake.clock) + 60 * NS_PER_S);
    end();
}
END_TEST

START_TEST(what_is_pending_at_the_end_is_told)
{
    begin();
    refuse(SIGNAL_LOGS, VERDICT_REJECT, CAUSE_AUTH, 0, "10.0.0.1");
    refuse(SIGNAL_LOGS, VERDICT_REJECT, CAUSE_AUTH, 0, "10.0.0.1");
    refuse(SIGNAL_LOGS, VERDICT_REJECT, CAUSE_AUTH, 0, "10.0.0.1");
    end();
    ck_assert_uint_eq(captured_with("otlp: 2 requests refused: not authenticated"), 1);
}
END_TEST

START_TEST(a_request_taken_in_part_counts_its_items_and_no_request)
{
    begin();
    refuse(SIGNAL_TRACES, VERDICT_OK, CAUSE_INVALID, 2, "10.0.0.1");
    ck_assert_uint_eq(admission_requests(admission, ADMISSION_HTTP, SIGNAL_TRACES, CAUSE_INVALID),
                      0);
    ck_assert_uint_eq(admission_items(admission, ADMISSION_HTTP, SIGNAL_TRACES, CAUSE_INVALID), 2);
    ck_assert_uint_eq(captured_with("otlp: 1 request taken in part: invalid: because"), 1);
    end();
}
END_TEST

START_TEST(a_stop_counts_and_tells_nothing)
{
    begin();
    refuse(SIGNAL_TRACES, VERDICT_RETRY, CAUSE_SHUTDOWN, 0, "10.0.0.1");
    ck_assert_uint_eq(admission_requests(admission, ADMISSION_HTTP, SIGNAL_TRACES, CAUSE_SHUTDOWN),
                      1);
    end();
    ck_assert_uint_eq(captured_count(), 0);
}
END_TEST

enum { THREADS = 4, ROUNDS = 2000 };

static void *flood(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < ROUNDS; i++)
        refuse(SIGNAL_TRACES, VERDICT_RETRY, CAUSE_FULL, 1, "10.0.0.1");
    return NULL;
}

/* Returns the sum of the counts in all lines, which must equal the refusals. */
static unsigned told_requests(void)
{
    unsigned sum = 0, n;
    for (const char *at = captured_lines(); (at = strstr(at, "otlp: ")); at++)
        if (sscanf(at, "otlp: %u request", &n) == 1)
            sum += n;
    return sum;
}

START_TEST(threads_that_refuse_at_once_lose_no_count)
{
    pthread_t threads[THREADS];
    begin();
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, flood, NULL), 0);
    for (int i = 0; i < 50; i++)
        advance(61 * NS_PER_S);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(admission_requests(admission, ADMISSION_HTTP, SIGNAL_TRACES, CAUSE_FULL),
                      THREADS * ROUNDS);
    end();
    ck_assert_uint_eq(told_requests(), THREADS * ROUNDS);
}
END_TEST

SUITE_MAIN("admission", requests_and_items_are_counted_by_signal_and_cause,
           the_first_refusal_of_a_cause_is_told_at_once_with_its_peer,
           more_of_a_cause_are_one_line_a_minute_with_their_number_and_the_last_peer,
           requests_are_refused_until_they_have_been_accepted_for_some_seconds,
           kinds_of_one_cause_are_told_apart, kinds_that_never_end_are_lines_that_do,
           nothing_waits_for_a_tick_where_nothing_is_pending, what_is_pending_at_the_end_is_told,
           a_request_taken_in_part_counts_its_items_and_no_request, a_stop_counts_and_tells_nothing,
           threads_that_refuse_at_once_lose_no_count)
