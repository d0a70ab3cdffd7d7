/* The first two bytes are the limits, the rest a profile: its parts are profiles, and together have
 * its samples. */
#include "lib/wire/pprof/pprof_split.h"
#include "tests/support/frame_count.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct totals {
    size_t samples, frames;
    uint64_t values;
};

static void add(const struct pprof *pprof, struct totals *totals)
{
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct pprof_sample sample;
    while (pprof_next_sample(pprof, &scan, &sample)) {
        totals->samples++;
        totals->frames += frame_count(&sample);
        for (size_t i = 0; i < sample.value_count; i++)
            totals->values += (uint64_t)sample.values[i] * (i + 1);
    }
}

static void split_all(const struct pprof *pprof, size_t max_samples, size_t max_bytes,
                      struct arena *arena)
{
    struct pprof_split split;
    struct totals want = {0}, got = {0};
    const char *reason = NULL;
    struct bytes out;
    if (!pprof_split_begin(&split, pprof, max_samples, max_bytes, arena))
        return;
    bytes_init(&out, 1 << 22, NULL);
    while (pprof_split_next(&split, &out, &reason)) {
        struct arena own;
        struct pprof part;
        struct proto_fault fault;
        arena_init(&own, 1 << 26);
        if (!pprof_open(&part, bytes_view(&out), &own, &fault) || part.sample_count == 0)
            abort();
        if (max_samples && part.sample_count > max_samples)
            abort();
        if (max_bytes && part.sample_count > 1 && out.size > max_bytes)
            abort();
        add(&part, &got);
        arena_release(&own);
    }
    add(pprof, &want);
    if (!reason &&
        (want.samples != got.samples || want.frames != got.frames || want.values != got.values))
        abort();
    bytes_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    if (size < 2)
        return 0;
    arena_init(&arena, 1 << 24);
    if (pprof_open(&pprof, (struct view){data + 2, size - 2}, &arena, &fault))
        split_all(&pprof, data[0], (size_t)data[1] * 32, &arena);
    arena_release(&arena);
    return 0;
}
