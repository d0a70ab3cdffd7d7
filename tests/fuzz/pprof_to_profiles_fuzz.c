/* A profile becomes a request that passes otlp_check, and converting back gives the same sums of
 * values. */
#include "lib/wire/profiles/pprof_to_profiles.h"
#include "lib/wire/profiles/profiles_to_pprof.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add(const struct pprof *pprof, uint64_t *sums)
{
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct pprof_sample sample;
    while (pprof_next_sample(pprof, &scan, &sample))
        for (size_t i = 0; i < sample.value_count; i++)
            sums[i] += (uint64_t)sample.values[i];
}

/* Whether the values come back unchanged: samples with a CPU period come back as CPU time. */
static bool keeps_values(const struct pprof *pprof)
{
    return pprof->period == 0 || !view_eq(pprof->period_type.type, VIEW("cpu"));
}

static void convert_back(const struct pprof *pprof, struct view request, struct arena *arena)
{
    struct profiles_to_pprof conversion;
    const struct profiles_policy policy = {.trace_ids = true};
    struct profiles_part part;
    const char *reason;
    uint64_t want[PPROF_MAX_TYPES] = {0}, got[PPROF_MAX_TYPES] = {0};
    struct bytes raw;
    add(pprof, want);
    bytes_init(&raw, 1 << 24, NULL);
    if (!profiles_to_pprof_begin(&conversion, request, &policy, arena, &reason)) {
        if (strcmp(reason, "too large") != 0)
            abort();
        return;
    }
    while (profiles_to_pprof_next(&conversion, &part, &raw, &reason)) {
        struct arena own;
        struct pprof back;
        struct proto_fault fault;
        arena_init(&own, 1 << 26);
        if (!pprof_open(&back, bytes_view(&raw), &own, &fault))
            abort();
        add(&back, &got[part.profile]);
        arena_release(&own);
        series_unref(part.series);
    }
    for (size_t i = 0; !reason && keeps_values(pprof) && i < pprof->type_count; i++)
        if (want[i] != got[i])
            abort();
    bytes_release(&raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct series_label label = {VIEW("service_name"), VIEW("ride")};
    struct series *series = series_new(&label, 1);
    struct proto_fault fault;
    struct pprof pprof;
    struct arena arena;
    struct bytes out;
    const char *reason;
    arena_init(&arena, 1 << 24);
    bytes_init(&out, 1 << 24, NULL);
    if (pprof_open(&pprof, (struct view){data, size}, &arena, &fault)) {
        struct pprof_source source = {&pprof, series, false};
        uint32_t items;
        if (!pprof_to_profiles(&source, &arena, &out, &reason)) {
            if (!reason || out.size)
                abort();
        } else if (!otlp_check(SIGNAL_PROFILES, bytes_view(&out), &items, &fault) ||
                   items != pprof.type_count) {
            abort();
        } else {
            convert_back(&pprof, bytes_view(&out), &arena);
        }
    }
    series_unref(series);
    arena_release(&arena);
    bytes_release(&out);
    return 0;
}
