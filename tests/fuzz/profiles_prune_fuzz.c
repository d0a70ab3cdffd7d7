/* Any profiles request that passes the check still passes when pruned, and pruning again changes
 * nothing. */
#include "lib/wire/profiles/otlp_profiles.h"
#include "lib/wire/profiles/profiles_prune.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool passes(struct view request)
{
    struct proto_fault fault;
    struct otlp_dictionary dictionary;
    struct arena arena;
    const char *reason;
    uint32_t items;
    arena_init(&arena, 1 << 22);
    bool good = otlp_check(SIGNAL_PROFILES, request, &items, &fault) &&
                otlp_dictionary_open(&dictionary, request, &arena, &reason);
    arena_release(&arena);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view request = {data, size};
    struct arena arena;
    struct splice splice, again;
    uint8_t *out = NULL;
    if (!passes(request))
        return 0;
    arena_init(&arena, 1 << 22);
    splice_begin(&splice, request, &arena);
    if (profiles_prune(request, &splice)) {
        struct view result = {out = malloc(splice_size(&splice) + 1), splice_size(&splice)};
        splice_write(&splice, out);
        splice_begin(&again, result, &arena);
        if (result.size > size || !passes(result) ||
            (profiles_prune(result, &again) && splice_any(&again)))
            abort();
    }
    free(out);
    arena_release(&arena);
    return 0;
}
