#include "lib/base/clock.h"
#include "lib/net/endpoint.h"
#include "lib/net/grpc/grpc_server.h"
#include "lib/net/http/http_client.h"
#include "lib/wire/http/grpc_frame.h"
#include "tests/support/grpc_fixture.h"
#include "tests/support/suite.h"
#include "tests/support/tls_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* gRPC calls of the HTTP client against this project's own server. */

static void answer_grpc(void *ctx, struct grpc_call *call)
{
    unsigned *calls = ctx;
    ++*calls;
    struct view message = grpc_fixture_message(call);
    if (view_eq(message, VIEW("fail")))
        grpc_respond(call, GRPC_UNAVAILABLE, "50% caf\xc3\xa9", 3 * NS_PER_S, (struct view){0});
    else
        grpc_respond(call, GRPC_OK, "", 0, VIEW("reply"));
}

static bool serves(void *ctx, const char *path)
{
    (void)ctx;
    return strcmp(path, "/test.Service/Export") == 0;
}

static struct grpc_server *open_tls(struct tls_server *tls, const char *port, char *bound,
                                    size_t bound_size, unsigned *calls)
{
    char error[256];
    struct grpc_server_options options = {.tls = tls,
                                          .max_message = 1000,
                                          .threads = 1,
                                          .max_connections = 10,
                                          .max_concurrent_streams = 10,
                                          .handler = answer_grpc,
                                          .serves = serves,
                                          .ctx = calls};
    strcpy(options.endpoint.host, "127.0.0.1");
    strcpy(options.endpoint.service, port);
    struct grpc_server *server = grpc_server_open(&options, bound, bound_size, error, sizeof error);
    ck_assert_msg(server, "%s", error);
    return server;
}

static struct grpc_server *open_grpc(const char *port, char *bound, size_t bound_size,
                                     unsigned *calls)
{
    return open_tls(NULL, port, bound, bound_size, calls);
}

static void close_grpc(struct grpc_server *server)
{
    grpc_server_close(server, clock_mono(&clock_system) + 20 * NS_PER_S);
}

static bool call_unless(struct veto veto, struct http_client *client, const char *bound,
                        struct view message, struct http_reply *reply)
{
    const struct http_header headers[] = {{"content-type", "application/grpc"}, {"te", "trailers"}};
    char url[128];
    uint8_t prefix[GRPC_PREFIX_SIZE];
    const struct view body[] = {{prefix, sizeof prefix}, message};
    snprintf(url, sizeof url, "http://%s/test.Service/Export", bound);
    grpc_frame_prefix(prefix, false, (uint32_t)message.size);
    return http_client_post_pieces(client, url, headers, 2, (struct pieces){body, 2}, veto, reply);
}

static bool call_grpc(struct http_client *client, const char *bound, struct view message,
                      struct http_reply *reply)
{
    return call_unless(VETO_NONE, client, bound, message, reply);
}

static struct http_client *make_grpc_client(void)
{
    char error[256];
    const struct http_client_options options = {
        .http2 = true, .timeout_ns = 20 * NS_PER_S, .max_reply = 1000};
    struct http_client *client = http_client_new(&options, error, sizeof error);
    ck_assert_msg(client, "%s", error);
    return client;
}

START_TEST(a_grpc_answer_has_its_message_and_its_status)
{
    char bound[64];
    unsigned calls = 0;
    struct grpc_server *server = open_grpc("0", bound, sizeof bound, &calls);
    struct http_client *client = make_grpc_client();
    for (int i = 0; i < 3; i++) {
        struct http_reply reply;
        bool ok = call_grpc(client, bound, VIEW("hello"), &reply);
        ck_assert_msg(ok, "%s", reply.error);
        ck_assert_int_eq(reply.status, 200);
        ck_assert_int_eq(reply.grpc_status, GRPC_OK);
        ck_assert(view_eq(bytes_view(&reply.body), VIEW("\0\0\0\0\5reply")));
        http_reply_release(&reply);
    }
    ck_assert_uint_eq(calls, 3);
    http_client_free(client);
    close_grpc(server);
}
END_TEST

