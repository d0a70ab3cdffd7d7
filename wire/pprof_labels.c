#include "wire/pprof_labels.h"

#include "wire/pprof_fields.h"

/* The keys met on one sample; servers take a hundred labels on one. */
enum { MAX_KEYS = 128 };

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

static bool is_among(const struct view *keys, size_t count, struct view key)
{
    for (size_t i = 0; i < count; i++)
        if (view_eq(keys[i], key))
            return true;
    return false;
}

static size_t count_keys(const struct pprof *pprof, struct view sample, const struct series *series)
{
    struct view keys[MAX_KEYS];
    struct proto_scan scan = proto_scan_begin(sample);
    struct proto_field field;
    size_t count = 0;
    while (count < MAX_KEYS && proto_scan_next(&scan, &field)) {
        if (field.number != SAMPLE_LABEL)
            continue;
        uint64_t index = string_label_key(field.bytes);
        if (index == 0 || index >= pprof->string_count ||
            stays_on_sample((enum pprof_key)pprof->keys[index]))
            continue;
        struct view key = pprof->strings[index];
        if (!series_get(series, key).data && !is_among(keys, count, key))
            keys[count++] = key;
    }
    return count;
}

size_t pprof_promoted_labels(const struct pprof *pprof, const struct series *series)
{
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct pprof_sample sample;
    size_t most = 0;
    while (pprof_next_sample(pprof, &scan, &sample)) {
        size_t count = count_keys(pprof, sample.field.bytes, series);
        most = count > most ? count : most;
    }
    return most;
}
