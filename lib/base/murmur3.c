#include "lib/base/murmur3.h"

static uint32_t rotate32(uint32_t word, unsigned by)
{
    return word << by | word >> (32 - by);
}

static uint64_t rotate64(uint64_t word, unsigned by)
{
    return word << by | word >> (64 - by);
}

/* Up to eight bytes, the least significant first. */
static uint64_t word_at(const uint8_t *bytes, size_t count)
{
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

uint32_t murmur3_32(struct view bytes)
{
    uint32_t hash = 0;
    for (size_t at = 0; at < bytes.size; at += 4) {
        size_t left = bytes.size - at;
        uint32_t word = (uint32_t)word_at(bytes.data + at, left < 4 ? left : 4);
        hash ^= rotate32(word * 0xcc9e2d51, 15) * 0x1b873593;
        if (left >= 4)
            hash = rotate32(hash, 13) * 5 + 0xe6546b64;
    }
    hash ^= (uint32_t)bytes.size;
    hash = (hash ^ hash >> 16) * 0x85ebca6b;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35;
    return hash ^ hash >> 16;
}

static const uint64_t factor[] = {0x87c37b91114253d5, 0x4cf5ad432745937f};

static uint64_t mixed(uint64_t word, unsigned half)
{
    return rotate64(word * factor[half], half ? 33 : 31) * factor[1 - half];
}

static uint64_t finished(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
    return hash ^ hash >> 33;
}

void murmur3_128(struct view bytes, uint64_t halves[2])
{
    uint64_t one = 0, two = 0;
    size_t at = 0;
    for (; bytes.size - at >= 16; at += 16) {
        one = rotate64(one ^ mixed(word_at(bytes.data + at, 8), 0), 27) + two;
        one = one * 5 + 0x52dce729;
        two = rotate64(two ^ mixed(word_at(bytes.data + at + 8, 8), 1), 31) + one;
        two = two * 5 + 0x38495ab5;
    }
    size_t left = bytes.size - at;
    if (left > 8)
        two ^= mixed(word_at(bytes.data + at + 8, left - 8), 1);
    if (left)
        one ^= mixed(word_at(bytes.data + at, left < 8 ? left : 8), 0);
    one ^= bytes.size;
    two ^= bytes.size;
    one += two;
    two += one;
    one = finished(one);
    two = finished(two);
    halves[0] = one + two;
    halves[1] = two + halves[0];
}
