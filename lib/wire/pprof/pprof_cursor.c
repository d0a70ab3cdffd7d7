#include "lib/wire/pprof/pprof_cursor.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)
#define HALF_HIGH UINT64_C(0x80808080)

static size_t count_slowly(struct view numbers)
{
    const uint8_t *at = numbers.data, *end = at + numbers.size;
    uint64_t value;
    size_t count = 0;
    for (; at < end; count++)
        if (!(at = pprof_varint(at, end, &value)))
            return SIZE_MAX;
    return count;
}

/* Eight bytes at a time: each one without its high bit ends a number. Possible numbers of more than
 * nine bytes need a closer look; they cover half of a word, or most of the tail. */
size_t pprof_count_packed(struct view numbers)
{
    size_t count = 0, at = 0, open = 0;
    for (; numbers.size - at >= 8; at += 8) {
        uint64_t high;
        memcpy(&high, numbers.data + at, sizeof high);
        high &= HIGH_BITS;
        if ((high & UINT32_MAX) == HALF_HIGH || high >> 32 == HALF_HIGH)
            return count_slowly(numbers);
        count += 8 - (size_t)((high >> 7) * UINT64_C(0x0101010101010101) >> 56);
    }
    for (; at < numbers.size; at++)
        open += numbers.data[at] >> 7;
    count += numbers.size % 8 - open;
    if (open > 3)
        return count_slowly(numbers);
    return numbers.size && numbers.data[numbers.size - 1] >> 7 ? SIZE_MAX : count;
}
