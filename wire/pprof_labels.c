#include "wire/pprof_labels.h"

#include "wire/pprof_fields.h"

static bool stays_on_sample(enum pprof_key key)
{
    return key == PPROF_KEY_SPAN_ID || key == PPROF_KEY_PROFILE_ID || key == PPROF_KEY_TRACE_ID;
}

/* The string index of a label's key where its value is a string; 0: it is not. */
static uint64_t string_label_key(struct view label)
{
    struct proto_scan scan = proto_scan_begin(label);
    struct proto_field field;
    uint64_t key = 0, value = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == LABEL_KEY)
            key = field.value;
        else if (field.number == LABEL_STR)
            value = field.value;
    }
    return value ? key : 0;
}

static void mark_keys(const struct pprof *pprof, struct view sample, uint8_t *seen)
{
    struct proto_scan scan = proto_scan_begin(sample);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != SAMPLE_LABEL)
            continue;
        uint64_t key = string_label_key(field.bytes);
        if (key < pprof->string_count && !stays_on_sample((enum pprof_key)pprof->keys[key]))
            seen[key] = 1;
    }
}

size_t pprof_promoted_labels(const struct pprof *pprof, struct arena *arena)
{
    uint8_t *seen = arena_alloc(arena, pprof->string_count);
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct pprof_sample sample;
    size_t count = 0;
    if (!seen)
        return SIZE_MAX;
    while (pprof_next_sample(pprof, &scan, &sample))
        mark_keys(pprof, sample.field.bytes, seen);
    for (size_t i = 1; i < pprof->string_count; i++)
        count += seen[i];
    return count;
}
