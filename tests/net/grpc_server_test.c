#include "net/grpc_server.h"

#include "base/clock.h"
#include "net/http_client.h"
#include "tests/support/h2_peer.h"
#include "wire/base64.h"
#include "wire/compress.h"
#include "wire/grpc_frame.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATH "/test.Service/Export"

/* A server whose handler echoes the message (or, of a large one, its size); calls with the header
 * x-hold are kept instead, until the test answers them. */
struct fixture {
    struct budget budget;
    struct grpc_server *server;
    char address[64];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct grpc_call *held[16];
    size_t held_count;
};

static struct fixture fixture;

static void hold(struct grpc_call *call)
{
    pthread_mutex_lock(&fixture.mutex);
    fixture.held[fixture.held_count++] = call;
    pthread_cond_broadcast(&fixture.changed);
    pthread_mutex_unlock(&fixture.mutex);
}

static void await_held(size_t count)
{
    pthread_mutex_lock(&fixture.mutex);
    while (fixture.held_count < count)
        pthread_cond_wait(&fixture.changed, &fixture.mutex);
    pthread_mutex_unlock(&fixture.mutex);
}

static void handle(void *ctx, struct grpc_call *call)
{
    struct bytes message;
    char size[32];
    ck_assert_ptr_eq(ctx, &fixture);
    if (grpc_call_metadata(call, "X-Hold")) {
        hold(call);
        return;
    }
    const char *fail = grpc_call_metadata(call, "x-fail");
    if (fail) {
        grpc_respond(call, (enum grpc_code)atoi(fail), "50% \xc3\xa4", 2 * NS_PER_S,
                     (struct view){0});
        return;
    }
    ck_assert_str_eq(grpc_call_path(call), PATH);
    grpc_call_take_message(call, &message);
    snprintf(size, sizeof size, "%zu", message.size);
    grpc_respond(call, GRPC_OK, "", 0,
                 message.size <= 2000 ? bytes_view(&message) : view_of(size));
    bytes_release(&message);
}

static bool serves(void *ctx, const char *path)
{
    (void)ctx;
    return strcmp(path, PATH) == 0;
}

static struct grpc_server_options defaults(void)
{
    struct grpc_server_options options = {.max_message = 64 << 20,
                                          .threads = 2,
                                          .max_connections = 100,
                                          .max_concurrent_streams = 100,
                                          .header_timeout_ns = 20 * NS_PER_S,
                                          .budget = &fixture.budget,
                                          .handler = handle,
                                          .serves = serves,
                                          .ctx = &fixture};
    strcpy(options.endpoint.host, "127.0.0.1");
    strcpy(options.endpoint.service, "0");
    return options;
}

static void open_with(const struct grpc_server_options *options)
{
    char error[256];
    fixture.server = grpc_server_open(options, fixture.address, sizeof fixture.address, error,
                                      sizeof error);
    ck_assert_msg(fixture.server, "%s", error);
}

static void open_default(void)
{
    struct grpc_server_options options = defaults();
    open_with(&options);
}

static void setup(void)
{
    budget_init(&fixture.budget, (size_t)256 << 20);
    pthread_mutex_init(&fixture.mutex, NULL);
    pthread_cond_init(&fixture.changed, NULL);
    fixture.held_count = 0;
    fixture.server = NULL;
}

static void close_server(void)
{
    grpc_server_close(fixture.server, clock_mono(&clock_system) + 20 * NS_PER_S);
    fixture.server = NULL;
}

/* Whatever a test did, the budget gets everything back. */
static void teardown(void)
{
    close_server();
    ck_assert_uint_eq(budget_used(&fixture.budget), 0);
}

static void answer_held(enum grpc_code code)
{
    for (size_t i = 0; i < fixture.held_count; i++)
        grpc_respond(fixture.held[i], code, "late", 0, VIEW("late"));
    fixture.held_count = 0;
}

/* ---- calls through a real client ---- */

