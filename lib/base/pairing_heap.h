/*
 * A priority queue whose nodes stand in what it orders: nothing is allocated. Inserting is one
 * comparison; taking the first or any other node out is logarithmic, amortised. Not thread-safe.
 */
#ifndef LIB_BASE_PAIRING_HEAP_H
#define LIB_BASE_PAIRING_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct heap_node {
    uint64_t key;
    struct heap_node *child, *sibling;
    struct heap_node *before; /* the sibling before it, or the parent; NULL: root, or not inside */
};

struct heap {
    struct heap_node *first; /* of the smallest key; NULL: empty */
};

/* Whether a zeroed or removed node is inside. */
static inline bool heap_has(const struct heap *heap, const struct heap_node *node)
{
    return heap->first == node || node->before;
}

void heap_insert(struct heap *heap, struct heap_node *node, uint64_t key);

/* Of a node that is inside. */
void heap_remove(struct heap *heap, struct heap_node *node);

/* The same node at another key, inside or not. */
void heap_set(struct heap *heap, struct heap_node *node, uint64_t key);

#endif
