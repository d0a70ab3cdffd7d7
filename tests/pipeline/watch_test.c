#include "pipeline/watch.h"

#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

struct seen {
    struct watcher watcher;
    unsigned passed, linked, decided, sampled;
    uint64_t last;
};

static void on_passed(void *ctx, const struct batch *batch, bool linked)
{
    struct seen *seen = ctx;
    seen->passed++;
    seen->linked += linked;
    seen->last = batch->items;
}

static void on_decided(void *ctx, const struct watch_decision *decision)
{
    struct seen *seen = ctx;
    seen->decided++;
    seen->last = decision->span_id;
}

static void on_sampled(void *ctx, const struct watch_window *window,
                       const struct watch_sample *samples, size_t count)
{
    struct seen *seen = ctx;
    seen->sampled++;
    seen->last = count ? samples[count - 1].id : window->start;
}

static struct seen *attach(struct watch *watch, struct seen *seen)
{
    *seen = (struct seen){
        .watcher = {
            .ctx = seen, .passed = on_passed, .decided = on_decided, .sampled = on_sampled}};
    watch_attach(watch, &seen->watcher);
    return seen;
}

START_TEST(nobody_watches_at_first)
{
    struct watch watch;
    struct budget budget;
    budget_init(&budget, 1 << 20);
    struct batch *batch = some_spans(1, 3, &budget);
    watch_init(&watch);
    ck_assert(!watch_on(NULL));
    ck_assert(!watch_on(&watch));
    watch_passed(&watch, batch, false);
    watch_passed(NULL, batch, false);
    watch_release(&watch);
    batch_unref(batch);
}
END_TEST

START_TEST(every_watcher_is_told_until_it_is_detached)
{
    struct watch watch;
    struct seen a, b;
    struct budget budget;
    budget_init(&budget, 1 << 20);
    struct batch *batch = some_spans(1, 3, &budget);
    watch_init(&watch);
    attach(&watch, &a);
    attach(&watch, &b);
    ck_assert(watch_on(&watch));
    watch_passed(&watch, batch, true);
    ck_assert_uint_eq(a.passed, 1);
    ck_assert_uint_eq(a.linked, 1);
    ck_assert_uint_eq(b.passed, 1);
    ck_assert_uint_eq(a.last, 3);
    watch_decided(&watch, &(struct watch_decision){.span_id = 7});
    ck_assert_uint_eq(a.last, 7);
    const struct watch_sample samples[] = {{8, 1, 10, 0}, {9, 1, 10, 0}};
    watch_sampled(&watch, &(struct watch_window){.start = 5}, NULL, 0);
    ck_assert_uint_eq(b.last, 5);
    watch_sampled(&watch, &(struct watch_window){.start = 5}, samples, 2);
    ck_assert_uint_eq(b.last, 9);

    watch_detach(&watch, &a.watcher);
    ck_assert(watch_on(&watch));
    watch_decided(&watch, &(struct watch_decision){.span_id = 10});
    ck_assert_uint_eq(a.decided, 1);
    ck_assert_uint_eq(b.decided, 2);
    watch_detach(&watch, &b.watcher);
    ck_assert(!watch_on(&watch));
    watch_passed(&watch, batch, false);
    ck_assert_uint_eq(b.passed, 1);
    watch_detach(&watch, &b.watcher);
    watch_release(&watch);
    batch_unref(batch);
}
END_TEST

struct holding {
    struct watch_holder holder;
    uint64_t id;
    unsigned asked;
};

static bool holds(void *ctx, uint64_t span_id, struct watch_waiting *waiting)
{
    struct holding *holding = ctx;
    holding->asked++;
    if (span_id != holding->id)
        return false;
    waiting->due = span_id * 100;
    return true;
}

START_TEST(a_span_waits_with_any_holder)
{
    struct watch watch;
    struct watch_waiting waiting = {0};
    struct holding a = {.id = 1}, b = {.id = 2};
    a.holder = (struct watch_holder){.ctx = &a, .waits = holds};
    b.holder = (struct watch_holder){.ctx = &b, .waits = holds};
    watch_init(&watch);
    watch_add_holder(NULL, &a.holder);
    ck_assert(!watch_waits(&watch, 1, &waiting));
    watch_add_holder(&watch, &a.holder);
    watch_add_holder(&watch, &b.holder);
    ck_assert(watch_waits(&watch, 1, &waiting));
    ck_assert_uint_eq(waiting.due, 100);
    ck_assert(watch_waits(&watch, 2, &waiting));
    ck_assert_uint_eq(waiting.due, 200);
    ck_assert(!watch_waits(&watch, 3, &waiting));
    watch_remove_holder(&watch, &a.holder);
    unsigned before = a.asked;
    ck_assert(!watch_waits(&watch, 1, &waiting));
    ck_assert_uint_eq(a.asked, before);
    ck_assert(watch_waits(&watch, 2, &waiting));
    watch_remove_holder(&watch, &b.holder);
    watch_remove_holder(&watch, &b.holder);
    watch_remove_holder(NULL, &b.holder);
    ck_assert(!watch_waits(&watch, 2, &waiting));
    watch_release(&watch);
}
END_TEST

static bool visits(void *ctx, size_t *left, watch_held_fn *visit, void *visitor)
{
    struct holding *holding = ctx;
    for (unsigned i = 0; i < 3 && *left; i++, --*left)
        visit(visitor, &(struct watch_held){.span_id = holding->id});
    return *left > 0;
}

static void sum_ids(void *ctx, const struct watch_held *held)
{
    *(uint64_t *)ctx += held->span_id;
}

START_TEST(held_spans_are_visited_up_to_a_number)
{
    struct watch watch;
    struct holding a = {.id = 1}, b = {.id = 10};
    uint64_t sum = 0;
    a.holder = (struct watch_holder){.ctx = &a, .waits = holds, .visit = visits};
    b.holder = (struct watch_holder){.ctx = &b, .waits = holds};
    watch_init(&watch);
    ck_assert(watch_visit(&watch, 10, sum_ids, &sum));
    watch_add_holder(&watch, &a.holder);
    ck_assert(watch_visit(&watch, 10, sum_ids, &sum));
    ck_assert_uint_eq(sum, 3);
    ck_assert(!watch_visit(&watch, 2, sum_ids, &sum));
    ck_assert_uint_eq(sum, 5);
    watch_add_holder(&watch, &b.holder);
    ck_assert(!watch_visit(&watch, 10, sum_ids, &sum)); /* b cannot be visited */
    b.holder.visit = visits;
    sum = 0;
    ck_assert(watch_visit(&watch, 10, sum_ids, &sum));
    ck_assert_uint_eq(sum, 33);
    watch_release(&watch);
}
END_TEST

SUITE_MAIN("watch", nobody_watches_at_first, every_watcher_is_told_until_it_is_detached,
           a_span_waits_with_any_holder, held_spans_are_visited_up_to_a_number)
