/* Opens, reads and rewrites a profile; the result is a profile with the same samples. What is
 * accepted also passes proto_check. */
#include "tests/support/frame_count.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t walk(const struct pprof *pprof, int64_t *sum)
{
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct pprof_sample sample;
    size_t count = 0;
    while (pprof_next_sample(pprof, &scan, &sample)) {
        if (sample.value_count != pprof->type_count)
            abort();
        for (size_t i = 0; i < sample.value_count; i++)
            *sum = (int64_t)((uint64_t)*sum + (uint64_t)sample.values[i] + frame_count(&sample));
        count++;
    }
    if (count != pprof->sample_count)
        abort();
    return count;
}

static void rewrite(const struct pprof *pprof, bool strip, struct arena *arena)
{
    struct pprof_rewrite how = {.strip_trace_id = strip, .drop_time = strip};
    struct splice splice;
    splice_begin(&splice, pprof->raw, arena);
    pprof_rewrite_labels(pprof, &how, &splice);
    pprof_set_time(pprof, 1, &splice);
    if (splice.failed)
        return;
    size_t size = splice_size(&splice);
    uint8_t *out = malloc(size + 1);
    struct pprof again;
    struct proto_fault fault;
    int64_t before = 0, after = 0;
    if (!out)
        return;
    splice_write(&splice, out);
    if (pprof_open(&again, (struct view){out, size}, arena, &fault)) {
        if (walk(pprof, &before) != walk(&again, &after) || before != after ||
            again.time_nanos != 1)
            abort();
    } else if (strcmp(fault.reason, "too large") != 0) {
        abort();
    }
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault = {0}, other;
    struct view raw = {data, size};
    arena_init(&arena, 1 << 22);
    if (pprof_open(&pprof, raw, &arena, &fault)) {
        if (!proto_check(&shape_pprof, raw, &other))
            abort();
        rewrite(&pprof, false, &arena);
        rewrite(&pprof, true, &arena);
        pprof_series_name(&pprof, (struct view){0}, &arena);
    } else if (!fault.reason || !fault.message || fault.offset > size) {
        abort();
    }
    arena_release(&arena);
    return 0;
}
