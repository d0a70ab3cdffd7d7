#include "lib/net/h2/h2_output.h"

#include <assert.h>
#include <stdlib.h>

/* Of a frame whose runs are alternately just long enough to borrow and copied. */
enum { RUNS_OF_FRAME = 2 * (H2_FRAME / H2_OUTPUT_SHORT + 1) };

bool h2_output_begin(struct h2_output *output, bool copies_all)
{
    *output = (struct h2_output){.copied = malloc(H2_OUTPUT), .copies_all = copies_all};
    return output->copied;
}

void h2_output_end(struct h2_output *output)
{
    free(output->copied);
    output->copied = NULL;
    output->copied_size = output->first = output->count = output->size = 0;
}

bool h2_output_has_room(const struct h2_output *output)
{
    return output->size + (size_t)2 * H2_FRAME <= H2_OUTPUT &&
           output->count + (size_t)2 * RUNS_OF_FRAME <= H2_OUTPUT_RUNS;
}

static void add_run(struct h2_output *output, struct view run)
{
    struct view *last = output->count ? &output->runs[output->count - 1] : NULL;
    output->size += run.size;
    if (last && last->data + last->size == run.data) {
        last->size += run.size;
        return;
    }
    assert(output->count < H2_OUTPUT_RUNS);
    output->runs[output->count++] = run;
}

void h2_output_copy(struct h2_output *output, struct view bytes)
{
    uint8_t *to = output->copied + output->copied_size;
    if (bytes.size == 0)
        return;
    assert(bytes.size <= H2_OUTPUT - output->copied_size);
    memcpy(to, bytes.data, bytes.size);
    output->copied_size += bytes.size;
    add_run(output, (struct view){to, bytes.size});
}

void h2_output_borrow(struct h2_output *output, struct view bytes)
{
    if (output->copies_all || bytes.size < H2_OUTPUT_SHORT)
        h2_output_copy(output, bytes);
    else
        add_run(output, bytes);
}

void h2_output_sent(struct h2_output *output, size_t n)
{
    while (n > 0) {
        struct view *run = &output->runs[output->first];
        size_t part = n < run->size ? n : run->size;
        *run = (struct view){run->data + part, run->size - part};
        output->first += run->size == 0;
        n -= part;
    }
    if (output->first == output->count)
        output->copied_size = output->first = output->count = output->size = 0;
}

bool h2_output_keep(struct h2_output *output)
{
    struct h2_output kept;
    if (output->count == 0 || output->copies_all)
        return true;
    bool ok = h2_output_begin(&kept, true);
    for (size_t i = output->first; ok && i < output->count; i++)
        h2_output_copy(&kept, output->runs[i]);
    kept.copies_all = false;
    h2_output_end(output);
    *output = kept;
    return ok;
}
