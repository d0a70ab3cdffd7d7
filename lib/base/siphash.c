#include "lib/base/siphash.h"

#include <endian.h>
#include <sys/random.h>
#include <time.h>

struct siphash_key siphash_key_new(void)
{
    struct siphash_key key;
    struct timespec now = {0};
    if (getrandom(&key, sizeof key, GRND_NONBLOCK) == sizeof key)
        return key;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (struct siphash_key){{(uint64_t)now.tv_nsec, (uint64_t)(uintptr_t)&key}};
}

static inline uint64_t rotated(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void mix(uint64_t v[4], unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[1] = rotated(v[1], 13) ^ v[0];
        v[0] = rotated(v[0], 32);
        v[2] += v[3];
        v[3] = rotated(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotated(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotated(v[1], 17) ^ v[2];
        v[2] = rotated(v[2], 32);
    }
}

static inline void add_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v, 2);
    v[0] ^= word;
}

struct siphash_sum siphash(const struct siphash_key *key, uint64_t first, struct view bytes)
{
    const uint64_t size = bytes.size + sizeof first;
    uint64_t v[4] = {
        key->halves[0] ^ UINT64_C(0x736f6d6570736575),
        key->halves[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
        key->halves[0] ^ UINT64_C(0x6c7967656e657261),
        key->halves[1] ^ UINT64_C(0x7465646279746573),
    };
    uint64_t word;
    struct siphash_sum sum;
    add_word(v, first);
    for (; bytes.size >= sizeof word; bytes.data += sizeof word, bytes.size -= sizeof word) {
        memcpy(&word, bytes.data, sizeof word);
        add_word(v, le64toh(word));
    }
    word = size << 56;
    for (size_t i = 0; i < bytes.size; i++)
        word |= (uint64_t)bytes.data[i] << 8 * i;
    add_word(v, word);
    v[2] ^= 0xee;
    mix(v, 4);
    sum.halves[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    mix(v, 4);
    sum.halves[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
    return sum;
}
