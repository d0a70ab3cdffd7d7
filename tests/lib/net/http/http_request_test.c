/* Bodies: framing, limits, encodings and memory. */
#include <microhttpd.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "tests/support/http_fixture.h"
#include "tests/support/suite.h"

#define POST(path, headers, body) "POST " path " HTTP/1.1\r\nHost: x\r\n" headers "\r\n" body

static struct http_fixture fixture;
static struct http_answer answer;
static char block[64 << 10];

static void set_up(void)
{
    http_fixture_init(&fixture);
    memset(block, 'x', sizeof block);
}

static int begun(void)
{
    http_fixture_start(&fixture);
    int fd = raw_connect(fixture.bound);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static void ended(int fd)
{
    close(fd);
    http_fixture_stop(&fixture);
}

static void post_head(int fd, const char *path, size_t length, const char *headers)
{
    char text[512];
    snprintf(text, sizeof text, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n%s\r\n",
             path, length, headers);
    raw_send(fd, text);
}

static void post(int fd, const char *path, struct view body, const char *headers)
{
    post_head(fd, path, body.size, headers);
    raw_send_bytes(fd, body.data, body.size);
    raw_read(fd, &answer);
}

static void chunk(int fd, const void *data, size_t size)
{
    char head[32];
    snprintf(head, sizeof head, "%zx\r\n", size);
    raw_send(fd, head);
    raw_send_bytes(fd, data, size);
    raw_send(fd, "\r\n");
}

START_TEST(a_body_at_the_limit_passes_and_one_byte_more_is_413)
{
    int fd = begun();
    post(fd, "/echo", (struct view){(uint8_t *)block, sizeof block}, "");
    ck_assert_int_eq(answer.status, 200);
    ck_assert_uint_eq(answer.size, sizeof block);
    ck_assert_int_eq(memcmp(answer.body, block, sizeof block), 0);
    post_head(fd, "/echo", sizeof block + 1, "");
    raw_send_bytes(fd, block, sizeof block);
    raw_send(fd, "y");
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 413);
    ck_assert_ptr_nonnull(strcasestr(answer.head, "Connection: close\r\n"));
    raw_await_close(fd);
    ended(fd);
}
END_TEST

/* 1.0 takes the line feed after an extension for the chunk's first byte, and then refuses. */
static const char *extension(void)
{
    return strtoul(MHD_get_version(), NULL, 10) >= 1 ? "" : ";name=value;other=\"x\"";
}

START_TEST(chunks_of_one_byte_with_extensions_and_trailers_are_joined)
{
    int fd = begun();
    raw_send(fd, POST("/echo", "Transfer-Encoding: Chunked\r\n", ""));
    for (const char *at = "byte by byte"; *at; at++) {
        raw_send(fd, "1");
        raw_send(fd, extension());
        raw_send(fd, "\r\n");
        raw_send_bytes(fd, at, 1);
        raw_send(fd, "\r\n");
    }
    raw_send(fd, "0");
    raw_send(fd, extension());
    raw_send(fd, "\r\nX-Trailer: 1\r\nX-Other: 2\r\n\r\n");
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(answer.body, "byte by byte");
    raw_exchange(fd, POST("/echo", "Content-Length: 4\r\n", "next"), 200, &answer);
    ck_assert_str_eq(answer.body, "next");
    ended(fd);
}
END_TEST

START_TEST(a_large_chunked_body_is_whole)
{
    fixture.options.max_body = 1 << 20;
    int fd = begun();
    raw_send(fd, POST("/echo", "Transfer-Encoding: chunked\r\n", ""));
    for (size_t i = 0; i < 60000; i += 3000) {
        memset(block, 'a' + (int)(i / 3000), 3000);
        chunk(fd, block, 3000);
    }
    raw_send(fd, "0\r\n\r\n");
    raw_read(fd, &answer);
    ck_assert_uint_eq(answer.size, 60000);
    for (size_t i = 0; i < 60000; i++)
        ck_assert_int_eq(answer.body[i], 'a' + (int)(i / 3000));
    ended(fd);
}
END_TEST

START_TEST(an_undeclared_body_past_the_limit_is_read_past_and_413)
{
    int fd = begun();
    raw_send(fd, POST("/echo", "Transfer-Encoding: chunked\r\n", ""));
    for (int i = 0; i < 20; i++)
        chunk(fd, block, sizeof block);
    raw_send(fd, "0\r\n\r\n");
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 413);
    raw_await_close(fd);
    ended(fd);
}
END_TEST

