#include "pipeline/delivery/queue.h"

#include "lib/base/clock.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

static struct queue_element *element(unsigned number)
{
    struct batch *batch = some_spans(number, 1, NULL);
    struct queue_element *made = queue_element_new(QUEUE_REQUESTS, batch);
    batch_unref(batch);
    return made;
}

static bool is(const struct queue_element *made, unsigned number)
{
    return made && some_batch_has(made->batch, number);
}

static void free_list(struct queue_element *list)
{
    while (list) {
        struct queue_element *next = list->next;
        queue_element_free(list);
        list = next;
    }
}

START_TEST(places_promised_and_taken_count_together)
{
    struct queue queue = {.size = 2, .consumers = 1};
    ck_assert(queue_reserve(&queue, 1));
    ck_assert_ptr_null(queue_put(&queue, element(1)));
    queue_release(&queue, 1);
    ck_assert(!queue_reserve(&queue, 2));
    ck_assert(queue_reserve(&queue, 1));
    ck_assert(!queue_reserve(&queue, 1));
    queue_release(&queue, 1);
    ck_assert(queue_reserve(&queue, 1));
    free_list(queue_clear(&queue));
}
END_TEST

START_TEST(a_place_is_free_only_when_its_request_is_finished)
{
    struct queue queue = {.size = 1, .consumers = 1};
    queue_put(&queue, element(1));
    struct queue_element *taken = queue_take(&queue);
    ck_assert(!queue_reserve(&queue, 1));
    queue_park(&queue, taken, 10);
    ck_assert(!queue_reserve(&queue, 1));
    queue_wake(&queue, 10);
    taken = queue_take(&queue);
    queue_finish(&queue, taken);
    queue_element_free(taken);
    ck_assert(queue_reserve(&queue, 1));
}
END_TEST

START_TEST(what_is_put_back_is_the_next_and_keeps_its_place)
{
    struct queue queue = {.size = 3, .consumers = 2};
    for (unsigned i = 1; i <= 3; i++)
        queue_put(&queue, element(i));
    struct queue_element *first = queue_take(&queue), *second = queue_take(&queue);
    queue_put_back(&queue, second);
    queue_put_back(&queue, first);
    ck_assert_uint_eq(queue_used(&queue), 3);
    ck_assert_uint_eq(queue_takeable(&queue), 2);
    ck_assert_ptr_eq(queue_take(&queue), first);
    ck_assert_ptr_eq(queue_take(&queue), second);
    ck_assert_ptr_null(queue_take(&queue));
    queue_put_back(&queue, first);
    queue_put_back(&queue, second);
    free_list(queue_clear(&queue));
}
END_TEST

START_TEST(the_oldest_comes_first_and_consumers_are_bounded)
{
    struct queue queue = {.size = 9, .consumers = 2};
    for (unsigned i = 1; i <= 3; i++)
        queue_put(&queue, element(i));
    ck_assert_uint_eq(queue_takeable(&queue), 2);
    struct queue_element *first = queue_take(&queue), *second = queue_take(&queue);
    ck_assert(is(first, 1));
    ck_assert(is(second, 2));
    ck_assert_ptr_null(queue_take(&queue));
    queue_park(&queue, first, 50);
    ck_assert_ptr_null(queue_take(&queue));
    queue_finish(&queue, second);
    queue_element_free(second);
    second = queue_take(&queue);
    ck_assert(is(second, 3));
    queue_element_free(second);
    free_list(queue_clear(&queue));
}
END_TEST

START_TEST(what_goes_along_with_another_needs_no_consumer)
{
    struct queue queue = {.size = 4, .consumers = 1};
    struct queue_element *taken[3];
    for (unsigned i = 0; i < 3; i++)
        queue_put(&queue, element(i));
    taken[0] = queue_take(&queue);
    ck_assert_ptr_null(queue_take(&queue));
    for (unsigned i = 1; i < 3; i++)
        taken[i] = queue_take_also(&queue);
    ck_assert_ptr_null(queue_take_also(&queue));
    for (unsigned i = 0; i < 3; i++)
        ck_assert(is(taken[i], i));
    queue_put(&queue, element(3));
    queue_finish(&queue, taken[0]);
    ck_assert_ptr_null(queue_take(&queue));
    for (unsigned i = 1; i < 3; i++)
        queue_finish(&queue, taken[i]);
    ck_assert_uint_eq(queue_takeable(&queue), 1);
    for (unsigned i = 0; i < 3; i++)
        queue_element_free(taken[i]);
    free_list(queue_clear(&queue));
}
END_TEST

