#include "lib/wire/pprof/pprof_stacks.h"

#include "lib/base/sort.h"
#include "lib/wire/pprof/pprof_cursor.h"
#include "lib/wire/pprof/pprof_fields.h"

#include <stdio.h>
#include <stdlib.h>

enum { FUNCTION_NAME = 2, LOCATION_ADDRESS = 3, MAPPING_FILENAME = 5 };
/* Of a file's name; most file systems allow 255 bytes. */
enum { LONGEST_FILE = 255, ADDRESS_SIZE = sizeof "!0x0123456789abcdef" };

static int pprof_stacks_by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Where nearly every writer numbers from 1, the id is the place. */
static const void *pprof_stacks_find(const void *table, size_t count, size_t size, uint64_t id)
{
    const uint8_t *rows = table;
    if (id - 1 < count && *(const uint64_t *)(const void *)(rows + (id - 1) * size) == id)
        return rows + (id - 1) * size;
    return count ? bsearch(&id, rows, count, size, pprof_stacks_by_id) : NULL;
}

static struct proto_scan scan_of(const struct pprof_fields *fields)
{
    return (struct proto_scan){fields->from, fields->to, false};
}

/* A string index; an index outside the table is of no string. */
static uint32_t pprof_stacks_string(const struct pprof_stacks *stacks, uint64_t index)
{
    return index < stacks->pprof->string_count ? (uint32_t)index : 0;
}

static void read_function(struct pprof_stacks *stacks, struct view body)
{
    struct pprof_stack_function *function = &stacks->functions[stacks->function_count++];
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    *function = (struct pprof_stack_function){0};
    while (pprof_next(&scan, &field)) {
        if (field.number == TABLE_ID)
            function->id = field.value;
        else if (field.number == FUNCTION_NAME)
            function->name = pprof_stacks_string(stacks, field.value);
    }
}

static bool read_functions(struct pprof_stacks *stacks, struct arena *arena)
{
    const struct pprof_fields *fields = &stacks->pprof->fields[PROFILE_FUNCTION];
    stacks->functions = arena_array_raw(arena, fields->count + 1, sizeof *stacks->functions);
    if (!stacks->functions)
        return false;
    struct proto_scan scan = scan_of(fields);
    struct proto_field field;
    while (pprof_next(&scan, &field))
        if (field.number == PROFILE_FUNCTION)
            read_function(stacks, field.bytes);
    sort_rows(stacks->functions, stacks->function_count, sizeof *stacks->functions,
              pprof_stacks_by_id);
    return true;
}

static uint64_t function_of(struct view line)
{
    struct proto_scan scan = proto_scan_begin(line);
    struct proto_field field;
    uint64_t id = 0;
    while (pprof_next(&scan, &field))
        if (field.number == LINE_FUNCTION_ID)
            id = field.value;
    return id;
}

static void read_mapping(struct pprof_stacks *stacks, struct view body)
{
    struct pprof_stack_mapping *mapping = &stacks->mappings[stacks->mapping_count++];
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    *mapping = (struct pprof_stack_mapping){0};
    while (pprof_next(&scan, &field)) {
        if (field.number == TABLE_ID)
            mapping->id = field.value;
        else if (field.number == MAPPING_FILENAME)
            mapping->file = pprof_stacks_string(stacks, field.value);
    }
}

static bool read_mappings(struct pprof_stacks *stacks, struct arena *arena)
{
    const struct pprof_fields *fields = &stacks->pprof->fields[PROFILE_MAPPING];
    stacks->mappings = arena_array_raw(arena, fields->count + 1, sizeof *stacks->mappings);
    if (!stacks->mappings)
        return false;
    struct proto_scan scan = scan_of(fields);
    struct proto_field field;
    while (pprof_next(&scan, &field))
        if (field.number == PROFILE_MAPPING)
            read_mapping(stacks, field.bytes);
    sort_rows(stacks->mappings, stacks->mapping_count, sizeof *stacks->mappings,
              pprof_stacks_by_id);
    return true;
}

/* The base name of the file that a mapping is of. */
static struct view file_of(const struct pprof_stacks *stacks, uint64_t mapping_id)
{
    const struct pprof_stack_mapping *mapping =
        pprof_stacks_find(stacks->mappings, stacks->mapping_count, sizeof *mapping, mapping_id);
    struct view path = mapping ? pprof_string_at(stacks->pprof, mapping->file) : VIEW("");
    const uint8_t *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
    if (slash)
        path = view_between(slash + 1, path.data + path.size);
    if (path.size > LONGEST_FILE)
        for (path.size = LONGEST_FILE; path.size && (path.data[path.size] & 0xc0) == 0x80;)
            path.size--;
    return path.size ? path : VIEW("unknown");
}

