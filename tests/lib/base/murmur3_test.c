#include "lib/base/murmur3.h"

#include "tests/support/suite.h"

/* Sums that other implementations publish as test vectors. */
START_TEST(sums_are_those_of_others)
{
    uint64_t halves[2];
    ck_assert_uint_eq(murmur3_32(VIEW("")), 0);
    ck_assert_uint_eq(murmur3_32(VIEW("hello")), 0x248bfa47);
    ck_assert_uint_eq(murmur3_32(VIEW("hello, world")), 0x149bbb7f);
    murmur3_128(VIEW("hello"), halves);
    ck_assert_uint_eq(halves[0], 0xcbd8a7b341bd9b02);
    ck_assert_uint_eq(halves[1], 0x5b1e906a48ae1d19);
    murmur3_128(VIEW("The quick brown fox jumps over the lazy dog."), halves);
    ck_assert_uint_eq(halves[0], 0xcd99481f9ee902c9);
    ck_assert_uint_eq(halves[1], 0x695da1a38987b6e7);
}
END_TEST

SUITE_MAIN("murmur3", sums_are_those_of_others)
