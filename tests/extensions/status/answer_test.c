#include "extensions/status/answer.h"

#include "extensions/status/value.h"
#include "lib/base/clock.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

START_TEST(parameters_are_those_of_the_list_once_each)
{
    char name[8], error[ANSWER_ERROR];
    const struct parameter list[] = {{"name", name, sizeof name}, {0}};
    ck_assert(answer_parameters("", list, error));
    ck_assert_str_eq(name, "");
    ck_assert(answer_parameters("name=a%20b", list, error));
    ck_assert_str_eq(name, "a b");
    ck_assert(!answer_parameters("name=a&other=b", list, error));
    ck_assert_str_eq(error, "unknown parameter \"other\": expected name");
    ck_assert(!answer_parameters("name=a&name=b", list, error));
    ck_assert_str_eq(error, "the parameter name is given twice, expected once");
    ck_assert(!answer_parameters("name=123456789", list, error));
    ck_assert_str_eq(error, "the parameter name is too long, expected up to 7 bytes");
}
END_TEST

START_TEST(durations_times_and_ids_are_read)
{
    uint64_t ns;
    uint8_t id[2];
    ck_assert(answer_duration("1.5s", &ns) && ns == 1500 * NS_PER_MS);
    ck_assert(answer_duration("10ms", &ns) && ns == 10 * NS_PER_MS);
    ck_assert(!answer_duration("7", &ns) && !answer_duration("1.2.3s", &ns) &&
              !answer_duration("0x10ms", &ns) && !answer_duration("1e3ms", &ns));
    ck_assert(!answer_duration("10 apples", &ns) && !answer_duration("-1s", &ns) &&
              !answer_duration("", &ns) && !answer_duration("9e30h", &ns) &&
              !answer_duration("nan", &ns));
    ck_assert(answer_time("-5m", 600 * NS_PER_S, &ns) && ns == 300 * NS_PER_S);
    ck_assert(answer_time("12", 0, &ns) && ns == 12);
    ck_assert(!answer_time("yesterday", 0, &ns) && !answer_time("12x", 0, &ns) &&
              !answer_time("99999999999999999999999", 0, &ns));
    ck_assert(answer_hex("0aFf", id, 2) && id[0] == 0x0a && id[1] == 0xff);
    ck_assert(!answer_hex("0aF", id, 2) && !answer_hex("0aFg", id, 2));
}
END_TEST

START_TEST(ranges_and_counts_are_read_strictly)
{
    char error[ANSWER_ERROR];
    uint64_t from = 0, to = 100;
    size_t count;
    ck_assert(answer_range("", "", 50, &from, &to, error) && from == 0 && to == 100);
    ck_assert(answer_range("5", "now", 50, &from, &to, error) && from == 5 && to == 50);
    ck_assert(answer_range("50", "50", 50, &from, &to, error));
    ck_assert(!answer_range("51", "50", 50, &from, &to, error));
    ck_assert_str_eq(error, "from: expected a time that is not after `to`");
    from = 0;
    ck_assert(!answer_range("", "5 minutes", 50, &from, &to, error));
    ck_assert_str_eq(error,
                     "to: expected unix nanoseconds, now, or a duration before now such as -5m");
    ck_assert(answer_count("10", 10, &count) && count == 10);
    ck_assert(!answer_count("11", 10, &count) && !answer_count("0", 10, &count) &&
              !answer_count("+5", 10, &count) && !answer_count(" 5", 10, &count) &&
              !answer_count("", 10, &count) &&
              !answer_count("99999999999999999999999", 10, &count));
}
END_TEST

static const char *written(struct bytes *out)
{
    bytes_append(out, "", 1);
    return (const char *)out->data;
}

START_TEST(values_of_attributes_keep_their_kind)
{
    struct bytes out;
    struct view message = PB_JOIN(
        pb_attribute(9, "text", "<\x01\xff\""),
        PB_MESSAGE(9, PB_TEXT(1, "whole"), PB_MESSAGE(2, pb_varint(3, (uint64_t)INT64_C(-7)))),
        PB_MESSAGE(9, PB_TEXT(1, "large"), PB_MESSAGE(2, pb_varint(3, UINT64_C(1) << 60))),
        PB_MESSAGE(9, PB_TEXT(1, "yes"), PB_MESSAGE(2, pb_varint(2, 1))),
        PB_MESSAGE(9, PB_TEXT(1, "half"),
                   PB_MESSAGE(2, pb_fixed64(4, UINT64_C(0x3fe0000000000000)))),
        PB_MESSAGE(9, PB_TEXT(1, "none")),
        PB_MESSAGE(9, PB_TEXT(1, "list"),
                   PB_MESSAGE(2, PB_MESSAGE(5, PB_MESSAGE(1, PB_TEXT(1, "a")),
                                            PB_MESSAGE(1, PB_TEXT(7, "b"))))));
    bytes_init(&out, 4096, NULL);
    struct json json = json_begin(&out);
    value_attributes(&json, NULL, message, 9);
    ck_assert(!json.failed);
    ck_assert_str_eq(written(&out), "{\"text\":\"<\\u0001\xef\xbf\xbd\\\"\",\"whole\":-7,"
                                    "\"large\":\"1152921504606846976\",\"yes\":true,"
                                    "\"half\":0.5,\"none\":null,\"list\":[\"a\",\"62\"]}");
    bytes_release(&out);
}
END_TEST

START_TEST(json_that_does_not_fit_has_failed)
{
    struct bytes out;
    bytes_init(&out, 16, NULL);
    struct json json = json_begin(&out);
    json_open(&json, NULL, '{');
    json_word(&json, "key", "a value that is too long");
    json_close(&json, '}');
    ck_assert(json.failed);
    bytes_release(&out);
}
END_TEST

SUITE_MAIN("status answer", parameters_are_those_of_the_list_once_each,
           durations_times_and_ids_are_read, ranges_and_counts_are_read_strictly,
           values_of_attributes_keep_their_kind, json_that_does_not_fit_has_failed)
