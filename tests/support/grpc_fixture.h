/* A gRPC server with a test handler. */
#ifndef TESTS_SUPPORT_GRPC_FIXTURE_H
#define TESTS_SUPPORT_GRPC_FIXTURE_H

#include "lib/net/grpc/grpc_server.h"

#include <check.h>
#include <pthread.h>

#define GRPC_FIXTURE_PATH "/test.Service/Export"

/* The handler echoes the message, or the size of one above 2000 bytes. A call with the header
 * x-fail gets that code and "wait 2 s"; one with x-hold is kept until the test answers it;
 * one with x-busy occupies its thread for so many milliseconds. */
struct grpc_fixture {
    struct budget budget; /* of 256 MiB, unless the test changes it before the server starts */
    struct grpc_server *server;
    char address[64];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct grpc_call *held[16];
    size_t held_count;
};

/* One a process; the checked fixture sets it up and, after the test, closes the server and checks
 * that the budget is fully released. */
extern struct grpc_fixture grpc_fixture;

/* A test case with the fixture, and a timeout long enough for sanitizers. */
TCase *grpc_fixture_case(const char *name);

struct grpc_server_options grpc_fixture_options(void);
void grpc_fixture_open(const struct grpc_server_options *options); /* NULL: unchanged */
void grpc_fixture_close(void);
void grpc_fixture_await_held(size_t count);
size_t grpc_fixture_held(void);
/* The message of a call that is not answered yet. */
struct view grpc_fixture_message(const struct grpc_call *call);
void grpc_fixture_answer_held(enum grpc_code code);

#endif
