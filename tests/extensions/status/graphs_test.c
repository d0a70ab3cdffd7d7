#include "extensions/status/graphs.h"

#include "tests/support/suite.h"

#include <semaphore.h>

struct drawing {
    sem_t begun, go_on;
    struct http_request *drawn[4];
    unsigned count;
};

static void draw(void *ctx, struct http_request *request)
{
    struct drawing *drawing = ctx;
    sem_post(&drawing->begun);
    sem_wait(&drawing->go_on);
    drawing->drawn[drawing->count++] = request;
}

/* Requests are only passed on. */
static struct http_request *request(uintptr_t number)
{
    return (struct http_request *)number;
}

START_TEST(one_waits_for_the_one_that_is_drawn_and_more_are_refused_at_once)
{
    struct graphs graphs;
    struct drawing drawing = {.count = 0};
    sem_init(&drawing.begun, 0, 0);
    sem_init(&drawing.go_on, 0, 0);
    ck_assert(graphs_open(&graphs, draw, &drawing));
    ck_assert(graphs_put(&graphs, request(1)));
    ck_assert(graphs_put(&graphs, request(2)));
    ck_assert(!graphs_put(&graphs, request(3)));
    sem_wait(&drawing.begun);
    ck_assert(!graphs_put(&graphs, request(3)));
    sem_post(&drawing.go_on);
    sem_wait(&drawing.begun); /* now the second is drawn */
    ck_assert(graphs_put(&graphs, request(4)));
    sem_post(&drawing.go_on);
    sem_post(&drawing.go_on);
    graphs_close(&graphs);
    graphs_close(&graphs);
    ck_assert_uint_eq(drawing.count, 3);
    ck_assert_ptr_eq(drawing.drawn[0], request(1));
    ck_assert_ptr_eq(drawing.drawn[1], request(2));
    ck_assert_ptr_eq(drawing.drawn[2], request(4));
    sem_destroy(&drawing.begun);
    sem_destroy(&drawing.go_on);
}
END_TEST

SUITE_MAIN("status graphs", one_waits_for_the_one_that_is_drawn_and_more_are_refused_at_once)