static bool is_answered(int fd)
{
    struct pollfd answered = {.fd = fd, .events = POLLIN};
    return poll(&answered, 1, 0) > 0;
}

START_TEST(a_body_without_end_is_cut_off)
{
    int fd = begun();
    raw_send(fd, POST("/echo", "Transfer-Encoding: chunked\r\n", ""));
    raw_send(fd, "fffffffff\r\n");
    while (!is_answered(fd))
        ck_assert(raw_send_bytes(fd, block, sizeof block));
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 413);
    ck_assert_ptr_nonnull(strstr(answer.body, "too large, the maximum is"));
    while (raw_send_bytes(fd, block, sizeof block)) {
    }
    ck_assert_uint_eq(http_fixture_handled(&fixture), 0);
    ended(fd);
}
END_TEST

/* The server does not wait for its end. */
START_TEST(a_body_declared_too_large_that_trickles_is_413)
{
    int fd = begun();
    bool open = true;
    post_head(fd, "/echo", sizeof block + 1, "");
    while (open && raw_send_bytes(fd, "x", 1)) {
        struct pollfd answered = {.fd = fd, .events = POLLIN};
        open = poll(&answered, 1, 10) == 0;
    }
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 413);
    raw_await_close(fd);
    ck_assert_uint_eq(http_fixture_handled(&fixture), 0);
    ended(fd);
}
END_TEST

START_TEST(a_length_beyond_hope_is_413_before_the_body)
{
    int fd = begun();
    post_head(fd, "/echo", SIZE_MAX / 4, "");
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 413);
    raw_await_close(fd);
    ended(fd);
}
END_TEST

START_TEST(expect_continue_is_answered_before_the_body)
{
    int fd = begun();
    post_head(fd, "/echo", 5, "Expect: 100-continue\r\n");
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 100);
    raw_exchange(fd, "hello", 200, &answer);
    ck_assert_str_eq(answer.body, "hello");
    post_head(fd, "/echo", sizeof block + 1, "Expect: 100-continue\r\n");
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 413);
    raw_await_close(fd);
    ended(fd);
}
END_TEST

