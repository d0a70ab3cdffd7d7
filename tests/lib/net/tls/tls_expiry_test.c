#include "lib/net/tls/tls_expiry.h"

#include "tests/support/suite.h"

static int64_t sum;
static unsigned seen;

static void visit(void *ctx, const struct tls_expiry *expiry)
{
    (void)ctx;
    sum += expiry->ends;
    seen++;
}

static void look(unsigned count, int64_t ends)
{
    seen = 0;
    sum = 0;
    tls_expiry_each(visit, NULL);
    ck_assert_uint_eq(seen, count);
    ck_assert_int_eq(sum, ends);
}

START_TEST(what_is_set_is_seen_until_it_is_forgotten)
{
    struct tls_expiry one = {.id = "a", .key = "tls", .source = "ca_file"},
                      two = {.id = "b", .key = "tls", .source = "ca_file"};
    look(0, 0);
    tls_expiry_forget(&one);
    tls_expiry_set(&one, 10);
    tls_expiry_set(&two, 200);
    look(2, 210);
    tls_expiry_set(&one, 11);
    look(2, 211);
    tls_expiry_forget(&one);
    look(1, 200);
    tls_expiry_forget(&one);
    tls_expiry_forget(&two);
    look(0, 0);
}
END_TEST

START_TEST(sources_of_the_same_name_are_seen_once)
{
    struct tls_expiry one = {.id = "a", .key = "tls", .source = "ca_file"}, two = one, three = one;
    three.source = "cert_file";
    tls_expiry_set(&one, 10);
    tls_expiry_set(&two, 20);
    look(1, 10);
    tls_expiry_set(&two, 5);
    look(1, 5);
    tls_expiry_set(&three, 100);
    look(2, 105);
    tls_expiry_forget(&two);
    look(2, 110);
    tls_expiry_forget(&one);
    tls_expiry_forget(&three);
}
END_TEST

SUITE_MAIN("tls expiry", sources_of_the_same_name_are_seen_once,
           what_is_set_is_seen_until_it_is_forgotten)
