/* The first byte splits the rest into two consecutive profiles of one target. The growth is a valid
 * profile, and a profile has not grown since itself. */
#include "lib/wire/pprof/pprof_delta.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool all_zero(const struct pprof *pprof)
{
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct pprof_sample sample;
    while (pprof_next_sample(pprof, &scan, &sample))
        for (size_t i = 0; i < sample.value_count; i++)
            if (sample.values[i] && !view_starts(pprof->types[i].type, VIEW("inuse_")))
                return false;
    return true;
}

static void take(struct pprof_delta *delta, struct view raw, bool nothing_new)
{
    struct arena arena;
    struct pprof pprof, grown;
    struct proto_fault fault;
    struct bytes out;
    arena_init(&arena, 1 << 26);
    bytes_init(&out, 1 << 22, NULL);
    if (pprof_open(&pprof, raw, &arena, &fault) &&
        pprof_delta_next(delta, &pprof, &arena, &out) == PPROF_DELTA_OK) {
        if (!pprof_open(&grown, bytes_view(&out), &arena, &fault) || grown.sample_count == 0 ||
            grown.sample_count > pprof.sample_count)
            abort();
        if (nothing_new && !all_zero(&grown))
            abort();
    }
    bytes_release(&out);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pprof_delta delta;
    if (size < 2)
        return 0;
    size_t half = (size - 1) * data[0] / 255;
    struct view first = {data + 1, half}, second = {data + 1 + half, size - 1 - half};
    pprof_delta_init(&delta, 1 << 22, NULL);
    take(&delta, first, true);
    take(&delta, second, false);
    take(&delta, second, true);
    pprof_delta_release(&delta);
    return 0;
}
