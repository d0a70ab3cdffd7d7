#include "processors/correlation/recent.h"

#include "base/clock.h"

enum {
    MAX_BYTES = 1 << 20,
    REMEMBER = 150,       /* s; the longest that a window and its upload take, and half as much */
    ALL_CHILDREN = 64,    /* so many a second and service are noted, ... */
    SOME_CHILDREN = 0x0f, /* ... and of the others those without these bits */
    TIME_BITS = (1 << 30) - 1,
    TOLD = 0
};

void recent_init(struct recent *recent, uint64_t seed, struct budget *budget)
{
    id_table_init(&recent->table, MAX_BYTES, false, REMEMBER, seed, budget);
}

void recent_release(struct recent *recent)
{
    id_table_release(&recent->table);
}

static bool is_wanted(struct service *service, uint64_t id, uint32_t second)
{
    if (service->note_second != second) {
        service->note_second = second;
        service->noted = 0;
    }
    return service->noted++ < ALL_CHILDREN || (id & SOME_CHILDREN) == 0;
}

void recent_note(struct recent *recent, struct service *service, uint64_t id, enum recent_what what,
                 uint64_t ended, uint32_t second)
{
    if (!id || (what == RECENT_CHILD && !is_wanted(service, id, second)))
        return;
    uint64_t key = span_index_key(id, service_scope(service));
    struct id_entry *entry = id_table_put(&recent->table, key, second);
    if (entry)
        entry->note = (uint32_t)(ended / NS_PER_MS) << 2 | (uint32_t)what;
}

/* The upper bits of a time are those of now, or it was a little before they changed. */
static uint64_t time_of(uint32_t note, uint64_t mono)
{
    uint64_t now = mono / NS_PER_MS;
    uint32_t age = ((uint32_t)now - (note >> 2)) & TIME_BITS;
    return (now - age) * NS_PER_MS;
}

enum recent_what recent_take(struct recent *recent, const struct service *service, uint64_t id,
                             struct recent_now now, uint64_t *ended)
{
    uint64_t key = span_index_key(id, service_scope(service));
    struct id_entry *entry = id_table_find(&recent->table, key, now.second);
    if (!entry || entry->note == TOLD)
        return RECENT_NONE;
    enum recent_what what = entry->note & 3;
    *ended = time_of(entry->note, now.mono);
    entry->note = TOLD;
    return what;
}