static struct http_client *make_client(void)
{
    char error[256];
    struct http_client_options options = {.http2 = true,
                                          .timeout_ns = 20 * NS_PER_S,
                                          .max_reply = 4096};
    struct http_client *client = http_client_new(&options, error, sizeof error);
    ck_assert_ptr_nonnull(client);
    return client;
}

static void call(struct http_client *client, const char *encoding, struct view message,
                 struct http_reply *reply)
{
    const struct http_header headers[] = {{"content-type", "application/grpc"},
                                          {"te", "trailers"},
                                          {"grpc-encoding", encoding}};
    struct bytes body;
    char url[128];
    uint8_t prefix[GRPC_PREFIX_SIZE];
    snprintf(url, sizeof url, "http://%s" PATH, fixture.address);
    bytes_init(&body, SIZE_MAX / 2, NULL);
    grpc_frame_prefix(prefix, strcmp(encoding, "identity") != 0, (uint32_t)message.size);
    ck_assert_int_eq(bytes_append(&body, prefix, sizeof prefix), BYTES_OK);
    ck_assert_int_eq(bytes_append_view(&body, message), BYTES_OK);
    bool ok = http_client_post(client, url, headers, 3, bytes_view(&body), reply);
    ck_assert_msg(ok, "%s", reply->error);
    bytes_release(&body);
}

static void check_reply(struct http_reply *reply, const char *text)
{
    bool compressed;
    struct view message;
    ck_assert_int_eq(reply->status, 200);
    ck_assert_int_eq(reply->grpc_status, GRPC_OK);
    ck_assert_int_eq(grpc_frame_read(bytes_view(&reply->body), &compressed, &message),
                     GRPC_FRAME_OK);
    ck_assert(view_eq(message, view_of(text)));
    http_reply_release(reply);
}

START_TEST(a_call_is_answered_with_a_message_and_trailers)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    open_default();
    call(client, "identity", VIEW("hello"), &reply);
    check_reply(&reply, "hello");
    call(client, "identity", VIEW(""), &reply);
    check_reply(&reply, "");
    http_client_free(client);
}
END_TEST

START_TEST(a_message_of_64_mib_comes_whole)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    size_t size = (size_t)64 << 20;
    uint8_t *data = malloc(size);
    memset(data, 'x', size);
    open_default();
    call(client, "identity", (struct view){data, size}, &reply);
    check_reply(&reply, "67108864");
    free(data);
    http_client_free(client);
}
END_TEST

START_TEST(compressed_messages_are_inflated)
{
    const enum encoding_name encodings[] = {ENCODING_GZIP, ENCODING_ZSTD};
    struct http_client *client = make_client();
    open_default();
    for (int i = 0; i < 2; i++) {
        struct http_reply reply;
        struct bytes packed;
        bytes_init(&packed, 1000, NULL);
        ck_assert(deflate_append(encodings[i], VIEW("squeeze me"), &packed));
        call(client, encoding_text(encodings[i]), bytes_view(&packed), &reply);
        check_reply(&reply, "squeeze me");
        bytes_release(&packed);
    }
    http_client_free(client);
}
END_TEST

START_TEST(a_message_that_inflates_past_the_maximum_is_refused_for_good)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    struct grpc_server_options options = defaults();
    uint8_t zeros[20000] = {0};
    struct bytes packed;
    options.max_message = 10000;
    open_with(&options);
    bytes_init(&packed, 20000, NULL);
    ck_assert(deflate_append(ENCODING_GZIP, (struct view){zeros, sizeof zeros}, &packed));
    call(client, "gzip", bytes_view(&packed), &reply);
    ck_assert_int_eq(reply.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(reply.grpc_message, "maximum"));
    ck_assert_uint_eq(reply.grpc_details.size, 0);
    http_reply_release(&reply);
    bytes_release(&packed);
    http_client_free(client);
}
END_TEST

