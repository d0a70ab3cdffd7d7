#include "tests/support/captured.h"

#include "lib/base/clock.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static FILE *captured;

void captured_begin(void)
{
    captured = tmpfile();
    ck_assert_ptr_nonnull(captured);
    ck_assert_int_ge(dup2(fileno(captured), STDERR_FILENO), 0);
}

const char *captured_lines(void)
{
    static char text[64 << 10];
    ssize_t n = pread(fileno(captured), text, sizeof text - 1, 0);
    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    return text;
}

unsigned captured_count(void)
{
    return captured_with("");
}

unsigned captured_with(const char *text)
{
    char line[2048];
    unsigned count = 0;
    for (const char *at = captured_lines(), *end; (end = strchr(at, '\n')); at = end + 1) {
        snprintf(line, sizeof line, "%.*s", (int)(end - at), at);
        count += strstr(line, text) != NULL;
    }
    return count;
}

void captured_await(const char *text)
{
    uint64_t until = clock_mono(&clock_system) + 20 * NS_PER_S;
    while (captured_with(text) == 0) {
        ck_assert_msg(clock_mono(&clock_system) < until, "no line \"%s\" in:\n%s", text,
                      captured_lines());
        poll(NULL, 0, 5);
    }
}