static const char *const ambiguous[] = {
    POST("/echo", "Content-Length: 5\r\nContent-Length: 6\r\n", "hello"),
    POST("/echo", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    POST("/echo", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
    POST("/echo", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    POST("/echo", "Content-Length : 5\r\n", "hello"),
    POST("/echo", "Content-Length: 5, 5\r\n", "hello"),
    "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
};

START_TEST(ambiguous_framing_is_400_and_ends_the_connection)
{
    http_fixture_start(&fixture);
    int fd = raw_connect(fixture.bound);
    raw_exchange(fd, ambiguous[_i], 400, &answer);
    raw_await_close(fd);
    ck_assert_uint_eq(http_fixture_handled(&fixture), 0);
    ended(fd);
}
END_TEST

START_TEST(equal_lengths_are_one_and_unknown_codings_are_501)
{
    if (strtoul(MHD_get_version(), NULL, 10) >= 1) /* refuses both by itself, with 400 */
        return;
    int fd = begun();
    raw_exchange(fd, POST("/echo", "Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), 200,
                 &answer);
    ck_assert_str_eq(answer.body, "hello");
    raw_exchange(fd, POST("/echo", "Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501,
                 &answer);
    raw_await_close(fd);
    ended(fd);
}
END_TEST

static struct bytes gzipped(size_t size)
{
    struct bytes out;
    char *plain = calloc(1, size);
    bytes_init(&out, size + 1024, NULL);
    ck_assert(deflate_append(ENCODING_GZIP, (struct view){(uint8_t *)plain, size}, &out));
    free(plain);
    return out;
}

START_TEST(gzip_is_undone)
{
    int fd = begun();
    struct bytes body = gzipped(60000);
    post(fd, "/take", bytes_view(&body), "Content-Encoding: gzip\r\n");
    ck_assert_int_eq(answer.status, 200);
    ck_assert_uint_eq(answer.size, 60000);
    post(fd, "/take", VIEW("plain"), "Content-Encoding: identity\r\n");
    ck_assert_str_eq(answer.body, "plain");
    post(fd, "/take", VIEW("plain"), "");
    ck_assert_str_eq(answer.body, "plain");
    post(fd, "/take", VIEW("no gzip"), "Content-Encoding: gzip\r\n");
    ck_assert_int_eq(answer.status, 400);
    bytes_release(&body);
    ended(fd);
}
END_TEST

START_TEST(a_gzip_bomb_is_413)
{
    int fd = begun();
    struct bytes body = gzipped(8 << 20);
    ck_assert_uint_lt(body.size, fixture.options.max_body);
    post(fd, "/take", bytes_view(&body), "Content-Encoding: gzip\r\n");
    ck_assert_int_eq(answer.status, 413);
    bytes_release(&body);
    ended(fd);
}
END_TEST

START_TEST(a_body_past_the_budget_is_503_and_its_connection_goes_on)
{
    int fd = begun();
    budget_force(&fixture.budget, (16 << 20) - 1000);
    post(fd, "/echo", (struct view){(uint8_t *)block, 2000}, "");
    ck_assert_int_eq(answer.status, 503);
    budget_give(&fixture.budget, (16 << 20) - 1000);
    post(fd, "/echo", (struct view){(uint8_t *)block, 2000}, "");
    ck_assert_int_eq(answer.status, 200);
    ended(fd);
}
END_TEST

START_TEST(a_body_that_the_empty_budget_cannot_hold_is_413)
{
    fixture.budget.limit = 1000;
    int fd = begun();
    post(fd, "/echo", (struct view){(uint8_t *)block, 2000}, "");
    ck_assert_int_eq(answer.status, 413);
    ended(fd);
}
END_TEST

START_TEST(a_body_above_the_limit_is_413_also_while_memory_is_short)
{
    size_t large = fixture.options.max_body + 1;
    uint8_t *zeros = calloc(1, large);
    int fd = begun();
    budget_force(&fixture.budget, (16 << 20) - 1000);
    post(fd, "/echo", (struct view){zeros, large}, "");
    ck_assert_int_eq(answer.status, 413);
    raw_await_close(fd);
    close(fd);
    fd = raw_connect(fixture.bound);
    raw_send(fd, POST("/echo", "Transfer-Encoding: chunked\r\n", ""));
    chunk(fd, zeros, large);
    raw_send(fd, "0\r\n\r\n");
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 413);
    close(fd);
    budget_give(&fixture.budget, (16 << 20) - 1000);
    free(zeros);
    http_fixture_stop(&fixture);
}
END_TEST

/* Sends a body that would inflate to size bytes. */
static int status_of_packed(int fd, size_t size)
{
    struct bytes packed = gzipped(size);
    post(fd, "/take", bytes_view(&packed), "Content-Encoding: gzip\r\n");
    bytes_release(&packed);
    return answer.status;
}

START_TEST(a_body_that_would_inflate_above_the_limit_is_so_too)
{
    int fd = begun();
    size_t held = (16 << 20) - 60000; /* and the connection */
    budget_force(&fixture.budget, held);
    ck_assert_int_eq(status_of_packed(fd, fixture.options.max_body + 1), 413);
    ck_assert_int_eq(status_of_packed(fd, 50000), 503);
    budget_give(&fixture.budget, held);
    ck_assert_int_eq(status_of_packed(fd, 50000), 200);
    ended(fd);
}
END_TEST

START_TEST(a_body_that_stalls_gives_way_and_is_told_to_come_again)
{
    enum { PARTS = 48, SIZE = PARTS * sizeof block, HELD = (16 << 20) - 4 * (1 << 20) };
    fixture.options.max_body = SIZE;
    int stalled = begun(), fd = raw_connect(fixture.bound);
    budget_force(&fixture.budget, HELD);
    post_head(stalled, "/echo", SIZE, "");
    for (int i = 0; i < PARTS - 1; i++)
        raw_send_bytes(stalled, block, sizeof block);
    while (budget_used(&fixture.budget) < HELD + (PARTS - 1) * sizeof block)
        sched_yield();
    do { /* until that body has stalled for long enough */
        post_head(fd, "/about", SIZE, "");
        for (int i = 0; i < PARTS; i++)
            raw_send_bytes(fd, block, sizeof block);
        raw_read(fd, &answer);
    } while (answer.status == 503);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_uint_eq(fixture.budget.gave_way, 1);
    raw_send_bytes(stalled, block, sizeof block);
    raw_read(stalled, &answer);
    ck_assert_int_eq(answer.status, 503);
    budget_give(&fixture.budget, HELD);
    close(stalled);
    ended(fd);
}
END_TEST

START_TEST(a_declared_body_is_charged_as_it_arrives_and_never_past_its_length)
{
    fixture.options.max_body = 1 << 20;
    int fd = begun();
    post_head(fd, "/keep", 1 << 20, "Expect: 100-continue\r\n");
    raw_read(fd, &answer);
    size_t before = budget_used(&fixture.budget); /* the connection's */
    ck_assert_uint_lt(before, 1 << 16);
    for (size_t sent = 0; sent < 1 << 20; sent += sizeof block)
        raw_send_bytes(fd, block, sizeof block);
    http_fixture_await_kept(&fixture, 1);
    ck_assert_uint_eq(http_fixture_body(fixture.kept[0]).size, 1 << 20);
    ck_assert_uint_eq(budget_used(&fixture.budget), before + (1 << 20));
    http_respond(fixture.kept[0], 200, NULL, VIEW(""), 0);
    raw_read(fd, &answer);
    ck_assert_int_eq(answer.status, 200);
    ended(fd);
}
END_TEST

START_TEST(a_taken_body_outlives_its_request)
{
    struct bytes taken;
    int fd = begun();
    post_head(fd, "/keep", 5, "");
    raw_send(fd, "hello");
    http_fixture_await_kept(&fixture, 1);
    ck_assert_int_eq(http_request_take_body(fixture.kept[0], &taken), INFLATE_OK);
    ck_assert_uint_eq(http_fixture_body(fixture.kept[0]).size, 0);
    http_respond(fixture.kept[0], 200, NULL, VIEW(""), 0);
    raw_read(fd, &answer);
    ck_assert(view_eq(bytes_view(&taken), VIEW("hello")));
    ck_assert_uint_ge(budget_used(&fixture.budget), 5);
    bytes_release(&taken);
    ended(fd);
}
END_TEST

START_TEST(a_client_that_leaves_in_its_body_gives_the_memory_back)
{
    int fd = begun();
    post_head(fd, "/echo", 60000, "");
    raw_send_bytes(fd, block, 30000);
    ended(fd);
    ck_assert_uint_eq(http_fixture_handled(&fixture), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net/http_request");
    TCase *tests = suite_case("http_request");
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, a_body_at_the_limit_passes_and_one_byte_more_is_413);
    tcase_add_test(tests, chunks_of_one_byte_with_extensions_and_trailers_are_joined);
    tcase_add_test(tests, a_large_chunked_body_is_whole);
    tcase_add_test(tests, an_undeclared_body_past_the_limit_is_read_past_and_413);
    tcase_add_test(tests, a_body_without_end_is_cut_off);
    tcase_add_test(tests, a_body_declared_too_large_that_trickles_is_413);
    tcase_add_test(tests, a_length_beyond_hope_is_413_before_the_body);
    tcase_add_test(tests, expect_continue_is_answered_before_the_body);
    tcase_add_loop_test(tests, ambiguous_framing_is_400_and_ends_the_connection, 0,
                        (int)(sizeof ambiguous / sizeof *ambiguous));
    tcase_add_test(tests, equal_lengths_are_one_and_unknown_codings_are_501);
    tcase_add_test(tests, gzip_is_undone);
    tcase_add_test(tests, a_gzip_bomb_is_413);
    tcase_add_test(tests, a_body_past_the_budget_is_503_and_its_connection_goes_on);
    tcase_add_test(tests, a_body_that_the_empty_budget_cannot_hold_is_413);
    tcase_add_test(tests, a_body_above_the_limit_is_413_also_while_memory_is_short);
    tcase_add_test(tests, a_body_that_would_inflate_above_the_limit_is_so_too);
    tcase_add_test(tests, a_body_that_stalls_gives_way_and_is_told_to_come_again);
    tcase_add_test(tests, a_declared_body_is_charged_as_it_arrives_and_never_past_its_length);
    tcase_add_test(tests, a_taken_body_outlives_its_request);
    tcase_add_test(tests, a_client_that_leaves_in_its_body_gives_the_memory_back);
    suite_add_tcase(suite, tests);
    return suite_finish(suite);
}
