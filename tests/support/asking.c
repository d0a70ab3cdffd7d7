#include "tests/support/asking.h"

#include <check.h>
#include <pthread.h>
#include <string.h>

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    auth_done_fn *done;
    void *ctx;
} asked = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static enum auth_result look(void *self, const char *value)
{
    (void)self;
    if (!value)
        return AUTH_DENIED;
    return strcmp(value, "yes") == 0    ? AUTH_GRANTED
           : strcmp(value, "ask") == 0  ? AUTH_PENDING
           : strcmp(value, "busy") == 0 ? AUTH_LATER
                                        : AUTH_DENIED;
}

static void check(void *self, const char *value, auth_done_fn *done, void *ctx)
{
    (void)self;
    ck_assert_str_eq(value, "ask");
    pthread_mutex_lock(&asked.mutex);
    asked.done = done;
    asked.ctx = ctx;
    pthread_cond_signal(&asked.changed);
    pthread_mutex_unlock(&asked.mutex);
}

const struct authenticator asking = {
    .header = "X-Who", .challenge = "Test realm=\"t\"", .look = look, .check = check};

void asking_await(void)
{
    pthread_mutex_lock(&asked.mutex);
    while (!asked.done)
        pthread_cond_wait(&asked.changed, &asked.mutex);
    pthread_mutex_unlock(&asked.mutex);
}

void asking_say(enum auth_result result)
{
    asking_await();
    auth_done_fn *done = asked.done;
    asked.done = NULL;
    done(asked.ctx, result);
}
