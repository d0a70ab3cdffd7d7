#include "lib/base/arena.h"

#include <stdalign.h>
#include <stdlib.h>

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t size;
    alignas(max_align_t) uint8_t data[];
};

enum { BLOCK_SIZE = 4096 - sizeof(struct arena_block) };

void arena_init(struct arena *arena, size_t cap)
{
    *arena = (struct arena){.cap = cap};
}

void arena_charge(struct arena *arena, struct budget *budget, arena_charge_fn *charge,
                  size_t covered)
{
    arena->budget = budget;
    arena->charge = charge;
    arena->covered = covered;
}

void arena_init_scratch(struct arena *scratch, struct arena *arena)
{
    arena_init(scratch, arena->cap > arena->used ? arena->cap - arena->used : 0);
    scratch->of = arena;
    arena_charge(scratch, arena->budget, arena->charge, 0);
}

/* Charges n more bytes, as far as they are not covered. False: no room. */
static bool arena_take(struct arena *arena, size_t n)
{
    size_t taken = arena->taken + n;
    size_t due = taken > arena->covered ? taken - arena->covered - arena->charged : 0;
    if (!arena->budget || due == 0 || arena->charge(arena->budget, due)) {
        arena->taken = taken;
        arena->charged += arena->budget ? due : 0;
        return true;
    }
    return false;
}

static void arena_give(struct arena *arena, size_t n)
{
    arena->taken -= n;
    size_t due = arena->taken > arena->covered ? arena->taken - arena->covered : 0;
    if (arena->charged > due) {
        budget_give(arena->budget, arena->charged - due);
        arena->charged = due;
    }
}

static struct arena_block *add_block(struct arena *arena, size_t size)
{
    size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    bool taken = room <= SIZE_MAX - sizeof(struct arena_block) &&
                 arena_take(arena, sizeof(struct arena_block) + room);
    struct arena_block *block = taken ? malloc(sizeof *block + room) : NULL;
    if (!block) {
        if (taken)
            arena_give(arena, sizeof *block + room);
        for (; arena; arena = arena->of) {
            arena->starved = true;
            arena->lacked = room;
        }
        return NULL;
    }
    *block = (struct arena_block){.next = arena->blocks, .size = room};
    arena->blocks = block;
    return block;
}

static void *lack(struct arena *arena)
{
    for (; arena; arena = arena->of)
        arena->full = true;
    return NULL;
}

static void *alloc_raw(struct arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);
    if (size > SIZE_MAX - align)
        return lack(arena);
    size = (size + align - 1) / align * align;
    if (size > arena->cap || arena->used > arena->cap - size)
        return lack(arena);
    struct arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size)
        block = add_block(arena, size);
    if (!block)
        return lack(arena);
    void *at = block->data + block->used;
    block->used += size;
    arena->used += size;
    return at;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    void *at = alloc_raw(arena, size);
    return at ? memset(at, 0, size) : NULL;
}

static bool overflows(size_t count, size_t size)
{
    return size && count > SIZE_MAX / size;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    return overflows(count, size) ? NULL : arena_alloc(arena, count * size);
}

void *arena_array_raw(struct arena *arena, size_t count, size_t size)
{
    return overflows(count, size) ? NULL : alloc_raw(arena, count * size);
}

struct arena_mark arena_mark(const struct arena *arena)
{
    const struct arena_block *block = arena->blocks;
    return (struct arena_mark){block, block ? block->used : 0, arena->used};
}

void arena_rewind(struct arena *arena, struct arena_mark mark)
{
    size_t freed = 0;
    while (arena->blocks != mark.block) {
        struct arena_block *next = arena->blocks->next;
        freed += sizeof *next + arena->blocks->size;
        free(arena->blocks);
        arena->blocks = next;
    }
    if (arena->blocks)
        arena->blocks->used = mark.block_used;
    arena->used = mark.used;
    if (freed)
        arena_give(arena, freed);
}

bool arena_has_since(const struct arena *arena, struct arena_mark mark, const void *at)
{
    const struct arena_block *block = arena->blocks;
    for (; block != mark.block; block = block->next)
        if ((uintptr_t)at - (uintptr_t)block->data < block->used)
            return true;
    return block && (uintptr_t)at >= (uintptr_t)block->data + mark.block_used &&
           (uintptr_t)at < (uintptr_t)block->data + block->used;
}

char *arena_text(struct arena *arena, struct view view)
{
    char *text = view.size == SIZE_MAX ? NULL : arena_alloc(arena, view.size + 1);
    if (text && view.size)
        memcpy(text, view.data, view.size);
    return text;
}

void arena_release(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = 0;
    arena_give(arena, arena->taken);
}
