/* A compressed body: both gzip engines give the same result, no other coding breaks, and compressed
 * output can be decompressed. libdeflate accepts some faults in a block's header if the content has
 * the right checksum, so the engines need not refuse the same bytes. */
#include "lib/wire/codec/gzip.h"
#include "lib/wire/codec/inflate_final.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CEILING = 1 << 18 };

/* A body that fits is never reported as too large, whatever it declares. */
static void tell(enum encoding_name encoding, struct view input, enum inflate_result result)
{
    if (inflate_final(encoding, input, CEILING, NULL, INFLATE_NO_MEMORY) != INFLATE_NO_MEMORY &&
        result == INFLATE_OK)
        abort();
}

static void round_trip(enum encoding_name encoding, struct view input)
{
    struct bytes packed, out;
    bytes_init(&packed, SIZE_MAX, NULL);
    bytes_init(&out, input.size, NULL);
    if (!deflate_append(encoding, input, &packed) ||
        inflate_append(encoding, bytes_view(&packed), &out) != INFLATE_OK ||
        !view_eq(bytes_view(&out), input))
        abort();
    bytes_release(&packed);
    bytes_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view input = {data, size};
    struct bytes one, two;
    bytes_init(&one, CEILING, NULL);
    bytes_init(&two, CEILING, NULL);
    enum inflate_result a = gzip_inflate(GZIP_ISAL, input, &one);
    enum inflate_result b = gzip_inflate(GZIP_LIBDEFLATE, input, &two);
    if (a == INFLATE_OK && b != INFLATE_OK)
        abort();
    if (a == INFLATE_OK && !view_eq(bytes_view(&one), bytes_view(&two)))
        abort();
    if ((a != INFLATE_OK && one.size) || (b != INFLATE_OK && two.size))
        abort();
    tell(ENCODING_GZIP, input, a);
    for (int encoding = ENCODING_ZSTD; encoding < ENCODING_UNKNOWN; encoding++) {
        bytes_clear(&one);
        enum inflate_result c = inflate_append((enum encoding_name)encoding, input, &one);
        if (c != INFLATE_OK && one.size)
            abort();
        tell((enum encoding_name)encoding, input, c);
    }
    bytes_release(&one);
    bytes_release(&two);
    for (int encoding = ENCODING_GZIP; encoding < ENCODING_UNKNOWN; encoding++)
        round_trip((enum encoding_name)encoding, input);
    return 0;
}
