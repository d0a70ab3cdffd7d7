/* A note of correlation: what is read of it is written again as a note that reads the same. */
#include "processors/correlation/notes.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t ids_of(const struct upload *uploads)
{
    size_t count = 0;
    for (; uploads; uploads = uploads->next)
        count += uploads->count + 1;
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct upload *uploads, *again;
    struct bytes note;
    uint64_t since, since_again;
    arena_init(&arena, 1 << 22);
    bytes_init(&note, 1 << 22, NULL);
    if (notes_read((struct view){data, size}, &arena, &uploads, &since)) {
        if (!notes_write(uploads, since, &note) ||
            !notes_read(bytes_view(&note), &arena, &again, &since_again) || since != since_again ||
            ids_of(uploads) != ids_of(again))
            abort();
    }
    bytes_release(&note);
    arena_release(&arena);
    return 0;
}