START_TEST(a_message_past_the_maximum_is_refused_for_good)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    struct grpc_server_options options = defaults();
    size_t size = 3 << 20;
    uint8_t *data = calloc(1, size);
    options.max_message = size - 1;
    open_with(&options);
    call(client, "identity", (struct view){data, size}, &reply);
    ck_assert_int_eq(reply.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(reply.grpc_message, "maximum"));
    ck_assert_uint_eq(reply.grpc_details.size, 0);
    http_reply_release(&reply);
    call(client, "identity", (struct view){data, size - 1}, &reply);
    check_reply(&reply, "3145727");
    free(data);
    http_client_free(client);
}
END_TEST

START_TEST(without_room_in_the_budget_clients_are_told_to_retry)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    size_t size = 3 << 20;
    uint8_t *data = calloc(1, size);
    char message[64];
    int code;
    bool has_retry_info;
    uint64_t wait;
    open_default();
    budget_force(&fixture.budget, fixture.budget.limit - (1 << 20));
    call(client, "identity", (struct view){data, size}, &reply);
    ck_assert_int_eq(reply.grpc_status, GRPC_UNAVAILABLE);
    ck_assert(rpc_status_decode(bytes_view(&reply.grpc_details), &code, message, sizeof message,
                                &has_retry_info, &wait));
    ck_assert(has_retry_info);
    ck_assert_uint_gt(wait, 0);
    http_reply_release(&reply);
    budget_give(&fixture.budget, fixture.budget.limit - (1 << 20));
    call(client, "identity", (struct view){data, size}, &reply);
    check_reply(&reply, "3145728");
    free(data);
    http_client_free(client);
}
END_TEST

START_TEST(a_message_larger_than_the_whole_budget_is_refused_for_good)
{
    struct http_reply reply;
    struct http_client *client = make_client();
    uint8_t data[20000] = {0};
    budget_init(&fixture.budget, sizeof data - 1);
    open_default();
    call(client, "identity", (struct view){data, sizeof data}, &reply);
    ck_assert_int_eq(reply.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(reply.grpc_message, "maximum"));
    http_reply_release(&reply);
    http_client_free(client);
}
END_TEST

static void *call_many(void *arg)
{
    struct http_client *client = arg;
    for (int i = 0; i < 100; i++) {
        struct http_reply reply;
        char text[32];
        snprintf(text, sizeof text, "message %d", i);
        call(client, "identity", view_of(text), &reply);
        check_reply(&reply, text);
    }
    return NULL;
}

START_TEST(calls_on_many_connections_get_their_own_answers)
{
    struct http_client *client = make_client();
    pthread_t threads[8];
    open_default();
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_many, client), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    http_client_free(client);
}
END_TEST

/* ---- frames ---- */

