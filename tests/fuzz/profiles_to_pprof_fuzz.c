/* The first byte is the policy, the rest a request. If it passes the check, every pprof made from
 * it is valid, and together they have all samples of the request that have a value. */
#include "lib/wire/pprof/pprof.h"
#include "lib/wire/profiles/profiles_to_pprof.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pprof(const struct profiles_part *part, const struct bytes *raw)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    arena_init(&arena, 1 << 26);
    if (!pprof_open(&pprof, bytes_view(raw), &arena, &fault) ||
        pprof.sample_count != part->samples || part->samples == 0)
        abort();
    if (!series_get(part->series, VIEW("__name__")).size ||
        !series_get(part->series, VIEW("service_name")).size)
        abort();
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct profiles_to_pprof conversion;
    struct profiles_part part;
    struct proto_fault fault;
    struct arena arena;
    struct bytes out;
    const char *reason;
    uint32_t items, last = 0;
    if (size == 0 ||
        !otlp_check(SIGNAL_PROFILES, (struct view){data + 1, size - 1}, &items, &fault))
        return 0;
    const struct profiles_policy policy = {.trace_ids = data[0] & 1, .now_ns = data[0] & 2};
    arena_init(&arena, data[0] & 4 ? 1 << 14 : 1 << 24);
    bytes_init(&out, data[0] & 8 ? 1 << 8 : 1 << 22, NULL);
    if (profiles_to_pprof_begin(&conversion, (struct view){data + 1, size - 1}, &policy, &arena,
                                &reason))
        for (;;) {
            bool made = profiles_to_pprof_next(&conversion, &part, &out, &reason);
            if (!made && (out.size || part.series))
                abort();
            if (!made && !reason)
                break;
            if (part.profile < last || part.profile >= items)
                abort();
            last = part.profile;
            if (!made)
                continue;
            check_pprof(&part, &out);
            series_unref(part.series);
        }
    else if (!reason)
        abort();
    arena_release(&arena);
    bytes_release(&out);
    return 0;
}
