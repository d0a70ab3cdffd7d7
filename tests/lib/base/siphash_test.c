#include "lib/base/siphash.h"

#include "tests/support/suite.h"

static const struct siphash_key ascending = {
    {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};

/* What OpenSSL has for the bytes 0, 1 ... and the key 0, 1 ... 15. */
START_TEST(sums_are_those_of_others)
{
    static const struct {
        size_t size;
        uint64_t halves[2];
    } rows[] = {
        {8, {UINT64_C(0x61f55862baa9623b), UINT64_C(0xb49714f364e2830f)}},
        {15, {UINT64_C(0x11a8b03399e99354), UINT64_C(0xd9c3cf970fec087e)}},
        {16, {UINT64_C(0xbb54b067caa4e26e), UINT64_C(0x77052385bf1533fd)}},
        {24, {UINT64_C(0xd850bd78ae79b42d), UINT64_C(0xad32618a178a2a88)}},
        {31, {UINT64_C(0xfcfa233218b03929), UINT64_C(0x353dc4524fde2317)}},
    };
    uint8_t bytes[32];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct siphash_sum want = {{rows[i].halves[0], rows[i].halves[1]}};
        struct siphash_sum sum = siphash(&ascending, UINT64_C(0x0706050403020100),
                                         (struct view){bytes + 8, rows[i].size - 8});
        ck_assert_msg(siphash_eq(sum, want), "%zu bytes", rows[i].size);
    }
}
END_TEST

START_TEST(sums_of_a_set_are_added_in_any_order)
{
    struct siphash_key key = siphash_key_new();
    struct siphash_sum a = siphash(&key, 0, VIEW("a")), b = siphash(&key, 0, VIEW("b"));
    ck_assert(!siphash_eq(a, b));
    ck_assert(siphash_eq(siphash_plus(a, b), siphash_plus(b, a)));
    ck_assert(siphash_eq(siphash_minus(siphash_plus(a, b), a), b));
}
END_TEST

SUITE_MAIN("siphash", sums_are_those_of_others, sums_of_a_set_are_added_in_any_order)
