#include "tests/support/grpc_fixture.h"

#include "lib/base/clock.h"
#include "lib/net/grpc/grpc_call.h"
#include "tests/support/suite.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

struct grpc_fixture grpc_fixture;

static void hold(struct grpc_call *call)
{
    pthread_mutex_lock(&grpc_fixture.mutex);
    grpc_fixture.held[grpc_fixture.held_count++] = call;
    pthread_cond_broadcast(&grpc_fixture.changed);
    pthread_mutex_unlock(&grpc_fixture.mutex);
}

void grpc_fixture_await_held(size_t count)
{
    pthread_mutex_lock(&grpc_fixture.mutex);
    while (grpc_fixture.held_count < count)
        pthread_cond_wait(&grpc_fixture.changed, &grpc_fixture.mutex);
    pthread_mutex_unlock(&grpc_fixture.mutex);
}

size_t grpc_fixture_held(void)
{
    pthread_mutex_lock(&grpc_fixture.mutex);
    size_t held = grpc_fixture.held_count;
    pthread_mutex_unlock(&grpc_fixture.mutex);
    return held;
}

struct view grpc_fixture_message(const struct grpc_call *call)
{
    return bytes_view(&call->message);
}

static void handle(void *ctx, struct grpc_call *call)
{
    struct bytes message;
    char size[32];
    ck_assert_ptr_eq(ctx, &grpc_fixture);
    if (grpc_call_metadata(call, "X-Hold")) {
        hold(call);
        return;
    }
    const char *busy = grpc_call_metadata(call, "x-busy");
    uint64_t until = busy ? clock_mono(&clock_system) + (uint64_t)atoi(busy) * NS_PER_MS : 0;
    while (clock_mono(&clock_system) < until)
        sched_yield();
    const char *fail = grpc_call_metadata(call, "x-fail");
    if (fail) {
        grpc_respond(call, (enum grpc_code)atoi(fail), "50% \xc3\xa4", 2 * NS_PER_S,
                     (struct view){0});
        return;
    }
    ck_assert_str_eq(grpc_call_path(call), GRPC_FIXTURE_PATH);
    grpc_call_take_message(call, &message);
    snprintf(size, sizeof size, "%zu", message.size);
    grpc_respond(call, GRPC_OK, "", 0, message.size <= 2000 ? bytes_view(&message) : view_of(size));
    bytes_release(&message);
}

static bool serves(void *ctx, const char *path)
{
    (void)ctx;
    return strcmp(path, GRPC_FIXTURE_PATH) == 0;
}

struct grpc_server_options grpc_fixture_options(void)
{
    struct grpc_server_options options = {.max_message = 64 << 20,
                                          .threads = 2,
                                          .max_connections = 100,
                                          .max_concurrent_streams = 100,
                                          .header_timeout_ns = 20 * NS_PER_S,
                                          .budget = &grpc_fixture.budget,
                                          .handler = handle,
                                          .serves = serves,
                                          .ctx = &grpc_fixture};
    strcpy(options.endpoint.host, "127.0.0.1");
    strcpy(options.endpoint.service, "0");
    return options;
}

void grpc_fixture_open(const struct grpc_server_options *options)
{
    char error[256];
    struct grpc_server_options usual = grpc_fixture_options();
    grpc_fixture.server = grpc_server_open(options ? options : &usual, grpc_fixture.address,
                                           sizeof grpc_fixture.address, error, sizeof error);
    ck_assert_msg(grpc_fixture.server, "%s", error);
}

static void setup(void)
{
    budget_init(&grpc_fixture.budget, (size_t)256 << 20);
    pthread_mutex_init(&grpc_fixture.mutex, NULL);
    pthread_cond_init(&grpc_fixture.changed, NULL);
    grpc_fixture.held_count = 0;
    grpc_fixture.server = NULL;
}

void grpc_fixture_close(void)
{
    grpc_server_close(grpc_fixture.server, clock_mono(&clock_system) + 20 * NS_PER_S);
    grpc_fixture.server = NULL;
}

static void teardown(void)
{
    grpc_fixture_close();
    ck_assert_uint_eq(budget_used(&grpc_fixture.budget), 0);
}

void grpc_fixture_answer_held(enum grpc_code code)
{
    for (size_t i = 0; i < grpc_fixture.held_count; i++)
        grpc_respond(grpc_fixture.held[i], code, "late", 0, VIEW("late"));
    grpc_fixture.held_count = 0;
}

TCase *grpc_fixture_case(const char *name)
{
    TCase *tcase = suite_case(name);
    tcase_add_checked_fixture(tcase, setup, teardown);
    return tcase;
}
