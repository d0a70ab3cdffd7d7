/*
 * Feeds a client's bytes to the gRPC server. The first byte of the input: bit 0 prepends a preface
 * and SETTINGS, bit 1 keeps calls until the end instead of answering them immediately, the rest is
 * the size of the pieces in which the bytes arrive.
 */
#include "lib/base/clock.h"
#include "lib/net/grpc/grpc_connection.h"

#include <stdlib.h>

enum { MESSAGE_MAX = 1 << 16, BUDGET = 1 << 18, HELD_MAX = 64, OUT_SIZE = 64 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct held {
    bool keep;
    struct grpc_call *calls[HELD_MAX];
    size_t count;
};

static void handle(void *ctx, struct grpc_call *call)
{
    struct held *held = ctx;
    if (held->keep && held->count < HELD_MAX) {
        held->calls[held->count++] = call;
        return;
    }
    enum grpc_code code = grpc_call_metadata(call, "x-fail") ? GRPC_UNAVAILABLE : GRPC_OK;
    grpc_respond(call, code, grpc_call_path(call), NS_PER_S, bytes_view(&call->message));
}

static bool serves(void *ctx, const char *path)
{
    (void)ctx;
    return path[0] == '/' && path[1] != 'x';
}

static void step(struct grpc_connection *connection, const uint8_t *data, size_t size)
{
    static uint8_t out[OUT_SIZE];
    grpc_connection_receive(connection, data, size);
    grpc_loop_answer(connection->loop);
    while (connection->session && grpc_connection_gather(connection, out, sizeof out) > 0)
        continue;
}

static void feed(struct grpc_connection *connection, const uint8_t *data, size_t size, size_t piece)
{
    for (size_t at = 0; at < size; at += piece)
        step(connection, data + at, size - at < piece ? size - at : piece);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t greeting[] = NGHTTP2_CLIENT_MAGIC "\0\0\0\4\0\0\0\0";
    struct held held = {.keep = size && (data[0] & 2)};
    struct budget budget;
    struct grpc_server_options options = {.max_message = MESSAGE_MAX,
                                          .threads = 1,
                                          .max_connections = 1,
                                          .max_concurrent_streams = 32,
                                          .budget = &budget,
                                          .handler = handle,
                                          .serves = serves,
                                          .ctx = &held};
    budget_init(&budget, BUDGET);
    struct grpc_server *server = size ? grpc_server_new(&options) : NULL;
    if (!server)
        return 0;
    struct grpc_loop *loop = &server->loops[0];
    struct grpc_connection *connection = grpc_connection_new(loop, -1, NULL);
    if (connection && grpc_connection_start(connection)) {
        if (data[0] & 1)
            step(connection, greeting, sizeof greeting);
        feed(connection, data + 1, size - 1, 1 + (size_t)(data[0] >> 2) * 16);
        grpc_connection_kill(connection);
    }
    for (size_t i = 0; i < held.count; i++)
        grpc_respond(held.calls[i], GRPC_OK, "", 0, bytes_view(&held.calls[i]->message));
    grpc_loop_answer(loop);
    grpc_loop_reap(loop);
    grpc_server_unref(server);
    if (budget_used(&budget) != 0)
        abort();
    return 0;
}
