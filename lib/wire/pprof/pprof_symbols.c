#include "lib/wire/pprof/pprof_symbols.h"

#include "lib/wire/pprof/pprof_fields.h"

#include <stdlib.h>

enum { FUNCTION_NAME = 2 };

static uint64_t scalar(struct view message, uint32_t number)
{
    struct proto_field field;
    return proto_find(message, number, WIRE_VARINT, &field) ? field.value : 0;
}

/* The first Line of a location is the innermost frame. */
static uint64_t location_function(struct view location)
{
    struct proto_scan scan = proto_scan_begin(location);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (field.number == LOCATION_LINE && field.type == WIRE_LEN)
            return scalar(field.bytes, LINE_FUNCTION_ID);
    return 0;
}

static int pprof_symbols_by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct pprof_symbol *)a)->id, y = ((const struct pprof_symbol *)b)->id;
    return (x > y) - (x < y);
}

static uint64_t pprof_symbols_find(const struct pprof_symbol *table, size_t count, uint64_t id)
{
    struct pprof_symbol key = {.id = id};
    if (count == 0)
        return 0;
    const struct pprof_symbol *found = bsearch(&key, table, count, sizeof key, pprof_symbols_by_id);
    return found ? found->value : 0;
}

static size_t count_fields(struct view message, uint32_t number)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    size_t count = 0;
    while (proto_scan_next(&scan, &field))
        count += field.number == number;
    return count;
}

static void pprof_symbols_fill(struct pprof_symbols *symbols)
{
    struct proto_scan scan = proto_scan_begin(symbols->pprof->raw);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == PROFILE_LOCATION)
            symbols->locations[symbols->location_count++] = (struct pprof_symbol){
                scalar(field.bytes, TABLE_ID), location_function(field.bytes)};
        else if (field.number == PROFILE_FUNCTION)
            symbols->functions[symbols->function_count++] = (struct pprof_symbol){
                scalar(field.bytes, TABLE_ID), scalar(field.bytes, FUNCTION_NAME)};
    }
    qsort(symbols->locations, symbols->location_count, sizeof *symbols->locations,
          pprof_symbols_by_id);
    qsort(symbols->functions, symbols->function_count, sizeof *symbols->functions,
          pprof_symbols_by_id);
}

bool pprof_symbols_open(struct pprof_symbols *symbols, const struct pprof *pprof,
                        struct arena *arena)
{
    *symbols = (struct pprof_symbols){.pprof = pprof};
    symbols->locations = arena_array(arena, count_fields(pprof->raw, PROFILE_LOCATION) + 1,
                                     sizeof(struct pprof_symbol));
    symbols->functions = arena_array(arena, count_fields(pprof->raw, PROFILE_FUNCTION) + 1,
                                     sizeof(struct pprof_symbol));
    if (!symbols->locations || !symbols->functions)
        return false;
    pprof_symbols_fill(symbols);
    return true;
}

/* The first location_id, packed or not. */
static uint64_t first_location(struct view sample)
{
    struct proto_scan scan = proto_scan_begin(sample);
    struct proto_field field;
    uint64_t id = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != SAMPLE_LOCATION_ID)
            continue;
        if (field.type == WIRE_VARINT)
            return field.value;
        if (proto_varint(field.bytes.data, field.bytes.data + field.bytes.size, &id))
            return id;
    }
    return 0;
}

struct view pprof_symbols_leaf(const struct pprof_symbols *symbols,
                               const struct pprof_sample *sample)
{
    uint64_t location = first_location(sample->field.bytes);
    uint64_t function = pprof_symbols_find(symbols->locations, symbols->location_count, location);
    uint64_t name = pprof_symbols_find(symbols->functions, symbols->function_count, function);
    return pprof_string(symbols->pprof, name);
}
