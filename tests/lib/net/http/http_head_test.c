/* Malformed headers that a server refuses; headers are checked after the library has parsed
 * them. */
#include "lib/net/http/http_head.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/http_fixture.h"
#include "tests/support/suite.h"

#define LINE "GET /about HTTP/1.1\r\n"
#define HOST "Host: x\r\n"
#define BYTES(text)                                                                                \
    {                                                                                              \
        (const uint8_t *)(text), sizeof(text) - 1                                                  \
    }

static struct http_fixture fixture;

static struct http_answer answer;

static int status_of(struct view request)
{
    int fd = raw_connect(fixture.bound);
    ck_assert_int_ge(fd, 0);
    raw_send_bytes(fd, request.data, request.size);
    raw_read(fd, &answer);
    close(fd);
    return answer.status;
}

struct refused {
    struct view request;
    const char *words;
};

#define LINE_END   "a line of the header does not end in CR LF, or contains a NUL"
#define VALUE      "a header's value contains a control character"
#define NAME       "a header's name has a character that is not allowed there"
#define TARGET     "the request target has a character that is not allowed there"
#define PARTS      "the request line contains a NUL, or more than one space between its parts"
#define METHOD     "the method has a character that is not allowed there"
#define WANTS_HOST "HTTP/1.1 requires one Host header with a host and optionally a port"

static const struct refused refused[] = {
    /* bare LF */
    {BYTES("GET /about HTTP/1.1\n" HOST "\r\n"), LINE_END},
    {BYTES(LINE "X: a\n" HOST "\r\n"), LINE_END},
    {BYTES(LINE HOST "X: a\n\r\n"), LINE_END},
    {BYTES(LINE HOST "\n"), LINE_END},
    {BYTES(LINE HOST "X: a\n\n"), LINE_END},
    {BYTES("GET /about HTTP/1.1\n\n"), LINE_END},
    /* NUL */
    {BYTES(LINE HOST "X: a\0b\r\n\r\n"), LINE_END},
    {BYTES(LINE HOST "X: a\0\r\n\r\n"), LINE_END},
    {BYTES(LINE HOST "X: \0\r\n\r\n"), LINE_END},
    {BYTES(LINE "X: a\0\r\n" HOST "\r\n"), LINE_END},
    {BYTES("GET /about?a\0b HTTP/1.1\r\n" HOST "\r\n"), PARTS},
    {BYTES("GET /about\0 HTTP/1.1\r\n" HOST "\r\n"), PARTS},
    /* bare CR and other controls */
    {BYTES(LINE HOST "X: a\rb\r\n\r\n"), VALUE},
    {BYTES(LINE HOST "X: a\r\r\n\r\n"), VALUE},
    {BYTES(LINE HOST "X: a\x01\r\n\r\n"), VALUE},
    {BYTES(LINE HOST "X: a\x7f\r\n\r\n"), VALUE},
    {BYTES("GET /about?\r HTTP/1.1\r\n" HOST "\r\n"), TARGET},
    {BYTES("GET /about?\x1b HTTP/1.1\r\n" HOST "\r\n"), TARGET},
    {BYTES("GET /ab\rout HTTP/1.1\r\n" HOST "\r\n"), TARGET},
    /* names, methods, spaces */
    {BYTES(LINE HOST "X : a\r\n\r\n"), NAME},
    {BYTES(LINE HOST "X\t: a\r\n\r\n"), NAME},
    {BYTES(LINE HOST "X Y: a\r\n\r\n"), NAME},
    {BYTES(LINE HOST "X\x80: a\r\n\r\n"), NAME},
    {BYTES(LINE HOST "X(: a\r\n\r\n"), NAME},
    {BYTES(LINE HOST "X: a\r\n b\r\n\r\n"), NULL},
    {BYTES(LINE HOST "X: a\r\n\tb: c\r\n\r\n"), NULL},
    {BYTES("G\"T /about HTTP/1.1\r\n" HOST "\r\n"), METHOD},
    {BYTES("GET  /about HTTP/1.1\r\n" HOST "\r\n"), PARTS},
    {BYTES("GET /about  HTTP/1.1\r\n" HOST "\r\n"), TARGET},
    {BYTES("GET /ab out HTTP/1.1\r\n" HOST "\r\n"), TARGET},
    /* Host */
    {BYTES(LINE "\r\n"), WANTS_HOST},
    {BYTES(LINE "X: a\r\n\r\n"), WANTS_HOST},
    {BYTES(LINE HOST HOST "\r\n"), WANTS_HOST},
    {BYTES(LINE "Host: a b\r\n\r\n"), WANTS_HOST},
    {BYTES(LINE "Host: a,b\r\n\r\n"), WANTS_HOST},
    {BYTES(LINE "Host: http://a\r\n\r\n"), WANTS_HOST},
    {BYTES("GET /about HTTP/1.0\r\n" HOST HOST "\r\n"), WANTS_HOST},
};

