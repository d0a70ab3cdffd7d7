#include "extensions/status/names.h"

#include <stdlib.h>

static uint64_t names_hash(struct view text)
{
    uint64_t hash = view_hash(text);
    return hash ^ hash >> 29;
}

enum { BUCKETS_MIN = 256, TEXT_EACH = 64 };

static uint32_t names_end(const struct names *names, uint32_t number)
{
    uint32_t end;
    memcpy(&end, names->at.data + number * sizeof end, sizeof end);
    return end;
}

static bool names_append(struct names *names, struct view text)
{
    uint32_t end = (uint32_t)(names->text.size + text.size);
    if (bytes_reserve(&names->text, text.size) != BYTES_OK ||
        bytes_append(&names->at, &end, sizeof end) != BYTES_OK)
        return false;
    bytes_append_view(&names->text, text);
    names->count++;
    return true;
}

static void names_place(struct names *names, uint32_t number)
{
    size_t mask = names->capacity - 1, at = names_hash(names_get(names, number)) & mask;
    while (names->buckets[at])
        at = (at + 1) & mask;
    names->buckets[at] = number + 1;
}

static bool names_grow(struct names *names)
{
    uint32_t capacity = names->capacity ? names->capacity * 2 : BUCKETS_MIN;
    uint32_t *buckets = calloc(capacity, sizeof *buckets);
    if (!buckets)
        return false;
    budget_force(names->budget, (capacity - names->capacity) * sizeof *buckets);
    free(names->buckets);
    names->buckets = buckets;
    names->capacity = capacity;
    for (uint32_t i = 1; i < names->count; i++)
        names_place(names, i);
    return true;
}

void names_init(struct names *names, uint32_t max, struct budget *budget)
{
    *names = (struct names){.max = max, .budget = budget};
    bytes_init(&names->text, (size_t)max * TEXT_EACH, budget);
    bytes_init(&names->at, SIZE_MAX / 2, budget);
    names_append(names, VIEW(NAME_OTHERS));
}

void names_release(struct names *names)
{
    bytes_release(&names->text);
    bytes_release(&names->at);
    free(names->buckets);
    budget_give(names->budget, names->capacity * sizeof *names->buckets);
    *names = (struct names){0};
}

struct view names_cut(struct view text)
{
    if (text.size > NAME_CUT)
        for (text.size = NAME_CUT; text.size && (text.data[text.size] & 0xc0) == 0x80;)
            text.size--;
    return text;
}

uint32_t names_put(struct names *names, struct view text)
{
    text = names_cut(text);
    if (2 * names->count >= names->capacity && !names_grow(names))
        return 0;
    size_t mask = names->capacity - 1, at = names_hash(text) & mask;
    for (; names->buckets[at]; at = (at + 1) & mask)
        if (view_eq(names_get(names, names->buckets[at] - 1), text))
            return names->buckets[at] - 1;
    if (names->count == 0 || names->count >= names->max || !names_append(names, text))
        return 0;
    names->buckets[at] = names->count;
    return names->count - 1;
}

struct view names_get(const struct names *names, uint32_t number)
{
    if (number >= names->count)
        return VIEW(NAME_OTHERS);
    uint32_t from = number ? names_end(names, number - 1) : 0;
    return (struct view){names->text.data + from, names_end(names, number) - from};
}

bool names_eq(const struct names *names, uint32_t number, struct view text)
{
    return view_eq(names_get(names, number), names_cut(text));
}
