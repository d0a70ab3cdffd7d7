/* A note of correlation: what is read must survive being written and read again. */
#include "processors/correlation/known/notes.h"

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
    struct notes notes, again;
    struct bytes note;
    arena_init(&arena, 1 << 22);
    bytes_init(&note, 1 << 22, NULL);
    if (notes_read((struct view){data, size}, &arena, &notes)) {
        if (!notes_write(&notes, &note) || !notes_read(bytes_view(&note), &arena, &again) ||
            notes.since != again.since || notes.arrived != again.arrived ||
            ids_of(notes.uploads) != ids_of(again.uploads))
            abort();
    }
    bytes_release(&note);
    arena_release(&arena);
    return 0;
}
