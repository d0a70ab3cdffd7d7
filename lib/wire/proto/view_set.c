#include "lib/wire/proto/view_set.h"

enum { FIRST_ROOM = 32, MAX_PROBES = 32 };

void view_set_init(struct view_set *set, struct arena *arena)
{
    *set = (struct view_set){.arena = arena};
}

static size_t hash(struct view bytes)
{
    uint64_t sum = view_hash(bytes);
    return (size_t)(sum ^ sum >> 29);
}

/* Puts an entry into a free slot close to its hash; if there is none, it is not found again. */
static void view_set_place(struct view_set *set, uint32_t index)
{
    size_t at = hash(set->entries[index]);
    for (unsigned i = 0; i < MAX_PROBES; i++) {
        uint32_t *slot = &set->slots[(at + i) % set->slot_count];
        if (*slot == 0) {
            *slot = index + 1;
            return;
        }
    }
}

static bool view_set_grow(struct view_set *set)
{
    size_t room = set->room ? 2 * set->room : FIRST_ROOM;
    struct view *entries = arena_array(set->arena, room, sizeof *entries);
    uint32_t *slots = arena_array(set->arena, 2 * room, sizeof *slots);
    if (!entries || !slots || room >= UINT32_MAX)
        return false;
    if (set->count)
        memcpy(entries, set->entries, set->count * sizeof *entries);
    set->entries = entries;
    set->room = room;
    set->slots = slots;
    set->slot_count = 2 * room;
    for (uint32_t i = 0; i < set->count; i++)
        view_set_place(set, i);
    return true;
}

static uint32_t view_set_find(const struct view_set *set, struct view bytes)
{
    size_t at = hash(bytes);
    for (unsigned i = 0; i < MAX_PROBES && set->slot_count; i++) {
        uint32_t slot = set->slots[(at + i) % set->slot_count];
        if (slot == 0)
            break;
        if (view_eq(set->entries[slot - 1], bytes))
            return slot - 1;
    }
    return UINT32_MAX;
}

uint32_t view_set_add(struct view_set *set, struct view bytes)
{
    uint32_t found = view_set_find(set, bytes);
    if (found != UINT32_MAX)
        return found;
    if (set->count == set->room && !view_set_grow(set))
        return UINT32_MAX;
    uint8_t *copy = arena_alloc(set->arena, bytes.size);
    if (!copy)
        return UINT32_MAX;
    if (bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    set->entries[set->count++] = (struct view){copy, bytes.size};
    view_set_place(set, (uint32_t)set->count - 1);
    return (uint32_t)set->count - 1;
}