/* Adds the frame of a location without lines. */
static bool add_address(struct pprof_stacks *stacks, uint64_t mapping, uint64_t address,
                        struct arena *arena)
{
    struct view file = file_of(stacks, mapping);
    char *text = arena_alloc(arena, file.size + ADDRESS_SIZE);
    if (!text)
        return false;
    int size = snprintf(text, file.size + ADDRESS_SIZE, "%.*s!0x%llx", VIEW_ARG(file),
                        (unsigned long long)address);
    stacks->frames[stacks->frame_count++] = (uint32_t)pprof_stacks_names(stacks);
    stacks->addresses[stacks->address_count++] = (struct view){(const uint8_t *)text, (size_t)size};
    return true;
}

static bool read_location(struct pprof_stacks *stacks, struct view body, struct arena *arena)
{
    struct pprof_stack_location *location = &stacks->locations[stacks->location_count++];
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    uint64_t mapping = 0, address = 0;
    *location = (struct pprof_stack_location){.first = (uint32_t)stacks->frame_count};
    while (pprof_next(&scan, &field)) {
        if (field.number == TABLE_ID)
            location->id = field.value;
        else if (field.number == LOCATION_MAPPING_ID)
            mapping = field.value;
        else if (field.number == LOCATION_ADDRESS)
            address = field.value;
        if (field.number != LOCATION_LINE || field.type != WIRE_LEN)
            continue;
        const struct pprof_stack_function *function = pprof_stacks_find(
            stacks->functions, stacks->function_count, sizeof *function, function_of(field.bytes));
        stacks->frames[stacks->frame_count++] = function ? function->name : 0;
        location->count++;
    }
    if (location->count || !address)
        return true;
    location->count = 1;
    return add_address(stacks, mapping, address, arena);
}

/* Counts the lines of all locations, and the locations without lines. */
static size_t count_lines(const struct pprof_fields *fields, size_t *without)
{
    struct proto_scan scan = scan_of(fields);
    struct proto_field field, line;
    size_t count = 0;
    *without = 0;
    while (pprof_next(&scan, &field)) {
        if (field.number != PROFILE_LOCATION)
            continue;
        struct proto_scan inner = proto_scan_begin(field.bytes);
        size_t before = count;
        while (pprof_next(&inner, &line))
            count += line.number == LOCATION_LINE;
        *without += count == before;
    }
    return count;
}

static bool read_locations(struct pprof_stacks *stacks, struct arena *arena)
{
    const struct pprof_fields *fields = &stacks->pprof->fields[PROFILE_LOCATION];
    size_t without, lines = count_lines(fields, &without);
    stacks->locations = arena_array_raw(arena, fields->count + 1, sizeof *stacks->locations);
    stacks->frames = arena_array_raw(arena, lines + without + 1, sizeof *stacks->frames);
    stacks->addresses = arena_array_raw(arena, without + 1, sizeof *stacks->addresses);
    if (!stacks->locations || !stacks->frames || !stacks->addresses)
        return false;
    struct proto_scan scan = scan_of(fields);
    struct proto_field field;
    while (pprof_next(&scan, &field))
        if (field.number == PROFILE_LOCATION && !read_location(stacks, field.bytes, arena))
            return false;
    sort_rows(stacks->locations, stacks->location_count, sizeof *stacks->locations,
              pprof_stacks_by_id);
    return true;
}

bool pprof_stacks_open(struct pprof_stacks *stacks, const struct pprof *pprof, struct arena *arena)
{
    *stacks = (struct pprof_stacks){.pprof = pprof};
    return read_functions(stacks, arena) && read_mappings(stacks, arena) &&
           read_locations(stacks, arena);
}

struct stack_reading {
    const struct pprof_stacks *stacks;
    uint32_t *names;
    size_t count, max;
    bool cut;
};

static void add_location(struct stack_reading *reading, uint64_t id)
{
    const struct pprof_stacks *stacks = reading->stacks;
    const struct pprof_stack_location *location =
        pprof_stacks_find(stacks->locations, stacks->location_count, sizeof *location, id);
    for (uint32_t i = 0; location && i < location->count; i++) {
        if (reading->count == reading->max) {
            size_t half = (reading->max + 1) / 2;
            memmove(reading->names, reading->names + half,
                    (reading->max - half) * sizeof *reading->names);
            reading->count -= half;
            reading->cut = true;
        }
        reading->names[reading->count++] = stacks->frames[location->first + i];
    }
}

size_t pprof_stacks_read(const struct pprof_stacks *stacks, const struct pprof_sample *sample,
                         uint32_t *names, size_t max, bool *cut)
{
    struct stack_reading reading = {.stacks = stacks, .names = names, .max = max};
    struct proto_scan scan = proto_scan_begin(sample->field.bytes);
    struct proto_field field;
    while (pprof_next(&scan, &field)) {
        if (field.number != SAMPLE_LOCATION_ID)
            continue;
        if (field.type == WIRE_VARINT) {
            add_location(&reading, field.value);
            continue;
        }
        const uint8_t *at = field.bytes.data, *end = at + field.bytes.size;
        uint64_t id;
        while (at < end && (at = pprof_varint(at, end, &id)))
            add_location(&reading, id);
    }
    *cut |= reading.cut;
    return reading.count;
}
