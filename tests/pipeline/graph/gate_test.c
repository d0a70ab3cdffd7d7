#include "pipeline/graph/gate.h"

#include "tests/support/suite.h"

#include <stdatomic.h>

enum { VISITS = 2000, VISITORS = 3 };

static struct gate gate;
static enum gate_mode mode;
static _Atomic unsigned entered;
static _Atomic int inside;

static void *visit_often(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < VISITS; i++) {
        ck_assert(gate_enter(&gate, &mode));
        inside++;
        inside--;
        gate_leave(&gate);
        entered++;
    }
    return NULL;
}

START_TEST(nobody_is_inside_while_it_is_closed)
{
    pthread_t visitors[VISITORS];
    mode = GATE_OPEN;
    gate_init(&gate);
    for (int i = 0; i < VISITORS; i++)
        pthread_create(&visitors[i], NULL, visit_often, NULL);
    while (entered < VISITORS * VISITS) {
        gate_close(&gate);
        ck_assert_int_eq(inside, 0);
        gate_open(&gate);
    }
    for (int i = 0; i < VISITORS; i++)
        pthread_join(visitors[i], NULL);
    gate_release(&gate);
}
END_TEST

static void *enter_once(void *ctx)
{
    *(bool *)ctx = gate_enter(&gate, &mode);
    return NULL;
}

static bool enters_after(enum gate_mode now)
{
    pthread_t visitor;
    bool was_let_in;
    mode = GATE_WAITS;
    gate_init(&gate);
    pthread_create(&visitor, NULL, enter_once, &was_let_in);
    gate_close(&gate);
    mode = now;
    gate_open(&gate);
    pthread_join(visitor, NULL);
    gate_release(&gate);
    return was_let_in;
}

START_TEST(who_comes_early_waits_for_the_way)
{
    ck_assert(enters_after(GATE_OPEN));
    ck_assert(!enters_after(GATE_SHUT));
}
END_TEST

static void *leave(void *ctx)
{
    (void)ctx;
    gate_leave(&gate);
    return NULL;
}

START_TEST(another_thread_may_leave)
{
    pthread_t other;
    mode = GATE_OPEN;
    gate_init(&gate);
    ck_assert(gate_enter(&gate, &mode));
    pthread_create(&other, NULL, leave, NULL);
    gate_close(&gate);
    gate_open(&gate);
    pthread_join(other, NULL);
    gate_release(&gate);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        nobody_is_inside_while_it_is_closed,
        who_comes_early_waits_for_the_way,
        another_thread_may_leave,
        NULL,
    };
    return suite_run("gate", tests);
}
