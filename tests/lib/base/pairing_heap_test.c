/* The heap against a simple model: a linear search for the smallest key. */
#include "lib/base/pairing_heap.h"

#include "tests/support/suite.h"

#include <stdlib.h>

enum { NODES = 200, STEPS = 5000 };

struct model {
    struct heap heap;
    struct heap_node nodes[NODES];
    bool inside[NODES];
    uint64_t keys[NODES];
    size_t count;
    uint64_t random;
};

static uint64_t draw(struct model *model, uint64_t below)
{
    model->random ^= model->random << 13;
    model->random ^= model->random >> 7;
    model->random ^= model->random << 17;
    return model->random % below;
}

/* Number of nodes below this one, including it; 0: a link is wrong or a key is out of order. */
static size_t count_below(const struct heap_node *node)
{
    size_t count = 1;
    const struct heap_node *before = node;
    for (const struct heap_node *each = node->child; each; each = each->sibling) {
        size_t below = count_below(each);
        if (each->before != before || each->key < node->key || below == 0)
            return 0;
        count += below;
        before = each;
    }
    return count;
}

static void check(struct model *model)
{
    const struct heap_node *first = model->heap.first;
    uint64_t smallest = UINT64_MAX;
    size_t wrong = 0;
    for (size_t i = 0; i < NODES; i++) {
        wrong += heap_has(&model->heap, &model->nodes[i]) != model->inside[i];
        if (model->inside[i] && model->keys[i] < smallest)
            smallest = model->keys[i];
    }
    ck_assert_uint_eq(wrong, 0);
    ck_assert_int_eq(!first, model->count == 0);
    if (!first)
        return;
    ck_assert_uint_eq(first->key, smallest);
    ck_assert(!first->before && !first->sibling);
    ck_assert_uint_eq(count_below(first), model->count);
}

static void set(struct model *model, size_t i, uint64_t key)
{
    heap_set(&model->heap, &model->nodes[i], key);
    model->count += !model->inside[i];
    model->inside[i] = true;
    model->keys[i] = key;
}

static void take_out(struct model *model, size_t i)
{
    heap_remove(&model->heap, &model->nodes[i]);
    model->count--;
    model->inside[i] = false;
}

static void step(struct model *model)
{
    size_t i = draw(model, NODES);
    uint64_t key = draw(model, 3) ? draw(model, 50) : model->random;
    if (draw(model, 5) < 3)
        set(model, i, key);
    else if (model->inside[i])
        take_out(model, i);
    else if (model->count)
        take_out(model, (size_t)(model->heap.first - model->nodes));
}

START_TEST(the_smallest_key_is_first_whatever_came_went_or_moved)
{
    struct model *model = calloc(1, sizeof *model);
    model->random = 0x9e3779b97f4a7c15;
    for (int i = 0; i < STEPS; i++) {
        step(model);
        check(model);
    }
    free(model);
}
END_TEST

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

START_TEST(taking_the_first_sorts)
{
    struct model *model = calloc(1, sizeof *model);
    uint64_t sorted[NODES];
    model->random = 7;
    for (size_t i = 0; i < NODES; i++) {
        sorted[i] = draw(model, 100);
        heap_insert(&model->heap, &model->nodes[i], sorted[i]);
    }
    qsort(sorted, NODES, sizeof *sorted, by_value);
    for (size_t i = 0; i < NODES; i++) {
        struct heap_node *first = model->heap.first;
        ck_assert_uint_eq(first->key, sorted[i]);
        heap_remove(&model->heap, first);
        ck_assert(!first->child && !first->sibling && !first->before);
    }
    ck_assert_ptr_null(model->heap.first);
    free(model);
}
END_TEST

START_TEST(a_node_alone_is_inside_though_nothing_is_before_it)
{
    struct heap heap = {0};
    struct heap_node node = {0}, other = {0};
    ck_assert(!heap_has(&heap, &node));
    heap_set(&heap, &node, UINT64_MAX);
    ck_assert(heap_has(&heap, &node) && !heap_has(&heap, &other));
    heap_set(&heap, &node, 3);
    ck_assert_uint_eq(heap.first->key, 3);
    heap_remove(&heap, &node);
    ck_assert(!heap_has(&heap, &node));
}
END_TEST

SUITE_MAIN("pairing heap", the_smallest_key_is_first_whatever_came_went_or_moved,
           taking_the_first_sorts, a_node_alone_is_inside_though_nothing_is_before_it)
