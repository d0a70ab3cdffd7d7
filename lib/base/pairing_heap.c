#include "lib/base/pairing_heap.h"

#include <stddef.h>

/* Merges two roots; either may be NULL. */
static struct heap_node *meld(struct heap_node *a, struct heap_node *b)
{
    if (!a || !b)
        return a ? a : b;
    if (b->key < a->key) {
        struct heap_node *larger = a;
        a = b;
        b = larger;
    }
    b->before = a;
    b->sibling = a->child;
    if (a->child)
        a->child->before = b;
    a->child = b;
    return a;
}

static struct heap_node *detach(struct heap_node *node)
{
    struct heap_node *next = node->sibling;
    node->sibling = node->before = NULL;
    return next;
}

/* Merges a list of siblings: first in pairs, then all from the last pair to the first. */
static struct heap_node *meld_children(struct heap_node *list)
{
    struct heap_node *pairs = NULL, *root = NULL;
    while (list) {
        struct heap_node *a = list, *b = detach(a);
        list = b ? detach(b) : NULL;
        a = meld(a, b);
        a->sibling = pairs;
        pairs = a;
    }
    while (pairs) {
        struct heap_node *next = pairs->sibling;
        pairs->sibling = NULL;
        root = meld(root, pairs);
        pairs = next;
    }
    return root;
}

void heap_insert(struct heap *heap, struct heap_node *node, uint64_t key)
{
    *node = (struct heap_node){.key = key};
    heap->first = meld(heap->first, node);
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    struct heap_node *rest = meld_children(node->child);
    if (heap->first == node) {
        heap->first = rest;
    } else {
        *(node->before->child == node ? &node->before->child : &node->before->sibling) =
            node->sibling;
        if (node->sibling)
            node->sibling->before = node->before;
        heap->first = meld(heap->first, rest);
    }
    node->child = node->sibling = node->before = NULL;
}

void heap_set(struct heap *heap, struct heap_node *node, uint64_t key)
{
    if (heap_has(heap, node)) {
        if (node->key == key)
            return;
        heap_remove(heap, node);
    }
    heap_insert(heap, node, key);
}
