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
    struct tls_expiry one = {.id = "a"}, two = {.id = "b"};
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

SUITE_MAIN("tls expiry", what_is_set_is_seen_until_it_is_forgotten)
