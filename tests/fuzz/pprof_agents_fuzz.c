/* Any bytes as a pprof of an old agent: a repaired profile needs no further repair, and a valid
 * profile stays valid when its functions are renamed. */
#include "lib/wire/pprof/pprof_agents.h"

#include <stdlib.h>

enum { CAP = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void name(struct view raw, enum pprof_naming naming)
{
    struct arena arena;
    struct pprof pprof, named;
    struct proto_fault fault;
    struct splice splice;
    arena_init(&arena, CAP);
    if (pprof_open(&pprof, raw, &arena, &fault)) {
        splice_begin(&splice, raw, &arena);
        pprof_name_files(&pprof, naming, &splice);
        if (!splice.failed && splice_any(&splice)) {
            size_t size = splice_size(&splice);
            uint8_t *out = malloc(size);
            if (!out)
                abort();
            splice_write(&splice, out);
            if (!pprof_open(&named, (struct view){out, size}, &arena, &fault) ||
                named.sample_count != pprof.sample_count)
                abort();
            free(out);
        }
    }
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes raw;
    bool changed;
    bytes_init(&raw, CAP, NULL);
    if (bytes_append_view(&raw, (struct view){data, size}) != BYTES_OK)
        abort();
    name(bytes_view(&raw), PPROF_NAMES_OF_FILES);
    name(bytes_view(&raw), PPROF_NAMES_OF_RELATIVE_FILES);
    if (pprof_repair_dotnet(&raw, &changed) && changed) {
        struct proto_scan scan = proto_scan_begin(bytes_view(&raw));
        struct proto_field field;
        while (proto_scan_next(&scan, &field))
            continue;
        (void)pprof_repair_dotnet(&raw, &changed);
    }
    bytes_release(&raw);
    return 0;
}
