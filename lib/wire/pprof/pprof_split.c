#include "lib/wire/pprof/pprof_split.h"

#include "lib/wire/pprof/pprof_cursor.h"
#include "lib/wire/pprof/pprof_fields.h"
#include "lib/wire/pprof/pprof_tables.h"

#include <assert.h>

/* Room for a message's tag and length before its content, while the length is unknown: enough for
 * short messages, which most are. A longer header moves the content. */
enum { HEAD_ROOM = 2, LONGEST_HEAD = 16 };

/* Limit on the total size of all parts, including overlap, as a multiple of the profile's size.
 * Real profiles need a few times their size. */
enum { MAX_GROWTH = 256, FREE_WORK = 1 << 20 };

bool pprof_split_fits(const struct pprof *pprof, size_t max_samples, size_t max_bytes)
{
    return (max_samples == 0 || pprof->sample_count <= max_samples) &&
           (max_bytes == 0 || pprof->raw.size <= max_bytes);
}

/* Keeps the tables unchanged in every part if they make up at most a third of a part: samples can
 * then be copied as they are. */
static void keep_small_tables(struct pprof_split *split)
{
    const struct pprof *pprof = split->pprof;
    size_t part = split->max_bytes;
    if (pprof_split_fits(pprof, split->max_samples, split->max_bytes))
        return;
    if (pprof->sample_count > split->max_samples) {
        size_t by_samples = pprof->raw.size / pprof->sample_count * split->max_samples;
        part = by_samples < part ? by_samples : part;
    }
    pprof_tables_keep(split->tables, part / 3);
}

bool pprof_split_begin(struct pprof_split *split, const struct pprof *pprof, size_t max_samples,
                       size_t max_bytes, struct arena *arena)
{
    *split = (struct pprof_split){
        .pprof = pprof,
        .max_samples = max_samples ? max_samples : SIZE_MAX,
        .max_bytes = max_bytes ? max_bytes : SIZE_MAX,
        .at = pprof_samples(pprof),
        .tables = arena_alloc(arena, sizeof *split->tables),
    };
    if (!split->tables || !pprof_tables_open(split->tables, pprof, arena))
        return false;
    keep_small_tables(split);
    return true;
}

static bool next_sample(struct proto_scan *scan, struct proto_field *sample)
{
    while (pprof_next(scan, sample))
        if (sample->number == PROFILE_SAMPLE)
            return true;
    return false;
}

/* Chooses the samples of the next part; returns their number. *size is an upper bound on the part's
 * size. */
static size_t pprof_split_choose(struct pprof_split *split, size_t *size)
{
    struct pprof_tables *tables = split->tables;
    struct proto_field sample;
    size_t count = 0;
    /* After the fixed fields, the time. */
    *size = tables->fixed_size + 1 + 10;
    tables->first = tables->next;
    tables->last = tables->next - 1;
    while (count < split->max_samples) {
        struct proto_scan before = split->at;
        if (!next_sample(&split->at, &sample))
            break;
        size_t more = pprof_tables_mark(tables, &sample);
        if (count > 0 && (*size > split->max_bytes || more > split->max_bytes - *size)) {
            split->at = before;
            break;
        }
        *size += more;
        count++;
        tables->last = tables->next - 1;
    }
    return count;
}

/* Writes tag and length before a message whose content begins at out + HEAD_ROOM. */
static uint8_t *close_message(uint8_t *out, uint32_t number, const uint8_t *end)
{
    uint8_t *content = out + HEAD_ROOM, head[LONGEST_HEAD];
    size_t size = (size_t)(end - content);
    size_t length = (size_t)(proto_len_put(head, number, size) - head);
    if (length != HEAD_ROOM)
        memmove(out + length, content, size);
    memcpy(out, head, length);
    return out + length + size;
}

static uint8_t *put_field(uint8_t *out, const struct proto_field *field)
{
    return proto_bytes_put(out, view_between(field->start, field->end));
}

static uint8_t *put_index(const struct pprof_tables *tables, uint8_t *out, uint32_t number,
                          uint64_t index)
{
    out = proto_varint_put(out, proto_tag(number, WIRE_VARINT));
    return proto_varint_put(out, tables->string_ranks[index]);
}

/* Writes a message with its string indices (the fields in bits) renumbered. */
static uint8_t *put_message(const struct pprof_tables *tables, uint8_t *out, uint32_t number,
                            struct view message, unsigned bits)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    uint8_t *at = out + HEAD_ROOM;
    while (pprof_next(&scan, &field))
        at = field.number < 32 && (bits & BIT(field.number))
                 ? put_index(tables, at, field.number, field.value)
                 : put_field(at, &field);
    return close_message(out, number, at);
}

static uint8_t *pprof_split_put_label(const struct pprof_tables *tables, uint8_t *out,
                                      const struct proto_field *label)
{
    uint64_t key = 0, str = 0;
    if (!pprof_plain_label(label->bytes.data, label->end, &key, &str))
        return put_message(tables, out, SAMPLE_LABEL, label->bytes, LABEL_STRINGS);
    /* Two tags and ranks of up to five bytes each: the length takes one byte. */
    uint8_t *end = put_index(tables, out + 2, LABEL_KEY, key);
    end = put_index(tables, end, LABEL_STR, str);
    out[0] = PLAIN_TAG(SAMPLE_LABEL, WIRE_LEN);
    out[1] = (uint8_t)(end - out - 2);
    return end;
}

