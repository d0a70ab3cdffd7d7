#include "lib/wire/pprof/pprof_labels.h"

#include "lib/wire/pprof/pprof_cursor.h"
#include "lib/wire/pprof/pprof_fields.h"

/* Keys on one sample; servers accept a hundred labels. */
enum { MAX_KEYS = 128 };

static bool stays_on_sample(enum pprof_key key)
{
    return key == PPROF_KEY_SPAN_ID || key == PPROF_KEY_PROFILE_ID || key == PPROF_KEY_TRACE_ID;
}

/* The string index of a label's key if its value is a string, else 0. */
static uint64_t string_label_key(struct view label)
{
    struct proto_scan scan = proto_scan_begin(label);
    struct proto_field field;
    uint64_t key = 0, value = 0;
    if (pprof_plain_label(label.data, scan.end, &key, &value))
        return value ? key : 0;
    key = value = 0;
    while (pprof_next(&scan, &field)) {
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
    while (count < MAX_KEYS && pprof_next(&scan, &field)) {
        if (field.number != SAMPLE_LABEL)
            continue;
        uint64_t index = string_label_key(field.bytes);
        if (index == 0 || index >= pprof->string_count ||
            stays_on_sample((enum pprof_key)pprof->keys[index]))
            continue;
        struct view key = pprof_string_at(pprof, index);
        if (!series_get(series, key).data && !is_among(keys, count, key))
            keys[count++] = key;
    }
    return count;
}

/* The keys of the previous sample's labels, in order. */
struct sequence {
    uint64_t keys[MAX_KEYS];
    size_t count;
};

/* Whether a sample has the same keys; if not, stores them. Only MAX_KEYS are stored: a sample with
 * more is never the same. */
static bool same_keys(struct view sample, struct sequence *before)
{
    struct proto_scan scan = proto_scan_begin(sample);
    struct proto_field field;
    bool same = true;
    size_t count = 0;
    while (pprof_next(&scan, &field)) {
        if (field.number != SAMPLE_LABEL)
            continue;
        if (count == MAX_KEYS)
            return before->count = 0, false;
        uint64_t key = string_label_key(field.bytes);
        same = same && count < before->count && before->keys[count] == key;
        before->keys[count++] = key;
    }
    same = same && count == before->count;
    before->count = count;
    return same;
}

size_t pprof_promoted_labels(const struct pprof *pprof, const struct series *series)
{
    struct proto_scan scan = pprof_samples(pprof);
    struct proto_field field;
    struct sequence before = {.count = 0};
    size_t most = 0;
    while (pprof_next(&scan, &field)) {
        /* Most samples have the same labels as the previous one. */
        if (field.number != PROFILE_SAMPLE || same_keys(field.bytes, &before))
            continue;
        size_t count = count_keys(pprof, field.bytes, series);
        most = count > most ? count : most;
    }
    return most;
}
