#include "lib/wire/pprof/pprof_identity.h"

#include "lib/base/sort.h"
#include "lib/wire/pprof/pprof_cursor.h"
#include "lib/wire/pprof/pprof_fields.h"

#include <stdlib.h>

static uint64_t pprof_identity_mix(uint64_t sum, uint64_t value)
{
    sum ^= value + UINT64_C(0x9e3779b97f4a7c15) + (sum << 6) + (sum >> 2);
    sum *= UINT64_C(0xff51afd7ed558ccd);
    return sum ^ sum >> 32;
}

static uint64_t mix_text(uint64_t sum, struct view text)
{
    uint64_t word;
    sum = pprof_identity_mix(sum, text.size);
    for (; text.size >= sizeof word; text.size -= sizeof word, text.data += sizeof word) {
        memcpy(&word, text.data, sizeof word);
        sum = pprof_identity_mix(sum, word);
    }
    word = 0;
    if (text.size)
        memcpy(&word, text.data, text.size);
    return pprof_identity_mix(sum, word);
}

static int pprof_identity_by_id(const void *a, const void *b)
{
    const struct pprof_identified *left = a, *right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

/* Returns 1 for an id that is not in the table. */
static uint64_t pprof_identity_lookup(const struct pprof_identified *table, size_t count,
                                      uint64_t id)
{
    /* Nearly every writer numbers entries from 1. */
    if (id - 1 < count && table[id - 1].id == id)
        return table[id - 1].identity;
    const struct pprof_identified key = {.id = id};
    const struct pprof_identified *found =
        count ? bsearch(&key, table, count, sizeof *table, pprof_identity_by_id) : NULL;
    return found ? found->identity : 1;
}

/* Hashes a message's numbers, with strings instead of string indices. */
static uint64_t of_message(const struct pprof *pprof, struct view message, unsigned strings)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    uint64_t sum = 2;
    while (pprof_next(&scan, &field)) {
        if (field.number == TABLE_ID && !(strings & BIT(TABLE_ID)))
            continue;
        sum = pprof_identity_mix(sum, field.number);
        if (field.number < 32 && (strings & BIT(field.number)))
            sum = mix_text(sum, pprof_string(pprof, field.value));
        else
            sum = pprof_identity_mix(sum, field.value);
    }
    return sum;
}

static uint64_t of_line(const struct pprof_identity *identity, struct view line)
{
    struct proto_scan scan = proto_scan_begin(line);
    struct proto_field field;
    uint64_t sum = 3;
    while (pprof_next(&scan, &field)) {
        uint64_t value = field.value;
        if (field.number == LINE_FUNCTION_ID)
            value = pprof_identity_lookup(identity->functions, identity->function_count, value);
        sum = pprof_identity_mix(pprof_identity_mix(sum, field.number), value);
    }
    return sum;
}

static uint64_t of_location(const struct pprof_identity *identity, struct view location)
{
    struct proto_scan scan = proto_scan_begin(location);
    struct proto_field field;
    uint64_t sum = 4;
    while (pprof_next(&scan, &field)) {
        if (field.number == LOCATION_LINE)
            sum = pprof_identity_mix(sum, of_line(identity, field.bytes));
        else if (field.number != TABLE_ID && field.number != LOCATION_MAPPING_ID)
            sum = pprof_identity_mix(pprof_identity_mix(sum, field.number), field.value);
    }
    return sum;
}

static uint64_t pprof_identity_id_of(struct view message)
{
    struct proto_field id = {0};
    proto_find(message, TABLE_ID, WIRE_VARINT, &id);
    return id.value;
}

static void add_functions(struct pprof_identity *identity)
{
    struct proto_scan scan = proto_scan_begin(identity->pprof->raw);
    struct proto_field field;
    size_t count = 0;
    while (pprof_next(&scan, &field))
        if (field.number == PROFILE_FUNCTION)
            identity->functions[count++] = (struct pprof_identified){
                pprof_identity_id_of(field.bytes),
                of_message(identity->pprof, field.bytes, FUNCTION_STRINGS)};
    if (count)
        sort_rows(identity->functions, count, sizeof *identity->functions, pprof_identity_by_id);
}

static void add_locations(struct pprof_identity *identity)
{
    struct proto_scan scan = proto_scan_begin(identity->pprof->raw);
    struct proto_field field;
    size_t count = 0;
    while (pprof_next(&scan, &field))
        if (field.number == PROFILE_LOCATION)
            identity->locations[count++] = (struct pprof_identified){
                pprof_identity_id_of(field.bytes), of_location(identity, field.bytes)};
    if (count)
        sort_rows(identity->locations, count, sizeof *identity->locations, pprof_identity_by_id);
}

bool pprof_identity_open(struct pprof_identity *identity, const struct pprof *pprof,
                         struct arena *arena)
{
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct proto_field field;
    *identity = (struct pprof_identity){.pprof = pprof};
    while (pprof_next(&scan, &field)) {
        identity->function_count += field.number == PROFILE_FUNCTION;
        identity->location_count += field.number == PROFILE_LOCATION;
    }
    identity->functions =
        arena_array(arena, identity->function_count + 1, sizeof *identity->functions);
    identity->locations =
        arena_array(arena, identity->location_count + 1, sizeof *identity->locations);
    if (!identity->functions || !identity->locations)
        return false;
    add_functions(identity);
    add_locations(identity);
    return true;
}

static uint64_t mix_stack(const struct pprof_identity *identity, uint64_t sum,
                          const struct proto_field *ids)
{
    uint64_t id;
    if (ids->type == WIRE_VARINT)
        return pprof_identity_mix(
            sum, pprof_identity_lookup(identity->locations, identity->location_count, ids->value));
    const uint8_t *at = ids->bytes.data;
    while (at < ids->end && (at = pprof_varint(at, ids->end, &id)))
        sum = pprof_identity_mix(
            sum, pprof_identity_lookup(identity->locations, identity->location_count, id));
    return sum;
}

uint64_t pprof_identity_of(const struct pprof_identity *identity, const struct proto_field *sample)
{
    struct proto_scan scan = proto_scan_begin(sample->bytes);
    struct proto_field field;
    uint64_t stack = 5, labels = 0;
    while (pprof_next(&scan, &field)) {
        if (field.number == SAMPLE_LOCATION_ID)
            stack = mix_stack(identity, stack, &field);
        else if (field.number == SAMPLE_LABEL)
            labels += of_message(identity->pprof, field.bytes, LABEL_STRINGS);
    }
    return pprof_identity_mix(stack, labels);
}
