#include "lib/wire/pprof/pprof_frames.h"

#include "lib/base/sort.h"
#include "lib/wire/pprof/pprof_cursor.h"
#include "lib/wire/pprof/pprof_fields.h"

#include <stdlib.h>

enum { LOCATION_ADDRESS = 3, MAPPING_HAS_FUNCTIONS = 7 };

/* What a location is to the samples that refer to it. */
enum part {
    PART_BAD,          /* they are dropped */
    PART_UNSYMBOLIZED, /* it has no frame */
    PART_NAMED
};

struct pprof_frame {
    uint64_t id; /* first: it is the key of all tables here */
    enum part part;
};

/* An entry of the mappings and functions. */
struct row {
    uint64_t id;
    bool has_functions;
};

struct rows {
    struct row *rows; /* by id */
    size_t count;
};

struct opening {
    const struct pprof *pprof;
    struct rows mappings, functions;
    bool symbolizes;
};

static int pprof_frames_by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Where nearly every writer numbers from 1, the id is the place. */
static const void *pprof_frames_find(const void *table, size_t count, size_t size, uint64_t id)
{
    const uint8_t *rows = table;
    if (id - 1 < count && *(const uint64_t *)(const void *)(rows + (id - 1) * size) == id)
        return rows + (id - 1) * size;
    return count ? bsearch(&id, rows, count, size, pprof_frames_by_id) : NULL;
}

static struct row row_of(struct view body, uint32_t kind)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    struct row row = {0};
    while (pprof_next(&scan, &field)) {
        if (field.number == TABLE_ID)
            row.id = field.value;
        else if (kind == PROFILE_MAPPING && field.number == MAPPING_HAS_FUNCTIONS)
            row.has_functions = field.value != 0;
    }
    return row;
}

/* Reads the mappings or the functions. */
static bool read_rows(const struct pprof *pprof, uint32_t kind, struct rows *rows,
                      struct arena *arena)
{
    const struct pprof_fields *fields = &pprof->fields[kind];
    struct proto_scan scan = {fields->from, fields->to, false};
    struct proto_field field;
    rows->rows = arena_array_raw(arena, fields->count + 1, sizeof *rows->rows);
    if (!rows->rows)
        return false;
    while (pprof_next(&scan, &field))
        if (field.number == kind)
            rows->rows[rows->count++] = row_of(field.bytes, kind);
    sort_rows(rows->rows, rows->count, sizeof *rows->rows, pprof_frames_by_id);
    return true;
}

static const struct row *row_with(const struct rows *rows, uint64_t id)
{
    return pprof_frames_find(rows->rows, rows->count, sizeof *rows->rows, id);
}

static bool has_function(const struct opening *opening, struct view line)
{
    struct proto_scan scan = proto_scan_begin(line);
    struct proto_field field;
    uint64_t id = 0;
    while (pprof_next(&scan, &field))
        if (field.number == LINE_FUNCTION_ID)
            id = field.value;
    return row_with(&opening->functions, id);
}

/* What a location without a broken line is. */
static enum part part_of(const struct opening *opening, uint64_t mapping_id, uint64_t address,
                         bool line)
{
    const struct row *mapping = mapping_id ? row_with(&opening->mappings, mapping_id) : NULL;
    if ((mapping_id && !mapping) || (!line && !address))
        return PART_BAD;
    if (line)
        return PART_NAMED;
    bool named = opening->symbolizes && !(mapping && mapping->has_functions);
    return named ? PART_NAMED : PART_UNSYMBOLIZED;
}

static struct pprof_frame frame_of(const struct opening *opening, struct view location)
{
    struct proto_scan scan = proto_scan_begin(location);
    struct proto_field field;
    struct pprof_frame frame = {0};
    uint64_t mapping = 0, address = 0;
    bool line = false, broken = false;
    while (pprof_next(&scan, &field)) {
        if (field.number == TABLE_ID)
            frame.id = field.value;
        else if (field.number == LOCATION_MAPPING_ID)
            mapping = field.value;
        else if (field.number == LOCATION_ADDRESS)
            address = field.value;
        if (field.number != LOCATION_LINE)
            continue;
        line = true;
        broken |= !has_function(opening, field.bytes);
    }
    frame.part = broken ? PART_BAD : part_of(opening, mapping, address, line);
    return frame;
}

static void read_frames(struct pprof_frames *frames, const struct opening *opening)
{
    const struct pprof_fields *fields = &opening->pprof->fields[PROFILE_LOCATION];
    struct proto_scan scan = {fields->from, fields->to, false};
    struct proto_field field;
    frames->dense = true;
    while (pprof_next(&scan, &field)) {
        if (field.number != PROFILE_LOCATION)
            continue;
        frames->locations[frames->count++] = frame_of(opening, field.bytes);
        frames->dense &= frames->locations[frames->count - 1].id == frames->count;
    }
    sort_rows(frames->locations, frames->count, sizeof *frames->locations, pprof_frames_by_id);
}

bool pprof_frames_open(struct pprof_frames *frames, const struct pprof *pprof, bool symbolizes,
                       struct arena *arena)
{
    struct opening opening = {.pprof = pprof, .symbolizes = symbolizes};
    size_t count = pprof->fields[PROFILE_LOCATION].count;
    *frames = (struct pprof_frames){
        .locations = arena_array_raw(arena, count + 1, sizeof *frames->locations)};
    if (!frames->locations || !read_rows(pprof, PROFILE_MAPPING, &opening.mappings, arena) ||
        !read_rows(pprof, PROFILE_FUNCTION, &opening.functions, arena))
        return false;
    read_frames(frames, &opening);
    return true;
}

static inline enum part part_with(const struct pprof_frames *frames, uint64_t id)
{
    if (frames->dense)
        return id - 1 < frames->count ? frames->locations[id - 1].part : PART_BAD;
    const struct pprof_frame *frame =
        pprof_frames_find(frames->locations, frames->count, sizeof *frame, id);
    return frame ? frame->part : PART_BAD;
}

/* False: a location is bad. *named: whether one has a name. */
static bool check_packed(const struct pprof_frames *frames, struct view ids, bool *named)
{
    const uint8_t *at = ids.data, *end = at + ids.size;
    uint64_t id;
    while (at < end && (at = pprof_varint(at, end, &id))) {
        enum part part = part_with(frames, id);
        if (part == PART_BAD)
            return false;
        *named |= part == PART_NAMED;
    }
    return true;
}

enum pprof_shown pprof_frames_shown(const struct pprof_frames *frames,
                                    const struct pprof_sample *sample)
{
    struct proto_scan scan = proto_scan_begin(sample->field.bytes);
    struct proto_field field;
    bool named = false, any = false;
    while (pprof_next(&scan, &field)) {
        if (field.number != SAMPLE_LOCATION_ID)
            continue;
        any |= field.type != WIRE_LEN || field.bytes.size;
        if (field.type == WIRE_LEN) {
            if (!check_packed(frames, field.bytes, &named))
                return PPROF_DROPPED;
            continue;
        }
        enum part part = part_with(frames, field.value);
        if (part == PART_BAD)
            return PPROF_DROPPED;
        named |= part == PART_NAMED;
    }
    return named ? PPROF_SHOWN : any ? PPROF_UNSYMBOLIZED : PPROF_DROPPED;
}