static uint8_t *put_sample(const struct pprof_tables *tables, uint8_t *out,
                           const struct proto_field *sample)
{
    struct proto_scan scan = proto_scan_begin(sample->bytes);
    struct proto_field field;
    uint8_t *at = out + HEAD_ROOM;
    while (pprof_next(&scan, &field))
        at = field.number == SAMPLE_LABEL ? pprof_split_put_label(tables, at, &field)
                                          : put_field(at, &field);
    return close_message(out, PROFILE_SAMPLE, at);
}

/* Writes the samples from `scan` to the split's position. */
static uint8_t *put_samples(const struct pprof_split *split, uint8_t *out, struct proto_scan scan)
{
    const struct pprof_tables *tables = split->tables;
    struct proto_field sample;
    if (tables->kept && split->pprof->fields[PROFILE_SAMPLE].runs == 1)
        return proto_bytes_put(out, view_between(scan.at, split->at.at));
    while (scan.at < split->at.at && next_sample(&scan, &sample))
        out = tables->kept ? put_field(out, &sample) : put_sample(tables, out, &sample);
    return out;
}

/* Writes a top-level field of string indices, packed or not. */
static uint8_t *put_strings(const struct pprof_tables *tables, uint8_t *out,
                            const struct proto_field *field)
{
    const uint8_t *from = field->bytes.data;
    uint8_t *at = out + HEAD_ROOM;
    uint64_t index;
    if (field->type == WIRE_VARINT)
        return put_index(tables, out, field->number, field->value);
    while (from < field->end && (from = pprof_varint(from, field->end, &index)))
        at = proto_varint_put(at, tables->string_ranks[index]);
    return close_message(out, field->number, at);
}

/* Writes everything except samples and tables. */
static uint8_t *put_fixed(const struct pprof_split *split, uint8_t *out)
{
    const struct pprof_tables *tables = split->tables;
    for (size_t i = 0; i < tables->fixed_count; i++) {
        const struct proto_field *field = &tables->fixed[i];
        if (field->number == PROFILE_SAMPLE_TYPE || field->number == PROFILE_PERIOD_TYPE)
            out = put_message(tables, out, field->number, field->bytes, VALUE_TYPE_STRINGS);
        else if (field->number < 32 && (PROFILE_STRINGS & BIT(field->number)))
            out = put_strings(tables, out, field);
        else if (field->number != PROFILE_TIME_NANOS)
            out = put_field(out, field);
    }
    if (split->pprof->time_nanos == 0)
        return out;
    out = proto_varint_put(out, proto_tag(PROFILE_TIME_NANOS, WIRE_VARINT));
    return proto_varint_put(out, (uint64_t)split->pprof->time_nanos + split->first);
}

static uint8_t *put_tables(struct pprof_tables *tables, uint8_t *out)
{
    static const unsigned strings[TABLE_KINDS] = {
        [TABLE_MAPPING] = MAPPING_STRINGS,
        [TABLE_LOCATION] = 0,
        [TABLE_FUNCTION] = FUNCTION_STRINGS,
    };
    for (unsigned kind = 0; kind < TABLE_KINDS; kind++)
        for (size_t i = 0; i < tables->of[kind].count; i++) {
            const struct pprof_entry *entry = &tables->of[kind].entries[i];
            if (tables->kept || pprof_tables_used(tables, tables->of[kind].marks[i]))
                out = put_message(tables, out, pprof_table_fields[kind],
                                  pprof_tables_content(tables, entry), strings[kind]);
        }
    for (size_t i = 0; i < tables->pprof->string_count; i++) {
        bool used = pprof_tables_used(tables, tables->string_marks[i]);
        struct view string = used ? pprof_string_at(tables->pprof, i) : VIEW("");
        if (used || tables->kept)
            out = proto_bytes_put(proto_len_put(out, PROFILE_STRING_TABLE, string.size), string);
    }
    return out;
}

/* Adds the cost of this part; false: the limit is exceeded. */
static bool charge(struct pprof_split *split, size_t size)
{
    struct pprof_tables *tables = split->tables;
    tables->work += size + tables->pprof->string_count + tables->fixed_count;
    for (unsigned kind = 0; kind < TABLE_KINDS; kind++)
        tables->work += tables->of[kind].count;
    return tables->work / MAX_GROWTH <= split->pprof->raw.size + FREE_WORK / MAX_GROWTH;
}

void pprof_split_pass(struct pprof_split *split, size_t samples)
{
    struct proto_field sample;
    while (split->samples < samples && next_sample(&split->at, &sample))
        split->samples++;
}

bool pprof_split_next(struct pprof_split *split, struct bytes *out, const char **fault)
{
    struct pprof_tables *tables = split->tables;
    struct proto_scan from = split->at;
    size_t size, count;
    *fault = NULL;
    bytes_clear(out);
    count = pprof_split_choose(split, &size);
    if (count == 0)
        return false;
    split->first = split->samples;
    if (tables->fixed_size >= split->max_bytes || !charge(split, size))
        *fault = "each part would repeat too much of the profile";
    else if (bytes_reserve(out, size + (size_t)3 * LONGEST_HEAD) != BYTES_OK)
        *fault = "a part has no room";
    if (*fault)
        return false;
    pprof_tables_rank(tables);
    uint8_t *at = put_fixed(split, out->data);
    at = put_samples(split, at, from);
    at = put_tables(tables, at);
    out->size = (size_t)(at - out->data);
    assert(out->size <= size);
    split->part++;
    split->samples += count;
    return true;
}