START_TEST(parked_ones_come_back_when_due_and_before_fresh_ones)
{
    struct queue queue = {.size = 9, .consumers = 3};
    for (unsigned i = 1; i <= 3; i++)
        queue_put(&queue, element(i));
    queue_park(&queue, queue_take(&queue), 200);
    queue_park(&queue, queue_take(&queue), 100);
    ck_assert_uint_eq(queue_wake(&queue, 99), 100);
    ck_assert_uint_eq(queue_wake(&queue, 100), 200);
    ck_assert_uint_eq(queue_takeable(&queue), 2);
    struct queue_element *taken = queue_take(&queue);
    ck_assert(is(taken, 2));
    queue_finish(&queue, taken);
    queue_element_free(taken);
    ck_assert_uint_eq(queue_wake(&queue, 200), TIME_NEVER);
    taken = queue_take(&queue);
    ck_assert(is(taken, 1));
    queue_finish(&queue, taken);
    queue_element_free(taken);
    free_list(queue_clear(&queue));
    ck_assert_uint_eq(queue_used(&queue), 0);
}
END_TEST

START_TEST(a_success_ends_the_waits_that_the_server_asked_for)
{
    struct queue queue = {.size = 9, .consumers = 3};
    ck_assert_uint_eq(queue_wake_parked(&queue), TIME_NEVER);
    for (unsigned i = 1; i <= 2; i++)
        queue_put(&queue, element(i));
    struct queue_element *first = queue_take(&queue), *second = queue_take(&queue);
    first->own_due = 70;
    second->own_due = 60;
    queue_park(&queue, first, 5000);
    queue_park(&queue, second, 50);
    ck_assert_uint_eq(queue_wake_parked(&queue), 50);
    ck_assert_uint_eq(first->due, 70);
    ck_assert_uint_eq(second->due, 50);
    ck_assert_uint_eq(queue_wake(&queue, 70), TIME_NEVER);
    free_list(queue_clear(&queue));
}
END_TEST

START_TEST(where_all_wait_because_the_server_asked_one_probes_it)
{
    struct queue queue = {.size = 9, .consumers = 2, .probe_every = 30};
    for (unsigned i = 1; i <= 3; i++)
        queue_put(&queue, element(i));
    struct queue_element *first = queue_take(&queue), *second = queue_take(&queue);
    first->probe_due = 30;
    second->probe_due = 40;
    queue_park(&queue, first, 5000);
    ck_assert_uint_eq(queue_wake(&queue, 35), 5000); /* the second is in flight */
    queue_park(&queue, second, 6000);
    ck_assert_uint_eq(queue_wake(&queue, 39), 40);
    ck_assert_uint_eq(queue_takeable(&queue), 0);
    ck_assert_uint_eq(queue_wake(&queue, 40), 70);
    ck_assert_uint_eq(queue_takeable(&queue), 1);
    ck_assert_ptr_eq(queue_take(&queue), first);
    first->probe_due = 71;
    queue_park(&queue, first, 5000);
    ck_assert_uint_eq(queue_wake(&queue, 70), 71);
    ck_assert_uint_eq(queue_wake(&queue, 71), 101);
    ck_assert_ptr_eq(queue_take(&queue), second);
    queue_finish(&queue, second);
    queue_element_free(second);
    ck_assert_uint_eq(queue_takeable(&queue), 1); /* the third is a probe too */
    ck_assert_uint_eq(queue_wake(&queue, 101), 5000);
    free_list(queue_clear(&queue));
}
END_TEST

START_TEST(drop_oldest_never_refuses_and_gives_back_the_oldest_queued)
{
    struct queue queue = {.size = 3, .consumers = 1, .drop_oldest = true};
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_ptr_null(queue_put(&queue, element(i)));
    struct queue_element *under_way = queue_take(&queue);
    ck_assert(queue_reserve(&queue, 5));
    queue_release(&queue, 5);
    struct queue_element *displaced = queue_put(&queue, element(4));
    ck_assert(is(under_way, 1));
    ck_assert(is(displaced, 2));
    ck_assert_uint_eq(queue_used(&queue), 3);
    queue_element_free(displaced);
    queue_finish(&queue, under_way);
    queue_element_free(under_way);
    free_list(queue_clear(&queue));
}
END_TEST

