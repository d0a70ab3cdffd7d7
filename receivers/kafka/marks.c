#include "receivers/kafka/marks.h"

#include "lib/wire/http/base64.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "spanlink 1 "

/* The bits whose Base64 fits behind the prefix and a time. */
enum { BITS_SIZE = (MARKS_TEXT - 48) / 4 * 3 };

/* Returns the number of bytes used. */
static size_t marks_bits(const struct ledger *ledger, uint8_t bits[BITS_SIZE])
{
    int64_t base = ledger_commit(ledger);
    size_t used = 0;
    for (uint64_t n = ledger->first; n < ledger->next; n++) {
        const struct ledger_entry *entry = &ledger->ring[n & (ledger->capacity - 1)];
        uint64_t bit = (uint64_t)(entry->offset - base);
        if (bit / 8 >= BITS_SIZE)
            break;
        if (entry->settled) {
            bits[bit / 8] |= (uint8_t)(1u << bit % 8);
            used = bit / 8 + 1;
        }
    }
    return used;
}

void marks_write(const struct ledger *ledger, int64_t time_ms, char out[MARKS_TEXT])
{
    uint8_t bits[BITS_SIZE] = {0};
    size_t used = marks_bits(ledger, bits);
    int64_t oldest = ledger_oldest_ms(ledger);
    size_t at =
        (size_t)snprintf(out, MARKS_TEXT, PREFIX "%" PRId64 " ", oldest >= 0 ? oldest : time_ms);
    struct bytes text;
    bytes_init(&text, MARKS_TEXT, NULL);
    if (used && base64_encode((struct view){bits, used}, &text) && at + text.size < MARKS_TEXT) {
        memcpy(out + at, text.data, text.size);
        out[at + text.size] = '\0';
    }
    bytes_release(&text);
}

bool marks_read(struct marks *marks, int64_t offset, const char *text, size_t size)
{
    struct bytes bits;
    *marks = (struct marks){.base = offset, .time_ms = -1};
    if (size >= MARKS_TEXT || size < sizeof PREFIX - 1 ||
        memcmp(text, PREFIX, sizeof PREFIX - 1) != 0)
        return true;
    char copy[MARKS_TEXT], *end;
    memcpy(copy, text, size);
    copy[size] = '\0';
    int64_t time_ms = strtoll(copy + sizeof PREFIX - 1, &end, 10);
    if (end == copy + sizeof PREFIX - 1 || *end != ' ')
        return true;
    marks->time_ms = time_ms;
    bytes_init(&bits, MARKS_TEXT, NULL);
    if (base64_decode(view_of(end + 1), &bits) == BASE64_OK && bits.size) {
        marks->bits = malloc(bits.size);
        if (marks->bits)
            memcpy(marks->bits, bits.data, bits.size);
        marks->size = marks->bits ? bits.size : 0;
    }
    bool failed = bits.size && !marks->bits;
    bytes_release(&bits);
    return !failed;
}

void marks_release(struct marks *marks)
{
    free(marks->bits);
    marks->bits = NULL;
    marks->size = 0;
}

bool marks_has(const struct marks *marks, int64_t offset)
{
    uint64_t bit = (uint64_t)(offset - marks->base);
    return offset >= marks->base && bit / 8 < marks->size && marks->bits[bit / 8] >> bit % 8 & 1;
}