START_TEST(a_grpc_error_has_its_decoded_message_and_its_details)
{
    char bound[64], message[64];
    unsigned calls = 0;
    int code;
    bool has_retry_info;
    uint64_t wait;
    struct http_reply reply;
    struct grpc_server *server = open_grpc("0", bound, sizeof bound, &calls);
    struct http_client *client = make_grpc_client();
    ck_assert(call_grpc(client, bound, VIEW("fail"), &reply));
    ck_assert_int_eq(reply.grpc_status, GRPC_UNAVAILABLE);
    ck_assert_str_eq(reply.grpc_message, "50% caf\xc3\xa9");
    ck_assert(rpc_status_decode(bytes_view(&reply.grpc_details), &code, message, sizeof message,
                                &has_retry_info, &wait));
    ck_assert(has_retry_info);
    ck_assert_uint_eq(wait, 3 * NS_PER_S);
    http_reply_release(&reply);
    http_client_free(client);
    close_grpc(server);
}
END_TEST

START_TEST(a_grpc_refusal_in_the_middle_of_a_message_is_an_answer)
{
    char bound[64];
    unsigned calls = 0;
    struct http_reply reply;
    struct grpc_server *server = open_grpc("0", bound, sizeof bound, &calls);
    struct http_client *client = make_grpc_client();
    size_t size = 20 << 20;
    uint8_t *body = calloc(1, size);
    bool ok = call_grpc(client, bound, (struct view){body, size}, &reply);
    ck_assert_msg(ok, "%s", reply.error);
    ck_assert_int_eq(reply.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    http_reply_release(&reply);
    ok = call_grpc(client, bound, VIEW("next"), &reply);
    ck_assert_msg(ok, "%s", reply.error);
    ck_assert_int_eq(reply.grpc_status, GRPC_OK);
    http_reply_release(&reply);
    http_client_free(client);
    close_grpc(server);
    free(body);
}
END_TEST

START_TEST(a_grpc_server_that_was_restarted_is_found_again)
{
    char bound[64];
    unsigned calls = 0;
    struct http_reply reply;
    struct grpc_server *server = open_grpc("0", bound, sizeof bound, &calls);
    struct http_client *client = make_grpc_client();
    ck_assert(call_grpc(client, bound, VIEW("one"), &reply));
    http_reply_release(&reply);
    close_grpc(server);
    ck_assert(!call_grpc(client, bound, VIEW("two"), &reply));
    ck_assert_ptr_nonnull(strstr(reply.error, "connection refused"));
    http_reply_release(&reply);
    server = open_grpc(strrchr(bound, ':') + 1, bound, sizeof bound, &calls);
    bool ok = call_grpc(client, bound, VIEW("three"), &reply);
    ck_assert_msg(ok, "%s", reply.error);
    ck_assert_int_eq(reply.grpc_status, GRPC_OK);
    http_reply_release(&reply);
    http_client_free(client);
    close_grpc(server);
}
END_TEST

/* Another server takes this one's place after a veto was asked for. */
struct succession {
    struct grpc_server *server;
    char bound[64];
    unsigned calls;
    unsigned asked;
};

/* Passes at first, then the veto is given. */
static bool succeed(const void *ctx)
{
    struct succession *succession = *(struct succession *const *)ctx;
    if (succession->asked++ > 0)
        return true;
    close_grpc(succession->server);
    succession->server = open_grpc(strrchr(succession->bound, ':') + 1, succession->bound,
                                   sizeof succession->bound, &succession->calls);
    return false;
}

START_TEST(a_call_is_not_made_again_after_a_veto)
{
    struct succession succession = {.asked = 0}, *ctx = &succession;
    struct http_reply reply;
    succession.server =
        open_grpc("0", succession.bound, sizeof succession.bound, &succession.calls);
    struct http_client *client = make_grpc_client();
    ck_assert(call_grpc(client, succession.bound, VIEW("one"), &reply));
    http_reply_release(&reply);
    ck_assert(
        !call_unless((struct veto){succeed, &ctx}, client, succession.bound, VIEW("two"), &reply));
    ck_assert(reply.withheld);
    ck_assert_uint_eq(succession.asked, 2);
    ck_assert_uint_eq(succession.calls, 1);
    http_reply_release(&reply);
    bool ok = call_grpc(client, succession.bound, VIEW("three"), &reply);
    ck_assert_msg(ok, "%s", reply.error);
    ck_assert_uint_eq(succession.calls, 2);
    http_reply_release(&reply);
    http_client_free(client);
    close_grpc(succession.server);
}
END_TEST

/* ---- over TLS ---- */

static struct tls_world world;

static struct http_client *make_tls_client(bool shows)
{
    char error[256];
    struct http_client_options options = tls_world_client(&world, shows);
    options.http2 = true;
    struct http_client *client = http_client_new(&options, error, sizeof error);
    ck_assert_msg(client, "%s", error);
    return client;
}

static struct grpc_server *open_world(char bound[64], unsigned *calls)
{
    tls_world_make(&world);
    static struct tls_server_settings settings;
    settings = tls_world_server_settings(&world);
    return open_tls(tls_world_server(&settings), "0", bound, 64, calls);
}

START_TEST(answers_and_errors_come_over_tls)
{
    char bound[64];
    unsigned calls = 0;
    struct grpc_server *server = open_world(bound, &calls);
    struct http_client *client = make_tls_client(false);
    for (int i = 0; i < 3; i++) {
        struct http_reply reply;
        bool ok =
            tls_world_post(client, true, bound, i == 1 ? VIEW("fail") : VIEW("hello"), &reply);
        ck_assert_msg(ok, "%s", reply.error);
        ck_assert_int_eq(reply.grpc_status, i == 1 ? GRPC_UNAVAILABLE : GRPC_OK);
        http_reply_release(&reply);
    }
    ck_assert_uint_eq(calls, 3);
    http_client_free(client);
    close_grpc(server);
    tls_world_remove(&world);
}
END_TEST

START_TEST(a_refusal_in_the_middle_of_a_message_is_an_answer_over_tls)
{
    char bound[64];
    unsigned calls = 0;
    struct http_reply reply;
    struct grpc_server *server = open_world(bound, &calls);
    struct http_client *client = make_tls_client(false);
    size_t size = 20 << 20;
    uint8_t *body = calloc(1, size);
    bool ok = tls_world_post(client, true, bound, (struct view){body, size}, &reply);
    ck_assert_msg(ok, "%s", reply.error);
    ck_assert_int_eq(reply.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    http_reply_release(&reply);
    ok = tls_world_post(client, true, bound, VIEW("next"), &reply);
    ck_assert_msg(ok, "%s", reply.error);
    ck_assert_int_eq(reply.grpc_status, GRPC_OK);
    http_reply_release(&reply);
    http_client_free(client);
    close_grpc(server);
    free(body);
    tls_world_remove(&world);
}
END_TEST

/* In TLS 1.3 the client learns of it after its handshake. */
START_TEST(a_server_that_wants_a_certificate_says_so)
{
    char bound[64];
    unsigned calls = 0;
    struct http_reply reply;
    tls_world_make(&world);
    struct tls_server_settings settings = tls_world_server_settings(&world);
    settings.client_ca_file = world.paths[WORLD_CA];
    struct grpc_server *server =
        open_tls(tls_world_server(&settings), "0", bound, sizeof bound, &calls);
    struct http_client *client = make_tls_client(false);
    ck_assert(!tls_world_post(client, true, bound, VIEW("hello"), &reply));
    ck_assert_msg(strstr(reply.error, "TLS with localhost:") == reply.error &&
                      strcasestr(reply.error, "certificate"),
                  "%s", reply.error);
    http_reply_release(&reply);
    http_client_free(client);
    ck_assert_uint_eq(calls, 0);
    close_grpc(server);
    tls_world_remove(&world);
}
END_TEST

START_TEST(a_server_that_never_shakes_hands_times_out)
{
    const struct endpoint endpoint = {.host = "127.0.0.1", .service = "0"};
    char bound[64], error[256];
    struct http_reply reply;
    tls_world_make(&world);
    int listener = endpoint_listen(&endpoint, bound, sizeof bound, error, sizeof error);
    ck_assert_int_ge(listener, 0);
    struct http_client_options options = tls_world_client(&world, false);
    options.http2 = true;
    options.timeout_ns = 100 * NS_PER_MS;
    struct http_client *client = http_client_new(&options, error, sizeof error);
    ck_assert(!tls_world_post(client, true, bound, VIEW("hello"), &reply));
    ck_assert(reply.timed_out);
    http_reply_release(&reply);
    http_client_free(client);
    close(listener);
    tls_world_remove(&world);
}
END_TEST

SUITE_MAIN("net/http_handle_h2", a_grpc_answer_has_its_message_and_its_status,
           a_grpc_error_has_its_decoded_message_and_its_details,
           a_grpc_refusal_in_the_middle_of_a_message_is_an_answer,
           a_grpc_server_that_was_restarted_is_found_again, a_call_is_not_made_again_after_a_veto,
           answers_and_errors_come_over_tls,
           a_refusal_in_the_middle_of_a_message_is_an_answer_over_tls,
           a_server_that_wants_a_certificate_says_so, a_server_that_never_shakes_hands_times_out)