START_TEST(an_unbounded_queue_takes_everything)
{
    struct queue queue = {.size = 1, .consumers = 1, .unbounded = true, .drop_oldest = true};
    for (unsigned i = 0; i < 5; i++) {
        ck_assert(queue_reserve(&queue, 1));
        ck_assert_ptr_null(queue_put(&queue, element(i)));
    }
    free_list(queue_clear(&queue));
}
END_TEST

START_TEST(what_goes_in_parts_waits_without_a_consumer)
{
    struct queue queue = {.size = 9, .consumers = 1};
    for (unsigned i = 1; i <= 2; i++)
        queue_put(&queue, element(i));
    struct queue_element *large = queue_take(&queue);
    ck_assert_ptr_null(queue_take(&queue));
    large->progress.in_parts = true;
    queue_park(&queue, large, 50);
    ck_assert_uint_eq(queue_used(&queue), 2);
    struct queue_element *other = queue_take(&queue);
    ck_assert(is(other, 2));
    ck_assert_uint_eq(queue_wake(&queue, 50), TIME_NEVER);
    ck_assert_ptr_null(queue_take(&queue));
    ck_assert_uint_eq(queue_used(&queue), 2);
    queue_yield(&queue, other);
    ck_assert_ptr_eq(queue_take(&queue), large);
    queue_park(&queue, large, 60);
    ck_assert_ptr_eq(queue_take(&queue), other);
    queue_put_back(&queue, other);
    free_list(queue_clear(&queue));
    ck_assert_uint_eq(queue_used(&queue), 0);
}
END_TEST

/* Earlier answers came from another exporter and do not count; what was delivered stays
 * delivered. */
START_TEST(what_is_inherited_has_all_its_tries_and_keeps_its_progress)
{
    struct queue from = {.size = 9, .consumers = 1}, to = {.size = 9, .consumers = 1};
    queue_put(&from, element(1));
    struct queue_element *tried = queue_take(&from);
    tried->attempt = 7;
    tried->limited[CAUSE_INTERNAL] = 3;
    tried->progress.mark.samples = 300;
    queue_park(&from, tried, 1000);
    queue_take_over(&to, queue_clear(&from));
    ck_assert_uint_eq(queue_used(&from), 0);
    ck_assert_ptr_eq(queue_take(&to), tried);
    ck_assert_uint_eq(tried->attempt, 0);
    ck_assert_uint_eq(tried->limited[CAUSE_INTERNAL], 0);
    ck_assert_uint_eq(tried->progress.mark.samples, 300);
    queue_finish(&to, tried);
    queue_element_free(tried);
}
END_TEST

static struct queue_element *element_of(enum queue_sizer sizer, unsigned spans)
{
    struct batch *batch = some_spans(0, spans, NULL);
    struct queue_element *made = queue_element_new(sizer, batch);
    batch_unref(batch);
    return made;
}

START_TEST(items_or_bytes_are_the_places)
{
    struct queue queue = {.size = 10, .consumers = 1, .sizer = QUEUE_ITEMS};
    struct batch *batch = some_spans(0, 6, NULL);
    ck_assert_uint_eq(queue_places(QUEUE_REQUESTS, batch), 1);
    ck_assert_uint_eq(queue_places(QUEUE_ITEMS, batch), 6);
    ck_assert_uint_eq(queue_places(QUEUE_BYTES, batch), batch->payload->size);
    batch_unref(batch);
    queue_put(&queue, element_of(QUEUE_ITEMS, 6));
    ck_assert_uint_eq(queue_used(&queue), 6);
    ck_assert_uint_eq(queue.used_by[SIGNAL_TRACES], 6);
    ck_assert_uint_eq(queue.held_by[SIGNAL_TRACES], 1);
    ck_assert(!queue_reserve(&queue, 5));
    ck_assert(queue_reserve(&queue, 4));
    queue_release(&queue, 4);
    struct queue_element *taken = queue_take(&queue);
    queue_finish(&queue, taken);
    queue_element_free(taken);
    ck_assert_uint_eq(queue_used(&queue), 0);
    ck_assert_uint_eq(queue.held_by[SIGNAL_TRACES], 0);
}
END_TEST