START_TEST(streams_of_one_connection_are_answered_in_the_order_of_the_answers)
{
    struct h2_peer peer;
    struct h2_answer answer;
    open_default();
    h2_peer_open(&peer, fixture.address);
    h2_peer_call(&peer, 1, PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("first"));
    await_held(1);
    h2_peer_call(&peer, 3, PATH, NULL, NULL);
    h2_peer_message(&peer, 3, false, VIEW("second"));
    h2_peer_answer(&peer, 3, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    ck_assert_uint_eq(answer.size, GRPC_PREFIX_SIZE + 6);
    answer_held(GRPC_OK);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    ck_assert_mem_eq(answer.data + GRPC_PREFIX_SIZE, "late", 4);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(an_error_comes_as_trailers_only_with_its_details)
{
    struct h2_peer peer;
    struct h2_answer answer;
    struct bytes details;
    char message[64];
    int code;
    bool has_retry_info;
    uint64_t wait;
    open_default();
    h2_peer_open(&peer, fixture.address);
    h2_peer_call(&peer, 1, PATH, "x-fail", "14");
    h2_peer_message(&peer, 1, false, VIEW("x"));
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.http_status, 200);
    ck_assert_int_eq(answer.grpc_status, GRPC_UNAVAILABLE);
    ck_assert_str_eq(answer.message, "50% \xc3\xa4");
    ck_assert_uint_eq(answer.size, 0);
    bytes_init(&details, 1000, NULL);
    ck_assert_int_eq(base64_decode(view_of(answer.details), &details), BASE64_OK);
    ck_assert(rpc_status_decode(bytes_view(&details), &code, message, sizeof message,
                                &has_retry_info, &wait));
    ck_assert_int_eq(code, GRPC_UNAVAILABLE);
    ck_assert_uint_eq(wait, 2 * NS_PER_S);
    bytes_release(&details);
    h2_peer_close(&peer);
}
END_TEST

/* One call with that header and message; the answer. */
static struct h2_answer try_call(const char *path, const char *name, const char *value,
                                 struct view frames)
{
    struct h2_peer peer;
    struct h2_answer answer;
    h2_peer_open(&peer, fixture.address);
    h2_peer_call(&peer, 1, path, name, value);
    h2_peer_frame(&peer, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, frames);
    h2_peer_answer(&peer, 1, &answer);
    h2_peer_close(&peer);
    return answer;
}

START_TEST(a_path_that_is_not_served_is_unimplemented)
{
    open_default();
    struct h2_answer answer = try_call("/no.Such/Thing", NULL, NULL, VIEW("\0\0\0\0\0"));
    ck_assert_int_eq(answer.http_status, 200);
    ck_assert_int_eq(answer.grpc_status, GRPC_UNIMPLEMENTED);
    ck_assert_str_eq(answer.message, "unknown service or method");
}
END_TEST

START_TEST(an_unknown_encoding_is_unimplemented_and_the_known_ones_are_named)
{
    open_default();
    struct h2_answer answer = try_call(PATH, "grpc-encoding", "snappy", VIEW("\1\0\0\0\1x"));
    ck_assert_int_eq(answer.grpc_status, GRPC_UNIMPLEMENTED);
    ck_assert_ptr_nonnull(strstr(answer.message, "snappy"));
    ck_assert_ptr_nonnull(strstr(answer.accept_encoding, "gzip"));
}
END_TEST

START_TEST(bodies_that_are_not_one_message_are_refused)
{
    static const struct {
        const char *encoding;
        struct view frames;
        int code;
    } rows[] = {
        {"identity", VIEW(""), GRPC_INTERNAL},
        {"identity", VIEW("\0\0\0"), GRPC_INTERNAL},
        {"identity", VIEW("\0\0\0\0\5four"), GRPC_INTERNAL},
        {"identity", VIEW("\0\0\0\0\4four more"), GRPC_INTERNAL},
        {"identity", VIEW("\2\0\0\0\4four"), GRPC_INTERNAL},
        {"identity", VIEW("\1\0\0\0\4four"), GRPC_INTERNAL},
        {"gzip", VIEW("\1\0\0\0\4four"), GRPC_INVALID_ARGUMENT},
        {"zstd", VIEW("\1\0\0\0\4four"), GRPC_INVALID_ARGUMENT},
        {"identity", VIEW("\0\xff\xff\xff\xff"), GRPC_RESOURCE_EXHAUSTED},
        {"gzip", VIEW("\0\0\0\0\4four"), GRPC_OK},
    };
    open_default();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct h2_answer answer = try_call(PATH, "grpc-encoding", rows[i].encoding,
                                           rows[i].frames);
        ck_assert_msg(answer.grpc_status == rows[i].code, "row %zu: %d %s", i, answer.grpc_status,
                      answer.message);
    }
}
END_TEST

static int http_status_of(const char *method, const char *content_type)
{
    uint8_t block[512];
    struct h2_peer peer;
    struct h2_answer answer;
    size_t n = h2_field(block, ":method", method);
    n += h2_field(block + n, ":scheme", "http");
    n += h2_field(block + n, ":authority", "test");
    n += h2_field(block + n, ":path", PATH);
    n += h2_field(block + n, "content-type", content_type);
    h2_peer_open(&peer, fixture.address);
    h2_peer_frame(&peer, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, (struct view){block, n});
    h2_peer_message(&peer, 1, false, VIEW("x"));
    h2_peer_answer(&peer, 1, &answer);
    h2_peer_close(&peer);
    return answer.http_status;
}

