#include "lib/wire/http/dns_answer.h"

#include "tests/support/suite.h"

/* An answer to _pprof._tcp.shop: an A record, and two SRV records whose hosts share "shop" by
 * pointers. */
static const uint8_t message[] =
    "\x12\x34\x81\x80\x00\x01\x00\x03\x00\x00\x00\x00"
    "\x06_pprof\x04_tcp\x04shop\x00\x00\x21\x00\x01"
    "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x7f\x00\x00\x01"
    "\xc0\x0c\x00\x21\x00\x01\x00\x00\x00\x3c\x00\x0a\x00\x01\x00\x02\x17\xac\x01"
    "a\xc0\x18"
    "\xc0\x0c\x00\x21\x00\x01\x00\x00\x00\x3c\x00\x07\x00\x05\x00\x06\x00\x50\x00";

static struct view whole(void)
{
    return (struct view){message, sizeof message - 1};
}

START_TEST(srv_records_are_read_and_others_passed_over)
{
    struct dns_answer answer = dns_answer_begin(whole());
    struct dns_srv srv;
    ck_assert(dns_answer_next(&answer, &srv));
    ck_assert_str_eq(srv.host, "a.shop");
    ck_assert_uint_eq(srv.port, 6060);
    ck_assert_uint_eq(srv.priority, 1);
    ck_assert_uint_eq(srv.weight, 2);
    ck_assert(dns_answer_next(&answer, &srv));
    ck_assert_str_eq(srv.host, "");
    ck_assert_uint_eq(srv.port, 80);
    ck_assert(!dns_answer_next(&answer, &srv));
    ck_assert(!answer.bad);
}
END_TEST

static bool is_good(struct view bytes)
{
    struct dns_answer answer = dns_answer_begin(bytes);
    struct dns_srv srv;
    while (dns_answer_next(&answer, &srv))
        ;
    return !answer.bad;
}

START_TEST(a_message_that_is_cut_off_is_bad)
{
    for (size_t size = 0; size < whole().size; size++) {
        uint8_t cut[sizeof message];
        memcpy(cut, message, size);
        ck_assert_msg(!is_good((struct view){cut, size}), "%zu bytes", size);
    }
    ck_assert(is_good(whole()));
}
END_TEST

static bool good_with(size_t at, const char *bytes, size_t size)
{
    uint8_t changed[sizeof message];
    memcpy(changed, message, sizeof message);
    memcpy(changed + at, bytes, size);
    return is_good((struct view){changed, sizeof message - 1});
}

/* Where the first SRV record's host begins. */
enum { HOST = 12 + 22 + 16 + 12 + 6 };

START_TEST(names_that_loop_or_hold_odd_bytes_are_bad)
{
    ck_assert(good_with(HOST, "\x01z", 2));
    ck_assert(!good_with(HOST, "\x01\n", 2));
    ck_assert(!good_with(HOST, "\x01/", 2));
    ck_assert(!good_with(HOST, "\x01.", 2));
    ck_assert(!good_with(HOST, "\x41", 1));
    ck_assert(!good_with(HOST + 2, (const char[]){(char)0xc0, HOST + 2}, 2));
    ck_assert(!good_with(HOST + 2, "\xff\xff", 2));
}
END_TEST

SUITE_MAIN("dns_answer", srv_records_are_read_and_others_passed_over,
           a_message_that_is_cut_off_is_bad, names_that_loop_or_hold_odd_bytes_are_bad)