/* What was accepted and grew would otherwise be refused for ever. */
START_TEST(an_empty_queue_takes_what_is_larger_than_it)
{
    struct queue queue = {.size = 10, .consumers = 1, .sizer = QUEUE_ITEMS};
    ck_assert(queue_reserve(&queue, 11));
    ck_assert(!queue_reserve(&queue, 1));
    queue_release(&queue, 11);
    ck_assert(queue_reserve(&queue, 1));
}
END_TEST

START_TEST(drop_oldest_gives_up_as_many_as_it_needs)
{
    struct queue queue = {.size = 10, .consumers = 1, .sizer = QUEUE_ITEMS, .drop_oldest = true};
    for (unsigned i = 0; i < 3; i++)
        ck_assert_ptr_null(queue_put(&queue, element_of(QUEUE_ITEMS, 3)));
    struct queue_element *displaced = queue_put(&queue, element_of(QUEUE_ITEMS, 6));
    ck_assert_ptr_nonnull(displaced);
    ck_assert_ptr_nonnull(displaced->next);
    ck_assert_ptr_null(displaced->next->next);
    ck_assert_uint_eq(queue_used(&queue), 9);
    free_list(displaced);
    free_list(queue_clear(&queue));
}
END_TEST

START_TEST(what_is_inherited_is_counted_by_the_new_sizer)
{
    struct queue from = {.size = 9, .consumers = 1};
    struct queue to = {.size = 9, .consumers = 1, .sizer = QUEUE_ITEMS};
    queue_put(&from, element_of(QUEUE_REQUESTS, 4));
    queue_take_over(&to, queue_clear(&from));
    ck_assert_uint_eq(queue_used(&from), 0);
    ck_assert_uint_eq(queue_used(&to), 4);
    free_list(queue_clear(&to));
    ck_assert_uint_eq(queue_used(&to), 0);
}
END_TEST

static struct queue_element *element_since(unsigned number, uint64_t since)
{
    struct queue_element *made = element(number);
    made->since = since;
    return made;
}

START_TEST(the_oldest_is_found_wherever_it_is)
{
    struct queue queue = {.size = 4, .consumers = 2};
    uint64_t due;
    ck_assert_uint_eq(queue_oldest(&queue, &due), TIME_NEVER);
    for (unsigned i = 1; i <= 4; i++)
        queue_put(&queue, element_since(i, i * 10));
    ck_assert_uint_eq(queue_oldest(&queue, &due), 10);
    struct queue_element *first = queue_take(&queue), *second = queue_take(&queue);
    ck_assert_uint_eq(queue_oldest(&queue, &due), 10);
    ck_assert_uint_eq(due, 0);
    queue_park(&queue, first, 100);
    ck_assert_uint_eq(queue_oldest(&queue, &due), 10);
    ck_assert_uint_eq(due, 100);
    queue_wake(&queue, 100);
    ck_assert_uint_eq(queue_oldest(&queue, &due), 10);
    ck_assert_uint_eq(due, 0);
    first = queue_take(&queue);
    queue_finish(&queue, first);
    queue_element_free(first);
    ck_assert_uint_eq(queue_oldest(&queue, &due), 20);
    queue_finish(&queue, second);
    queue_element_free(second);
    ck_assert_uint_eq(queue_oldest(&queue, &due), 30);
    free_list(queue_clear(&queue));
    ck_assert_uint_eq(queue_oldest(&queue, &due), TIME_NEVER);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        places_promised_and_taken_count_together,
        items_or_bytes_are_the_places,
        an_empty_queue_takes_what_is_larger_than_it,
        drop_oldest_gives_up_as_many_as_it_needs,
        what_is_inherited_is_counted_by_the_new_sizer,
        a_place_is_free_only_when_its_request_is_finished,
        what_is_put_back_is_the_next_and_keeps_its_place,
        the_oldest_comes_first_and_consumers_are_bounded,
        what_goes_along_with_another_needs_no_consumer,
        parked_ones_come_back_when_due_and_before_fresh_ones,
        a_success_ends_the_waits_that_the_server_asked_for,
        where_all_wait_because_the_server_asked_one_probes_it,
        drop_oldest_never_refuses_and_gives_back_the_oldest_queued,
        an_unbounded_queue_takes_everything,
        what_goes_in_parts_waits_without_a_consumer,
        what_is_inherited_has_all_its_tries_and_keeps_its_progress,
        the_oldest_is_found_wherever_it_is,
        NULL,
    };
    return suite_run("queue", tests);
}