START_TEST(only_posts_of_grpc_are_taken)
{
    open_default();
    ck_assert_int_eq(http_status_of("POST", "application/grpc"), 200);
    ck_assert_int_eq(http_status_of("POST", "application/grpc+proto"), 200);
    ck_assert_int_eq(http_status_of("POST", "application/grpc; charset=utf-8"), 200);
    ck_assert_int_eq(http_status_of("POST", "application/grpc+json"), 415);
    ck_assert_int_eq(http_status_of("POST", "application/grpc-web"), 415);
    ck_assert_int_eq(http_status_of("POST", "application/x-protobuf"), 415);
    ck_assert_int_eq(http_status_of("GET", "application/grpc"), 405);
}
END_TEST

START_TEST(after_an_early_refusal_the_rest_is_read_past_and_other_calls_go_on)
{
    struct h2_peer peer;
    struct h2_answer answer;
    open_default();
    h2_peer_open(&peer, fixture.address);
    h2_peer_call(&peer, 1, PATH, NULL, NULL);
    h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, VIEW("\0\xff\xff\xff\xff data"));
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    h2_peer_frame(&peer, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, VIEW("that was under way"));
    h2_peer_call(&peer, 3, PATH, NULL, NULL);
    h2_peer_message(&peer, 3, false, VIEW("next"));
    h2_peer_answer(&peer, 3, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(pings_are_answered)
{
    struct h2_peer peer;
    struct h2_frame frame;
    open_default();
    h2_peer_open(&peer, fixture.address);
    h2_peer_frame(&peer, NGHTTP2_PING, 0, 0, VIEW("12345678"));
    h2_peer_expect(&peer, NGHTTP2_PING, &frame);
    ck_assert_int_eq(frame.flags, NGHTTP2_FLAG_ACK);
    ck_assert_mem_eq(frame.payload, "12345678", 8);
    h2_peer_close(&peer);
}
END_TEST

/* ---- calls that outlive what they came by ---- */

/* A ping's answer tells that the server has read what came before it. */
static void settle(struct h2_peer *peer)
{
    struct h2_frame frame;
    h2_peer_frame(peer, NGHTTP2_PING, 0, 0, VIEW("settled?"));
    h2_peer_expect(peer, NGHTTP2_PING, &frame);
}

START_TEST(a_call_may_be_answered_after_its_stream_was_reset)
{
    struct h2_peer peer;
    struct h2_answer answer;
    open_default();
    h2_peer_open(&peer, fixture.address);
    h2_peer_call(&peer, 1, PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("gone"));
    await_held(1);
    h2_peer_frame(&peer, NGHTTP2_RST_STREAM, 0, 1, VIEW("\0\0\0\x8"));
    settle(&peer);
    ck_assert(view_eq(grpc_call_message(fixture.held[0]), VIEW("gone")));
    answer_held(GRPC_OK);
    h2_peer_call(&peer, 3, PATH, NULL, NULL);
    h2_peer_message(&peer, 3, false, VIEW("here"));
    h2_peer_answer(&peer, 3, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_call_may_be_answered_after_its_connection_died)
{
    struct h2_peer peer;
    open_default();
    h2_peer_open(&peer, fixture.address);
    h2_peer_call(&peer, 1, PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("gone"));
    await_held(1);
    h2_peer_close(&peer);
    ck_assert(view_eq(grpc_call_message(fixture.held[0]), VIEW("gone")));
    answer_held(GRPC_UNAVAILABLE);
}
END_TEST

START_TEST(a_call_may_be_answered_after_the_server_was_closed)
{
    struct h2_peer peer;
    open_default();
    h2_peer_open(&peer, fixture.address);
    h2_peer_call(&peer, 1, PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("gone"));
    await_held(1);
    grpc_server_close(fixture.server, 0);
    fixture.server = NULL;
    ck_assert(view_eq(grpc_call_message(fixture.held[0]), VIEW("gone")));
    answer_held(GRPC_OK);
    h2_peer_close(&peer);
}
END_TEST

/* ---- drain ---- */

START_TEST(drain_serves_what_is_under_way_and_says_goaway_twice)
{
    struct h2_peer peer;
    struct h2_answer answer;
    struct h2_frame frame;
    open_default();
    h2_peer_open(&peer, fixture.address);
    h2_peer_call(&peer, 1, PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("kept"));
    await_held(1);
    grpc_server_drain(fixture.server);
    ck_assert_int_eq(h2_connect(fixture.address), -1);
    h2_peer_expect(&peer, NGHTTP2_GOAWAY, &frame);
    ck_assert_mem_eq(frame.payload, "\x7f\xff\xff\xff\0\0\0\0", 8);
    h2_peer_expect(&peer, NGHTTP2_PING, &frame);
    h2_peer_frame(&peer, NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0,
                  (struct view){frame.payload, frame.size});
    h2_peer_expect(&peer, NGHTTP2_GOAWAY, &frame);
    ck_assert_mem_eq(frame.payload, "\0\0\0\1\0\0\0\0", 8);
    answer_held(GRPC_OK);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    ck_assert_int_eq(h2_peer_last_words(&peer), -1);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(close_waits_for_the_answer_that_is_outstanding)
{
    struct h2_peer peer;
    struct h2_answer answer;
    pthread_t closer;
    open_default();
    h2_peer_open(&peer, fixture.address);
    h2_peer_call(&peer, 1, PATH, "x-hold", "1");
    h2_peer_message(&peer, 1, false, VIEW("kept"));
    await_held(1);
    grpc_server_drain(fixture.server);
    ck_assert_int_eq(pthread_create(&closer, NULL, (void *(*)(void *))(void (*)(void))close_server,
                                    NULL), 0);
    answer_held(GRPC_OK);
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_OK);
    h2_peer_close(&peer);
    pthread_join(closer, NULL);
}
END_TEST

/* ---- clients that are not what they should be ---- */

START_TEST(an_http_1_client_gets_words_and_an_end)
{
    static const char request[] = "POST /v1/traces HTTP/1.1\r\nHost: x\r\n\r\n";
    char answer[256] = "";
    open_default();
    int fd = h2_connect(fixture.address);
    ck_assert_int_eq(send(fd, request, sizeof request - 1, 0), sizeof request - 1);
    ck_assert_int_gt(recv(fd, answer, sizeof answer - 1, MSG_WAITALL), 0);
    ck_assert_ptr_nonnull(strstr(answer, "HTTP/1.1 400 "));
    ck_assert_ptr_nonnull(strstr(answer, "gRPC over HTTP/2"));
    close(fd);
}
END_TEST

START_TEST(a_client_that_says_nothing_is_closed)
{
    char byte;
    struct grpc_server_options options = defaults();
    options.header_timeout_ns = 30 * NS_PER_MS;
    open_with(&options);
    int fd = h2_connect(fixture.address);
    ck_assert_int_eq(recv(fd, &byte, 1, 0), 0);
    close(fd);
}
END_TEST

START_TEST(a_connection_without_calls_gets_goaway_after_the_idle_timeout)
{
    struct h2_peer peer;
    struct grpc_server_options options = defaults();
    options.idle_timeout_ns = 30 * NS_PER_MS;
    open_with(&options);
    h2_peer_open(&peer, fixture.address);
    ck_assert_int_eq(h2_peer_last_words(&peer), NGHTTP2_NO_ERROR);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(past_the_connection_limit_the_longest_idle_one_goes)
{
    struct h2_peer first, second, third;
    struct grpc_server_options options = defaults();
    options.max_connections = 2;
    options.threads = 1;
    open_with(&options);
    h2_peer_open(&first, fixture.address);
    settle(&first);
    h2_peer_call(&first, 1, PATH, "x-hold", "1");
    h2_peer_message(&first, 1, false, VIEW("busy"));
    await_held(1);
    h2_peer_open(&second, fixture.address);
    settle(&second);
    h2_peer_open(&third, fixture.address);
    settle(&third);
    ck_assert_int_eq(h2_peer_last_words(&second), NGHTTP2_NO_ERROR);
    settle(&first);
    answer_held(GRPC_OK);
    h2_peer_close(&first);
    h2_peer_close(&second);
    h2_peer_close(&third);
}
END_TEST

START_TEST(a_client_that_resets_all_its_calls_is_sent_away)
{
    struct h2_peer peer;
    open_default();
    h2_peer_open(&peer, fixture.address);
    for (int32_t stream = 1; stream < 2 * 500; stream += 2) {
        h2_peer_call(&peer, stream, PATH, NULL, NULL);
        h2_peer_frame(&peer, NGHTTP2_RST_STREAM, 0, stream, VIEW("\0\0\0\x8"));
    }
    ck_assert_int_eq(h2_peer_last_words(&peer), NGHTTP2_ENHANCE_YOUR_CALM);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_client_that_sends_empty_frames_without_end_is_sent_away)
{
    struct h2_peer peer;
    open_default();
    h2_peer_open(&peer, fixture.address);
    h2_peer_call(&peer, 1, PATH, NULL, NULL);
    for (int i = 0; i < 500; i++)
        h2_peer_frame(&peer, NGHTTP2_DATA, 0, 1, (struct view){0});
    ck_assert_int_eq(h2_peer_last_words(&peer), NGHTTP2_ENHANCE_YOUR_CALM);
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_flood_of_pings_does_not_keep_others_from_being_served)
{
    struct h2_peer peer, other;
    struct bytes pings;
    open_default();
    h2_peer_open(&peer, fixture.address);
    settle(&peer);
    bytes_init(&pings, 1 << 20, NULL);
    for (int i = 0; i < 50000; i++)
        bytes_append(&pings, "\0\0\x8\6\0\0\0\0\0abcdefgh", 17);
    h2_peer_send(&peer, pings.data, pings.size);
    shutdown(peer.fd, SHUT_WR);
    h2_peer_last_words(&peer);
    h2_peer_open(&other, fixture.address);
    settle(&other);
    bytes_release(&pings);
    h2_peer_close(&peer);
    h2_peer_close(&other);
}
END_TEST

START_TEST(a_header_past_its_limit_is_refused)
{
    static uint8_t block[80000];
    struct h2_peer peer;
    struct h2_answer answer;
    char name[16];
    size_t n = h2_field(block, ":method", "POST");
    n += h2_field(block + n, ":scheme", "http");
    n += h2_field(block + n, ":authority", "test");
    n += h2_field(block + n, ":path", PATH);
    n += h2_field(block + n, "content-type", "application/grpc");
    for (int i = 0; n < 70000; i++) {
        snprintf(name, sizeof name, "x-%d", i);
        n += h2_field(block + n, name, "a value that is forty bytes long, no more");
    }
    open_default();
    h2_peer_open(&peer, fixture.address);
    h2_peer_frame(&peer, NGHTTP2_HEADERS, 0, 1, (struct view){block, 16384});
    for (size_t at = 16384; at < n; at += 16384) {
        size_t size = n - at < 16384 ? n - at : 16384;
        h2_peer_frame(&peer, NGHTTP2_CONTINUATION, size < 16384 ? NGHTTP2_FLAG_END_HEADERS : 0, 1,
                      (struct view){block + at, size});
    }
    h2_peer_answer(&peer, 1, &answer);
    ck_assert_int_eq(answer.grpc_status, GRPC_RESOURCE_EXHAUSTED);
    ck_assert_ptr_nonnull(strstr(answer.message, "header"));
    h2_peer_close(&peer);
}
END_TEST

START_TEST(a_header_without_end_closes_the_connection)
{
    uint8_t block[256];
    struct h2_peer peer;
    open_default();
    h2_peer_open(&peer, fixture.address);
    size_t n = h2_field(block, ":method", "POST");
    h2_peer_frame(&peer, NGHTTP2_HEADERS, 0, 1, (struct view){block, n});
    for (int i = 0; i < 1000; i++) {
        n = h2_field(block, "x-more", "and more");
        h2_peer_frame(&peer, NGHTTP2_CONTINUATION, 0, 1, (struct view){block, n});
    }
    h2_peer_last_words(&peer); /* it ends; with which words is up to the library */
    h2_peer_close(&peer);
}
END_TEST

START_TEST(an_address_in_use_is_said_in_a_sentence)
{
    char error[256] = "", *colon;
    struct grpc_server_options options = defaults();
    open_default();
    colon = strrchr(fixture.address, ':');
    strcpy(options.endpoint.service, colon + 1);
    ck_assert_ptr_null(grpc_server_open(&options, NULL, 0, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, fixture.address));
    ck_assert_ptr_nonnull(strstr(error, "in use"));
}
END_TEST

static TCase *make_case(const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    return tcase;
}

static TCase *calls(void)
{
    TCase *tcase = make_case("calls");
    tcase_add_test(tcase, a_call_is_answered_with_a_message_and_trailers);
    tcase_add_test(tcase, a_message_of_64_mib_comes_whole);
    tcase_add_test(tcase, compressed_messages_are_inflated);
    tcase_add_test(tcase, a_message_that_inflates_past_the_maximum_is_refused_for_good);
    tcase_add_test(tcase, a_message_past_the_maximum_is_refused_for_good);
    tcase_add_test(tcase, without_room_in_the_budget_clients_are_told_to_retry);
    tcase_add_test(tcase, a_message_larger_than_the_whole_budget_is_refused_for_good);
    tcase_add_test(tcase, calls_on_many_connections_get_their_own_answers);
    return tcase;
}

static TCase *frames(void)
{
    TCase *tcase = make_case("frames");
    tcase_add_test(tcase, streams_of_one_connection_are_answered_in_the_order_of_the_answers);
    tcase_add_test(tcase, an_error_comes_as_trailers_only_with_its_details);
    tcase_add_test(tcase, a_path_that_is_not_served_is_unimplemented);
    tcase_add_test(tcase, an_unknown_encoding_is_unimplemented_and_the_known_ones_are_named);
    tcase_add_test(tcase, bodies_that_are_not_one_message_are_refused);
    tcase_add_test(tcase, only_posts_of_grpc_are_taken);
    tcase_add_test(tcase, after_an_early_refusal_the_rest_is_read_past_and_other_calls_go_on);
    tcase_add_test(tcase, pings_are_answered);
    return tcase;
}

static TCase *ends(void)
{
    TCase *tcase = make_case("ends");
    tcase_add_test(tcase, a_call_may_be_answered_after_its_stream_was_reset);
    tcase_add_test(tcase, a_call_may_be_answered_after_its_connection_died);
    tcase_add_test(tcase, a_call_may_be_answered_after_the_server_was_closed);
    tcase_add_test(tcase, drain_serves_what_is_under_way_and_says_goaway_twice);
    tcase_add_test(tcase, close_waits_for_the_answer_that_is_outstanding);
    return tcase;
}

static TCase *strangers(void)
{
    TCase *tcase = make_case("strangers");
    tcase_add_test(tcase, an_http_1_client_gets_words_and_an_end);
    tcase_add_test(tcase, a_client_that_says_nothing_is_closed);
    tcase_add_test(tcase, a_connection_without_calls_gets_goaway_after_the_idle_timeout);
    tcase_add_test(tcase, past_the_connection_limit_the_longest_idle_one_goes);
    tcase_add_test(tcase, a_client_that_resets_all_its_calls_is_sent_away);
    tcase_add_test(tcase, a_client_that_sends_empty_frames_without_end_is_sent_away);
    tcase_add_test(tcase, a_flood_of_pings_does_not_keep_others_from_being_served);
    tcase_add_test(tcase, a_header_past_its_limit_is_refused);
    tcase_add_test(tcase, a_header_without_end_closes_the_connection);
    tcase_add_test(tcase, an_address_in_use_is_said_in_a_sentence);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("net/grpc_server");
    suite_add_tcase(suite, calls());
    suite_add_tcase(suite, frames());
    suite_add_tcase(suite, ends());
    suite_add_tcase(suite, strangers());
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed;
}
