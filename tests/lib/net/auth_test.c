#include "lib/net/auth.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

START_TEST(a_refusal_is_for_good_and_too_much_work_is_not)
{
    struct outcome denied = auth_outcome(AUTH_DENIED), later = auth_outcome(AUTH_LATER);
    ck_assert_int_eq(denied.verdict, VERDICT_REJECT);
    ck_assert_int_eq(denied.cause, CAUSE_AUTH);
    ck_assert_int_eq(later.verdict, VERDICT_RETRY);
}
END_TEST

/* Number of lines that a run writes to stderr. */
static size_t lines_of(void (*run)(struct auth_tally *tally), struct auth_tally *tally)
{
    char text[4096];
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);
    size_t lines = 0;
    ck_assert_ptr_nonnull(file);
    dup2(fileno(file), STDERR_FILENO);
    run(tally);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    while (fgets(text, sizeof text, file))
        lines++;
    fclose(file);
    return lines;
}

static void many_at_once(struct auth_tally *tally)
{
    for (int i = 0; i < 100; i++) {
        auth_tally_add(tally, "x", AUTH_GRANTED, "", 5 * NS_PER_S);
        auth_tally_add(tally, "x", AUTH_DENIED, "why", 5 * NS_PER_S);
        auth_tally_add(tally, "x", AUTH_LATER, "why", 5 * NS_PER_S);
    }
}

static void a_minute_later(struct auth_tally *tally)
{
    auth_tally_add(tally, "x", AUTH_DENIED, "why", 65 * NS_PER_S);
}

static void two_minutes_later(struct auth_tally *tally)
{
    auth_tally_add(tally, "x", AUTH_DENIED, "why", 125 * NS_PER_S);
}

START_TEST(refusals_are_counted_and_told_once_a_minute)
{
    struct auth_tally tally = {0};
    struct bytes out;
    log_set_level(LOG_DEBUG);
    ck_assert_uint_eq(lines_of(many_at_once, &tally), 1);
    log_set_level(LOG_INFO); /* the server logs it, with the client's address */
    ck_assert_uint_eq(lines_of(a_minute_later, &tally), 0);
    log_set_level(LOG_DEBUG);
    ck_assert_uint_eq(lines_of(two_minutes_later, &tally), 1);
    bytes_init(&out, 4096, NULL);
    auth_tally_explain(&tally, "x", &out);
    bytes_append(&out, "", 1);
    ck_assert_str_eq((const char *)out.data,
                     "x: 100 requests admitted, 102 refused, 100 told to retry\n");
    bytes_release(&out);
}
END_TEST

SUITE_MAIN("auth", a_refusal_is_for_good_and_too_much_work_is_not,
           refusals_are_counted_and_told_once_a_minute)
