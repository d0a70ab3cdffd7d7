#include "lib/settings/scalar.h"

#include "tests/lib/settings/given.h"

START_TEST(plain_scalars_have_the_type_that_yaml_gives_them)
{
    static const struct {
        const char *text;
        enum scalar_type type;
    } cases[] = {
        {"", SCALAR_NULL},
        {"~", SCALAR_NULL},
        {"null", SCALAR_NULL},
        {"nULL", SCALAR_STRING},
        {"true", SCALAR_BOOL},
        {"False", SCALAR_BOOL},
        {"yes", SCALAR_STRING},
        {"on", SCALAR_STRING},
        {"12", SCALAR_INT},
        {"-1_000", SCALAR_INT},
        {"0x1F", SCALAR_INT},
        {"0o17", SCALAR_INT},
        {"0b11", SCALAR_INT},
        {"1.5", SCALAR_FLOAT},
        {"1e3", SCALAR_FLOAT},
        {".5", SCALAR_FLOAT},
        {".nan", SCALAR_FLOAT},
        {"-.Inf", SCALAR_FLOAT},
        {"-.nan", SCALAR_STRING},
        {".iNF", SCALAR_STRING},
        {"1.2.3", SCALAR_STRING},
        {"5s", SCALAR_STRING},
        {"localhost:1", SCALAR_STRING},
        {"0x", SCALAR_STRING},
        {"-", SCALAR_STRING},
        {".", SCALAR_STRING},
        {"inf", SCALAR_STRING},
        {"0xg", SCALAR_STRING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(scalar_type(cases[i].text) == cases[i].type, "%s", cases[i].text);
}
END_TEST

START_TEST(whole_numbers_have_bases)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"0", 0},
                 {"12", 12},
                 {"+12", 12},
                 {"-12", -12},
                 {"1_000", 1000},
                 {"0x1f", 31},
                 {"0o17", 15},
                 {"0b101", 5},
                 {"017", 15},
                 {"-0x10", -16},
                 {"9223372036854775807", INT64_MAX},
                 {"-9223372036854775808", INT64_MIN},
                 {"-0x8000000000000000", INT64_MIN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value;
        ck_assert(scalar_int(cases[i].text, &value));
        ck_assert_int_eq(value, cases[i].value);
    }
}
END_TEST

START_TEST(numbers_out_of_reach_are_refused)
{
    int64_t n;
    double number;
    ck_assert(!scalar_int("9223372036854775808", &n));
    ck_assert(!scalar_int("-9223372036854775809", &n));
    ck_assert(!scalar_int("1.5", &n));
    ck_assert(!scalar_int("09", &n));
    ck_assert(!scalar_number("1e999", &number));
    ck_assert(!scalar_number("nan", &number));
    ck_assert(scalar_number("-2.5e-1", &number));
    ck_assert_double_eq(number, -0.25);
}
END_TEST

int main(void)
{
    return suite_run("scalar", (const TTest *const[]){
                                   plain_scalars_have_the_type_that_yaml_gives_them,
                                   whole_numbers_have_bases,
                                   numbers_out_of_reach_are_refused,
                                   NULL,
                               });
}
