#include "lib/base/output.h"

#include "tests/support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_MAX = 1 << 20 };

/* Writes until the reader's buffer is full. Returns how much it wrote. */
static size_t fill(struct output *output)
{
    size_t written = 0;
    while (output_write(output, VIEW("12345678\n"), 0) == OUTPUT_WRITTEN)
        written += 9;
    return written;
}

static char *drain(int descriptor)
{
    static char text[READ_MAX];
    size_t size = 0;
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
    for (ssize_t n; (n = read(descriptor, text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)n;
    text[size] = '\0';
    return text;
}

/* A write that blocked would never return: this thread is the reader too. */
static void check_stalls(int reader, struct output *output)
{
    size_t written = fill(output);
    ck_assert(output_is_stalled(output));
    ck_assert_int_eq(output_write(output, VIEW("lost\n"), 0), OUTPUT_STALLED);
    ck_assert_uint_ge(strlen(drain(reader)), written);
    ck_assert(!output_is_stalled(output));
    ck_assert_int_eq(output_write(output, VIEW("next\n"), 0), OUTPUT_WRITTEN);
    ck_assert_ptr_nonnull(strstr(drain(reader), "next"));
    output_release(output);
}

START_TEST(a_stalled_reader_of_a_pipe_blocks_nobody)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    struct output output = OUTPUT_OF(ends[1]);
    check_stalls(ends[0], &output);
    /* others share the description */
    ck_assert_int_eq(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
}
END_TEST

START_TEST(a_stalled_reader_of_a_socket_blocks_nobody)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    struct output output = OUTPUT_OF(ends[1]);
    check_stalls(ends[0], &output);
    ck_assert_int_eq(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
}
END_TEST

START_TEST(a_stalled_terminal_blocks_nobody)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(master, 0);
    ck_assert_int_eq(grantpt(master), 0);
    ck_assert_int_eq(unlockpt(master), 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(slave, 0);
    struct output output = OUTPUT_OF(slave);
    check_stalls(master, &output);
}
END_TEST

START_TEST(what_follows_a_torn_text_begins_a_line)
{
    static uint8_t text[READ_MAX / 2];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    struct output output = OUTPUT_OF(ends[1]);
    memset(text, 'x', sizeof text);
    ck_assert_int_eq(output_write(&output, (struct view){text, sizeof text}, 1), OUTPUT_STALLED);
    ck_assert_ptr_nonnull(strstr(drain(ends[0]), "xx"));
    ck_assert_int_eq(output_write(&output, VIEW("next\n"), 0), OUTPUT_WRITTEN);
    ck_assert_str_eq(drain(ends[0]), "\nnext\n");
    output_release(&output);
}
END_TEST

START_TEST(a_reader_that_is_gone_is_an_error)
{
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe(ends), 0);
    struct output output = OUTPUT_OF(ends[1]);
    fill(&output);
    close(ends[0]);
    ck_assert_int_eq(output_write(&output, VIEW("lost\n"), 0), OUTPUT_FAILED);
    ck_assert_int_eq(errno, EPIPE);
    output_release(&output);
}
END_TEST

START_TEST(a_descriptor_may_become_that_of_another_file)
{
    int ends[2], others[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(pipe(others), 0);
    struct output output = OUTPUT_OF(ends[1]);
    ck_assert_int_eq(output_write(&output, VIEW("a"), 0), OUTPUT_WRITTEN);
    ck_assert_int_ge(dup2(others[1], ends[1]), 0);
    ck_assert_int_eq(output_write(&output, VIEW("b"), 0), OUTPUT_WRITTEN);
    ck_assert_str_eq(drain(ends[0]), "a");
    ck_assert_str_eq(drain(others[0]), "b");
    output_release(&output);
}
END_TEST

SUITE_MAIN("output", a_stalled_reader_of_a_pipe_blocks_nobody,
           a_stalled_reader_of_a_socket_blocks_nobody, a_stalled_terminal_blocks_nobody,
           what_follows_a_torn_text_begins_a_line, a_reader_that_is_gone_is_an_error,
           a_descriptor_may_become_that_of_another_file)
