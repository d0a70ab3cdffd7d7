/* Held spans by id, compared with a linear search. */
#include "processors/correlation/hold/held_ids.h"

#include "lib/wire/otlp/otlp_span.h"
#include "processors/correlation/hold/hold.h"
#include "tests/support/suite.h"

#include <stdlib.h>

enum { SPANS = 600, STEPS = 30000 };

struct model {
    struct held_ids ids;
    struct budget budget;
    struct held *spans[SPANS];
    bool inside[SPANS];
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

static struct model *made(void)
{
    struct model *model = calloc(1, sizeof *model);
    model->random = 0x9e3779b97f4a7c15;
    budget_init(&model->budget, SIZE_MAX);
    held_ids_init(&model->ids, 42, &model->budget);
    return model;
}

static void unmake(struct model *model)
{
    for (size_t i = 0; i < SPANS; i++)
        free(model->spans[i]);
    held_ids_release(&model->ids);
    ck_assert_uint_eq(budget_used(&model->budget), 0);
    free(model);
}

/* One of a few ids, in either byte order. */
static uint64_t some_id(struct model *model)
{
    uint64_t id = 1 + draw(model, SPANS / 3);
    return draw(model, 2) ? id : span_id_reversed(id);
}

static uint64_t found_by(const struct held *held)
{
    return held->named && !(held->flags & HELD_CHILD) ? held->named : held->own;
}

static bool matches(const struct held *held, uint64_t id)
{
    return found_by(held) == id || found_by(held) == span_id_reversed(id);
}

static void add(struct model *model, size_t i)
{
    struct held *held = calloc(1, sizeof *held);
    held->own = some_id(model);
    held->named = draw(model, 2) ? some_id(model) : 0;
    held->flags = draw(model, 4) ? 0 : HELD_CHILD;
    ck_assert(held_ids_add(&model->ids, held));
    model->spans[i] = held;
    model->inside[i] = true;
    model->count++;
}

static void take_out(struct model *model, size_t i)
{
    held_ids_remove(&model->ids, model->spans[i]);
    ck_assert(!model->spans[i]->next && !model->spans[i]->before);
    free(model->spans[i]);
    model->spans[i] = NULL;
    model->inside[i] = false;
    model->count--;
}

static void move(struct model *model, size_t i)
{
    struct held *held = malloc(sizeof *held);
    *held = *model->spans[i];
    held_ids_moved(&model->ids, held);
    free(model->spans[i]);
    model->spans[i] = held;
}

static bool has(const struct model *model, const struct held *held)
{
    for (size_t i = 0; i < SPANS; i++)
        if (model->inside[i] && model->spans[i] == held)
            return true;
    return false;
}

static void check(const struct model *model, uint64_t id)
{
    size_t wanted = 0, found = 0;
    for (size_t i = 0; i < SPANS; i++)
        wanted += model->inside[i] && matches(model->spans[i], id);
    held_ids_prefetch(&model->ids, id);
    const struct held *each = held_ids_first(&model->ids, id);
    bool right = true;
    for (; each; each = held_ids_next(each), found++)
        right &= has(model, each) && matches(each, id);
    ck_assert(right);
    ck_assert_uint_eq(found, wanted);
    ck_assert_uint_eq(model->ids.count, model->count);
}

START_TEST(spans_are_found_by_the_id_that_a_sample_would_name)
{
    struct model *model = made();
    check(model, 7);
    for (int step = 0; step < STEPS; step++) {
        /* Full, empty and full again. */
        bool growing = step / (STEPS / 5) % 2 == 0;
        size_t i = draw(model, SPANS);
        if (!model->inside[i] && (growing || draw(model, 8) == 0))
            add(model, i);
        else if (model->inside[i] && draw(model, 3) == 0)
            move(model, i);
        else if (model->inside[i] && (!growing || draw(model, 8) == 0))
            take_out(model, i);
        check(model, some_id(model));
    }
    unmake(model);
}
END_TEST

START_TEST(memory_follows_the_number_of_spans)
{
    struct model *model = made();
    ck_assert_uint_eq(budget_used(&model->budget), 0);
    for (size_t i = 0; i < SPANS; i++) {
        add(model, i);
        if (model->count >= 64)
            ck_assert_uint_le(budget_used(&model->budget), model->count * 16);
    }
    for (size_t i = 0; i < SPANS; i++)
        take_out(model, i);
    ck_assert_uint_le(budget_used(&model->budget), 64 * sizeof(void *));
    unmake(model);
}
END_TEST

START_TEST(a_child_is_found_by_its_own_id_and_not_by_its_parents)
{
    struct model *model = made();
    struct held child = {.own = 5, .named = 9, .flags = HELD_CHILD}, root = {.own = 6, .named = 8};
    held_ids_add(&model->ids, &child);
    held_ids_add(&model->ids, &root);
    ck_assert_ptr_eq(held_ids_first(&model->ids, 5), &child);
    ck_assert_ptr_eq(held_ids_first(&model->ids, span_id_reversed(8)), &root);
    ck_assert_ptr_null(held_ids_first(&model->ids, 9));
    ck_assert_ptr_null(held_ids_first(&model->ids, 6));
    unmake(model);
}
END_TEST

SUITE_MAIN("held ids", spans_are_found_by_the_id_that_a_sample_would_name,
           memory_follows_the_number_of_spans,
           a_child_is_found_by_its_own_id_and_not_by_its_parents)