/* Since 1.0 the library itself refuses most of them: with its own message, and without one for a
 * NUL in the request line. */
static bool library_refused(void)
{
    return strtoul(MHD_get_version(), NULL, 10) >= 1 &&
           (answer.status == 0 || (answer.status == 400 && *answer.body));
}

START_TEST(what_is_malformed_is_400_with_a_sentence_and_the_end)
{
    http_fixture_init(&fixture);
    http_fixture_start(&fixture);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        status_of(refused[i].request);
        if (library_refused())
            continue;
        ck_assert_msg(answer.status == 400, "%zu: %d", i, answer.status);
        ck_assert_msg(strstr(answer.head, "Connection: close") != NULL, "%zu: %s", i, answer.head);
        if (refused[i].words) {
            size_t size = strlen(refused[i].words);
            ck_assert_msg(strncmp(answer.body, refused[i].words, size) == 0, "%zu: %s", i,
                          answer.body);
            ck_assert_str_eq(answer.body + size, "\n");
        }
    }
    ck_assert_uint_eq(http_fixture_handled(&fixture), 0);
    http_fixture_stop(&fixture);
}
END_TEST

START_TEST(what_is_odd_but_well_formed_is_served)
{
    static const struct view served[] = {
        BYTES(LINE HOST "\r\n"),
        BYTES("\r\n" LINE HOST "\r\n"),
        BYTES(LINE HOST "X:\r\n\r\n"),
        BYTES(LINE HOST "X:a\r\nY: \t b \t \r\n\r\n"),
        BYTES(LINE HOST "X: :a: b:\r\n\r\n"),
        BYTES(LINE HOST "X: caf\xc3\xa9 \xff\r\n\r\n"),
        BYTES(LINE HOST "!#$%&'*+-.^_`|~1: a\r\n\r\n"),
        BYTES(LINE "hOST: [::1]:4318\r\n\r\n"),
        BYTES(LINE "Host:\r\n\r\n"),
        BYTES("GET /about?a=%00%0d%0a%20b&c=d&e HTTP/1.1\r\n" HOST "\r\n"),
        BYTES("GET /%61bout?q=\xc3\xa9|\"^ HTTP/1.1\r\n" HOST "\r\n"),
        BYTES("GET http://x/about?a=b HTTP/1.1\r\n" HOST "\r\n"),
        BYTES("GET /about HTTP/1.0\r\n\r\n"),
        BYTES("GET /about HTTP/1.0\r\nX: a\r\n\r\n"),
        BYTES("M-SEARCH /about HTTP/1.1\r\n" HOST "\r\n"),
    };
    http_fixture_init(&fixture);
    http_fixture_start(&fixture);
    for (size_t i = 0; i < sizeof served / sizeof *served; i++)
        ck_assert_msg(status_of(served[i]) == 200, "%zu: %d %s", i, answer.status, answer.body);
    http_fixture_stop(&fixture);
}
END_TEST

/* The header arrives in pieces, as from slow clients. */
START_TEST(it_matters_not_how_a_header_comes_in)
{
    http_fixture_init(&fixture);
    http_fixture_start(&fixture);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct view request = refused[i].request;
        for (size_t cut = 1; cut < request.size; cut += 7) {
            int fd = raw_connect(fixture.bound);
            raw_send_bytes(fd, request.data, cut);
            if (raw_send_bytes(fd, request.data + cut, request.size - cut))
                raw_read(fd, &answer);
            close(fd);
            ck_assert_msg(library_refused() || answer.status == 400, "%zu at %zu: %d", i, cut,
                          answer.status);
        }
    }
    ck_assert_uint_eq(http_fixture_handled(&fixture), 0);
    http_fixture_stop(&fixture);
}
END_TEST

/* Successive headers on a connection, of different sizes. */
START_TEST(a_kept_connection_is_looked_at_anew)
{
    char request[9000], filling[8000];
    http_fixture_init(&fixture);
    http_fixture_start(&fixture);
    memset(filling, 'f', sizeof filling);
    int fd = raw_connect(fixture.bound);
    for (int size = 1; size < (int)sizeof filling; size += 97) {
        snprintf(request, sizeof request, LINE HOST "X: %.*s\r\n\r\n", size, filling);
        raw_exchange(fd, request, 200, &answer);
    }
    raw_exchange(fd, LINE HOST "X: a\n\r\n", 400, &answer);
    raw_await_close(fd);
    close(fd);
    http_fixture_stop(&fixture);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_is_malformed_is_400_with_a_sentence_and_the_end,
        what_is_odd_but_well_formed_is_served,
        it_matters_not_how_a_header_comes_in,
        a_kept_connection_is_looked_at_anew,
        NULL,
    };
    return suite_run("http_head", tests);
}
