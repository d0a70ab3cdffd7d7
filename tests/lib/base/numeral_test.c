#include "lib/base/numeral.h"

#include "tests/support/suite.h"

#include <math.h>

START_TEST(numbers_are_read_as_go_reads_them)
{
    static const struct {
        const char *text;
        double number;
    } cases[] = {{"1.5e3", 1500},   {"+.5", 0.5},     {"1_000.2_5", 1000.25},
                 {"0x1Fp0", 31},    {"0X_1p-1", 0.5}, {"-Infinity", -INFINITY},
                 {"inf", INFINITY}, {"1e-400", 0},    {"5.", 5}};
    double number;
    int64_t integer;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(numeral_double(view_of(cases[i].text), &number) && number == cases[i].number,
                      "%s", cases[i].text);
    ck_assert(numeral_double(VIEW("nAn"), &number) && isnan(number));
    ck_assert(numeral_int(VIEW("-9223372036854775808"), &integer) && integer == INT64_MIN);
    ck_assert(numeral_int(VIEW("+007"), &integer) && integer == 7);
}
END_TEST

START_TEST(what_only_c_takes_is_no_number)
{
    static const char *const texts[] = {"",      " 1", "1 ", "0x1F", "nan(1)", "+nan",
                                        "1__0",  "_1", "1_", "1_.5", "1e999",  "e5",
                                        "0x_p1", "-",  ".",  "1.5f"};
    double number;
    int64_t integer;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(!numeral_double(view_of(texts[i]), &number), "%s", texts[i]);
    ck_assert(!numeral_double(VIEW("1\0"), &number));
    ck_assert(!numeral_int(VIEW("9223372036854775808"), &integer));
    ck_assert(!numeral_int(VIEW("1_0"), &integer));
    ck_assert(!numeral_int(VIEW("\t1"), &integer));
}
END_TEST

SUITE_MAIN("numeral", numbers_are_read_as_go_reads_them, what_only_c_takes_is_no_number)
