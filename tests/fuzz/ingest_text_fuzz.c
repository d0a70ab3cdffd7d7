/* Any text as folded stacks and as an application's name: a line reported as bad is in the text,
 * and is bad on its own too. */
#include "lib/wire/pprof/ingest_text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view text = {data, size}, type = ingest_text_unknown_type(text);
    size_t line = folded_bad_line(text);
    if (type.data && (type.data <= data || type.data + type.size != data + size))
        abort();
    const uint8_t *at = data, *end = data + size;
    for (size_t i = 1; i < line; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            abort();
        at++;
    }
    if (line && folded_bad_line(view_between(at, end)) != 1)
        abort();
    return 0;
}
