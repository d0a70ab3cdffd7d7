#include "lib/wire/pprof/pprof.h"

#include "lib/wire/pprof/pprof_cursor.h"
#include "lib/wire/pprof/pprof_fields.h"

struct view pprof_string(const struct pprof *pprof, uint64_t index)
{
    return index < pprof->string_count ? pprof_string_at(pprof, index) : VIEW("");
}

/* Appends the values of a field, packed or not. pprof_open has checked that they fit. */
static void read_values(const struct proto_field *field, struct pprof_sample *sample)
{
    if (field->type == WIRE_VARINT) {
        if (sample->value_count < PPROF_MAX_TYPES)
            sample->values[sample->value_count++] = (int64_t)field->value;
        return;
    }
    const uint8_t *at = field->bytes.data;
    uint64_t value;
    while (at < field->end && sample->value_count < PPROF_MAX_TYPES &&
           (at = pprof_varint(at, field->end, &value)))
        sample->values[sample->value_count++] = (int64_t)value;
}

/* Reads the string indices of a label's key and value. */
static void read_indices(struct view label, uint64_t *key, uint64_t *str)
{
    if (pprof_plain_label(label.data, label.data + label.size, key, str))
        return;
    struct proto_scan scan = proto_scan_begin(label);
    struct proto_field field;
    *key = *str = 0;
    while (pprof_next(&scan, &field)) {
        if (field.number == LABEL_KEY)
            *key = field.value;
        else if (field.number == LABEL_STR)
            *str = field.value;
    }
}

/* Records a label with the sample's span or trace; the first of each kind wins, and span_id takes
 * precedence over profile_id. */
static void pprof_read_label(const struct pprof *pprof, struct view label,
                             struct pprof_sample *sample, bool *by_name)
{
    uint64_t key = 0, str = 0;
    read_indices(label, &key, &str);
    if (str == 0)
        return;
    switch ((enum pprof_key)pprof->keys[key]) {
    case PPROF_KEY_SPAN_ID:
        if (!*by_name)
            sample->span_id = pprof_string(pprof, str);
        *by_name = true;
        break;
    case PPROF_KEY_PROFILE_ID:
        if (!sample->span_id.data)
            sample->span_id = pprof_string(pprof, str);
        break;
    case PPROF_KEY_TRACE_ID:
        if (!sample->trace_id.data)
            sample->trace_id = pprof_string(pprof, str);
        break;
    case PPROF_KEY_OTHER:
    case PPROF_KEY_SPAN:
    case PPROF_KEY_SPAN_NAME:
        break;
    }
}

static void pprof_read_sample(const struct pprof *pprof, struct pprof_sample *sample)
{
    const unsigned ids =
        1u << PPROF_KEY_SPAN_ID | 1u << PPROF_KEY_PROFILE_ID | 1u << PPROF_KEY_TRACE_ID;
    bool has_ids = pprof->keys_seen & ids, by_name = false;
    struct proto_scan scan = proto_scan_begin(sample->field.bytes);
    struct proto_field field;
    while (pprof_next(&scan, &field)) {
        if (field.number == SAMPLE_VALUE)
            read_values(&field, sample);
        else if (field.number == SAMPLE_LABEL && has_ids)
            pprof_read_label(pprof, field.bytes, sample, &by_name);
    }
}

struct proto_scan pprof_samples(const struct pprof *pprof)
{
    const struct pprof_fields *samples = &pprof->fields[PROFILE_SAMPLE];
    return (struct proto_scan){samples->from, samples->to, false};
}

bool pprof_next_sample(const struct pprof *pprof, struct proto_scan *scan,
                       struct pprof_sample *sample)
{
    struct proto_field field;
    while (pprof_next(scan, &field))
        if (field.number == PROFILE_SAMPLE) {
            sample->field = field;
            sample->value_count = 0;
            sample->span_id = sample->trace_id = (struct view){0};
            pprof_read_sample(pprof, sample);
            return true;
        }
    return false;
}
