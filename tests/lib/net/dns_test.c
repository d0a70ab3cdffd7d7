#include "lib/net/dns.h"

#include "tests/support/suite.h"

/* Expects a lookup to succeed with these results, separated by ' '. */
static void expect(enum dns_type type, const char *name, unsigned port, const char *want)
{
    struct bytes places;
    char error[256] = "";
    bytes_init(&places, 4096, NULL);
    ck_assert_msg(dns_lookup(type, name, port, &places, error, sizeof error), "%s", error);
    for (size_t i = 0; i + 1 < places.size; i++)
        if (places.data[i] == '\0')
            places.data[i] = ' ';
    ck_assert_str_eq((const char *)places.data, want);
    bytes_release(&places);
}

START_TEST(addresses_get_the_port)
{
    expect(DNS_A, "localhost", 6060, "127.0.0.1:6060");
    expect(DNS_A, "127.0.0.2", 1, "127.0.0.2:1");
    expect(DNS_AAAA, "::1", 6060, "[::1]:6060");
}
END_TEST

START_TEST(what_cannot_be_looked_up_is_an_error_with_the_name)
{
    struct bytes places;
    char error[256] = "";
    bytes_init(&places, 4096, NULL);
    ck_assert(!dns_lookup(DNS_A, "no such name", 1, &places, error, sizeof error));
    ck_assert_msg(strstr(error, "no such name cannot be looked up: "), "%s", error);
    ck_assert_uint_eq(places.size, 0);
    bytes_release(&places);
}
END_TEST

START_TEST(too_many_places_are_an_error)
{
    struct bytes places;
    char error[256] = "";
    bytes_init(&places, 4, NULL);
    ck_assert(!dns_lookup(DNS_A, "localhost", 1, &places, error, sizeof error));
    ck_assert_str_eq(error, "out of memory");
    bytes_release(&places);
}
END_TEST

SUITE_MAIN("net/dns", addresses_get_the_port, what_cannot_be_looked_up_is_an_error_with_the_name,
           too_many_places_are_an_error)
