#include "lib/wire/pprof/pprof_frames.h"

#include "lib/wire/pprof/pprof_cursor.h"
#include "lib/wire/pprof/pprof_fields.h"

#include <stdlib.h>

static int pprof_frames_by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The id of a location that has a line, else 0. */
static uint64_t drawn_id(struct view location)
{
    struct proto_scan scan = proto_scan_begin(location);
    struct proto_field field;
    uint64_t id = 0;
    bool line = false;
    while (pprof_next(&scan, &field)) {
        if (field.number == TABLE_ID)
            id = field.value;
        line |= field.number == LOCATION_LINE;
    }
    return line ? id : 0;
}

bool pprof_frames_open(struct pprof_frames *frames, const struct pprof *pprof, struct arena *arena)
{
    const struct pprof_fields *locations = &pprof->fields[PROFILE_LOCATION];
    struct proto_scan scan = {locations->from, locations->to, false};
    struct proto_field field;
    bool ascending = true;
    *frames =
        (struct pprof_frames){.drawn = arena_array(arena, locations->count + 1, sizeof(uint64_t))};
    if (!frames->drawn)
        return false;
    while (pprof_next(&scan, &field)) {
        uint64_t id = field.number == PROFILE_LOCATION ? drawn_id(field.bytes) : 0;
        if (id == 0)
            continue;
        ascending &= frames->count == 0 || frames->drawn[frames->count - 1] < id;
        frames->drawn[frames->count++] = id;
    }
    if (!ascending)
        qsort(frames->drawn, frames->count, sizeof *frames->drawn, pprof_frames_by_id);
    return true;
}

static bool is_drawn(const struct pprof_frames *frames, uint64_t id)
{
    /* Nearly every writer numbers locations from 1. */
    if (id - 1 < frames->count && frames->drawn[id - 1] == id)
        return true;
    return frames->count > 0 && bsearch(&id, frames->drawn, frames->count, sizeof *frames->drawn,
                                        pprof_frames_by_id) != NULL;
}

static bool any_packed(const struct pprof_frames *frames, struct view ids)
{
    const uint8_t *at = ids.data, *end = at + ids.size;
    uint64_t id;
    while (at < end && (at = pprof_varint(at, end, &id)))
        if (is_drawn(frames, id))
            return true;
    return false;
}

bool pprof_frames_any(const struct pprof_frames *frames, const struct pprof_sample *sample)
{
    struct proto_scan scan = proto_scan_begin(sample->field.bytes);
    struct proto_field field;
    while (pprof_next(&scan, &field)) {
        if (field.number != SAMPLE_LOCATION_ID)
            continue;
        if (field.type == WIRE_LEN ? any_packed(frames, field.bytes)
                                   : is_drawn(frames, field.value))
            return true;
    }
    return false;
}
