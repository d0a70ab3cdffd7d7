#include "lib/settings/duration.h"

#include "lib/base/clock.h"
#include "tests/lib/settings/given.h"

static uint64_t parsed(const char *text)
{
    uint64_t ns = 1;
    ck_assert_msg(duration_parse(text, &ns), "%s", text);
    return ns;
}

START_TEST(go_durations_are_read)
{
    ck_assert_uint_eq(parsed("300ms"), 300 * NS_PER_MS);
    ck_assert_uint_eq(parsed("5s"), 5 * NS_PER_S);
    ck_assert_uint_eq(parsed("1.5s"), 1500 * NS_PER_MS);
    ck_assert_uint_eq(parsed(".5s"), 500 * NS_PER_MS);
    ck_assert_uint_eq(parsed("1.s"), NS_PER_S);
    ck_assert_uint_eq(parsed("1m30s"), 90 * NS_PER_S);
    ck_assert_uint_eq(parsed("1h2m3s4ms5us6ns"), 3723004005006);
    ck_assert_uint_eq(parsed("2\xc2\xb5s"), 2000);
    ck_assert_uint_eq(parsed("2\xce\xbcs"), 2000);
    ck_assert_uint_eq(parsed("+1h"), 3600 * NS_PER_S);
    ck_assert_uint_eq(parsed("0"), 0);
    ck_assert_uint_eq(parsed("0s"), 0);
    ck_assert_uint_eq(parsed("0.3s"), 300 * NS_PER_MS);
}
END_TEST

START_TEST(what_is_no_duration_is_refused)
{
    static const char *const texts[] = {
        "",        "5",    "1.5", "-5s",   "s",           ".s",
        "5 s",     "5s ",  "5d",  "5S",    "1h-1m",       "0x5s",
        "5s3",     "auto", "+",   "1..5s", "9223372037s", "99999999999999999999s",
        "2562048h"};
    uint64_t ns;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(!duration_parse(texts[i], &ns), "%s", texts[i]);
}
END_TEST

START_TEST(the_shortest_form_is_read_back_as_the_same)
{
    static const char *const texts[] = {"0", "1ns", "300ms", "5s", "1m30s", "1h", "1h1ms", "2us"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[DURATION_TEXT];
        ck_assert_str_eq(duration_text(parsed(texts[i]), text), texts[i]);
    }
}
END_TEST

int main(void)
{
    return suite_run("duration", (const TTest *const[]){
                                     go_durations_are_read,
                                     what_is_no_duration_is_refused,
                                     the_shortest_form_is_read_back_as_the_same,
                                     NULL,
                                 });
}
