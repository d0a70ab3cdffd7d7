#include "receivers/kafka/commit_metadata.h"

#include "lib/wire/http/base64.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "spanlink 1 "

/* The bits whose Base64 fits behind the prefix and a time. */
enum { BITS_SIZE = (COMMIT_METADATA_SIZE - 48) / 4 * 3 };

/* Returns the number of bytes used. */
static size_t commit_metadata_bits(const struct offsets *offsets, uint8_t bits[BITS_SIZE])
{
    int64_t base = offsets_to_commit(offsets);
    size_t used = 0;
    for (uint64_t n = offsets->first; n < offsets->next; n++) {
        const struct offset_entry *entry = &offsets->ring[n & (offsets->capacity - 1)];
        uint64_t bit = (uint64_t)(entry->offset - base);
        if (bit / 8 >= BITS_SIZE)
            break;
        if (offset_entry_settled(entry)) {
            bits[bit / 8] |= (uint8_t)(1u << bit % 8);
            used = bit / 8 + 1;
        }
    }
    return used;
}

void commit_metadata_write(const struct offsets *offsets, int64_t time_ms,
                           char out[COMMIT_METADATA_SIZE])
{
    uint8_t bits[BITS_SIZE] = {0};
    size_t used = commit_metadata_bits(offsets, bits);
    int64_t oldest = offsets_oldest_ms(offsets);
    size_t at = (size_t)snprintf(out, COMMIT_METADATA_SIZE, PREFIX "%" PRId64 " ",
                                 oldest >= 0 ? oldest : time_ms);
    struct bytes text;
    bytes_init(&text, COMMIT_METADATA_SIZE, NULL);
    if (used && base64_encode((struct view){bits, used}, &text) &&
        at + text.size < COMMIT_METADATA_SIZE) {
        memcpy(out + at, text.data, text.size);
        out[at + text.size] = '\0';
    }
    bytes_release(&text);
}

bool commit_metadata_read(struct commit_metadata *metadata, int64_t offset, const char *text,
                          size_t size)
{
    struct bytes bits;
    *metadata = (struct commit_metadata){.base = offset, .time_ms = -1};
    if (size >= COMMIT_METADATA_SIZE || size < sizeof PREFIX - 1 ||
        memcmp(text, PREFIX, sizeof PREFIX - 1) != 0)
        return true;
    char copy[COMMIT_METADATA_SIZE], *end;
    memcpy(copy, text, size);
    copy[size] = '\0';
    int64_t time_ms = strtoll(copy + sizeof PREFIX - 1, &end, 10);
    if (end == copy + sizeof PREFIX - 1 || *end != ' ')
        return true;
    metadata->time_ms = time_ms;
    bytes_init(&bits, COMMIT_METADATA_SIZE, NULL);
    if (base64_decode(view_of(end + 1), &bits) == BASE64_OK && bits.size) {
        metadata->bits = malloc(bits.size);
        if (metadata->bits)
            memcpy(metadata->bits, bits.data, bits.size);
        metadata->size = metadata->bits ? bits.size : 0;
    }
    bool failed = bits.size && !metadata->bits;
    bytes_release(&bits);
    return !failed;
}

void commit_metadata_release(struct commit_metadata *metadata)
{
    free(metadata->bits);
    metadata->bits = NULL;
    metadata->size = 0;
}

bool commit_metadata_has(const struct commit_metadata *metadata, int64_t offset)
{
    uint64_t bit = (uint64_t)(offset - metadata->base);
    return offset >= metadata->base && bit / 8 < metadata->size &&
           metadata->bits[bit / 8] >> bit % 8 & 1;
}
