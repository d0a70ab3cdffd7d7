/* Opens labels and looks up all their entries; what opens also passes proto_check. */
#include "lib/wire/jfr/jfr_labels.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct jfr_labels *labels)
{
    for (size_t i = 0; i < labels->strings.count; i++)
        if (!jfr_labels_string(labels, (uint64_t)labels->strings.entries[i].key).data)
            abort();
    for (size_t i = 0; i < labels->contexts.count && i < 16; i++)
        jfr_labels_of_context(labels, (uint64_t)labels->contexts.entries[i].key,
                              labels->strings.count ? labels->strings.entries[0].value : VIEW(""));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct jfr_labels labels;
    struct proto_fault fault = {0};
    struct view raw = {data, size};
    arena_init(&arena, 1 << 20);
    if (jfr_labels_open(&labels, raw, &arena, &fault)) {
        if (!proto_check(&shape_jfr_labels, raw, &fault))
            abort();
        look_up(&labels);
    } else if (!fault.message || !fault.reason || fault.offset > size) {
        abort();
    }
    arena_release(&arena);
    return 0;
}
