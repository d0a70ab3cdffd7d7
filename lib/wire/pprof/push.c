#include "lib/wire/pprof/push.h"

#include <stdlib.h>

enum { MAX_LABELS = 1000 };
enum { REQUEST_SERIES = 1, SERIES_LABELS = 1, SERIES_SAMPLES = 2 };
enum { LABEL_NAME = 1, LABEL_VALUE = 2, SAMPLE_RAW_PROFILE = 1 };

void push_walk_begin(struct push_walk *walk, struct view request)
{
    *walk = (struct push_walk){.request = proto_scan_begin(request)};
}

static bool next_field(struct proto_scan *scan, uint32_t number, struct proto_field *field)
{
    while (proto_scan_next(scan, field))
        if (field->number == number)
            return true;
    return false;
}

bool push_walk_next(struct push_walk *walk, struct push_profile *profile)
{
    struct proto_field sample, raw;
    while (!next_field(&walk->series, SERIES_SAMPLES, &sample)) {
        if (!next_field(&walk->request, REQUEST_SERIES, &walk->entry))
            return false;
        walk->series = proto_scan_begin(walk->entry.bytes);
    }
    bool has_raw = proto_find(sample.bytes, SAMPLE_RAW_PROFILE, WIRE_LEN, &raw);
    profile->series = walk->entry.bytes;
    profile->raw_profile = has_raw ? raw.bytes : VIEW("");
    return true;
}

static struct view text_of(struct view message, uint32_t number)
{
    struct proto_field field;
    return proto_find(message, number, WIRE_LEN, &field) ? field.bytes : VIEW("");
}

size_t push_series_count(struct view series)
{
    struct proto_scan scan = proto_scan_begin(series);
    struct proto_field field;
    size_t count = 0;
    while (count < MAX_LABELS && next_field(&scan, SERIES_LABELS, &field))
        count++;
    return count;
}

struct series *push_series_labels(struct view series)
{
    struct proto_scan scan = proto_scan_begin(series);
    struct proto_field field;
    size_t count = push_series_count(series), at = 0;
    struct series_label *labels = calloc(count + 1, sizeof *labels);
    if (!labels)
        return NULL;
    while (at < count && next_field(&scan, SERIES_LABELS, &field))
        labels[at++] = (struct series_label){text_of(field.bytes, LABEL_NAME),
                                             text_of(field.bytes, LABEL_VALUE)};
    struct series *copy = series_new(labels, count);
    free(labels);
    return copy;
}

static size_t label_size(const struct series_label *label)
{
    return proto_len_size(LABEL_NAME, label->name.size) +
           proto_len_size(LABEL_VALUE, label->value.size);
}

static uint8_t *push_put_text(uint8_t *out, uint32_t number, struct view text)
{
    return proto_bytes_put(proto_len_put(out, number, text.size), text);
}

bool push_encode(const struct series *series, struct view raw_profile, struct bytes *out)
{
    size_t sample = proto_len_size(SAMPLE_RAW_PROFILE, raw_profile.size);
    size_t entry = proto_len_size(SERIES_SAMPLES, sample);
    for (size_t i = 0; i < series->count; i++)
        entry += proto_len_size(SERIES_LABELS, label_size(&series->labels[i]));
    size_t size = proto_len_size(REQUEST_SERIES, entry);
    if (bytes_reserve(out, size) != BYTES_OK)
        return false;
    uint8_t *at = proto_len_put(out->data + out->size, REQUEST_SERIES, entry);
    for (size_t i = 0; i < series->count; i++) {
        const struct series_label *label = &series->labels[i];
        at = proto_len_put(at, SERIES_LABELS, label_size(label));
        at = push_put_text(at, LABEL_NAME, label->name);
        at = push_put_text(at, LABEL_VALUE, label->value);
    }
    push_put_text(proto_len_put(at, SERIES_SAMPLES, sample), SAMPLE_RAW_PROFILE, raw_profile);
    out->size += size;
    return true;
}
