/*
 * An intrusive priority queue: nodes are embedded in the elements and nothing is allocated.
 * Inserting takes one comparison; removing any node is amortised logarithmic. Not thread-safe.
 */
#ifndef LIB_BASE_PAIRING_HEAP_H
#define LIB_BASE_PAIRING_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct heap_node {
    uint64_t key;
    struct heap_node *child, *sibling;
    struct heap_node
        *before; /* the sibling before it, or the parent; NULL: the root, or not in a heap */
};

struct heap {
    struct heap_node *first; /* the node with the smallest key; NULL: empty */
};

/* Whether node is in the heap; it must be zeroed before its first insertion. */
static inline bool heap_has(const struct heap *heap, const struct heap_node *node)
{
    return heap->first == node || node->before;
}

void heap_insert(struct heap *heap, struct heap_node *node, uint64_t key);

/* node must be in the heap. */
void heap_remove(struct heap *heap, struct heap_node *node);

/* Moves node to another key; inserts it if it is not in the heap. */
void heap_set(struct heap *heap, struct heap_node *node, uint64_t key);

#endif
