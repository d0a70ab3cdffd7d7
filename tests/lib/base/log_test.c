#include "lib/base/log.h"

#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *captured;

static void capture(void)
{
    captured = tmpfile();
    ck_assert_ptr_nonnull(captured);
    ck_assert_int_ge(dup2(fileno(captured), STDERR_FILENO), 0);
}

static const char *written(void)
{
    static char text[4096];
    ssize_t n = pread(fileno(captured), text, sizeof text - 1, 0);
    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    return text;
}

START_TEST(lines_below_the_level_are_not_written)
{
    capture();
    log_set_level(LOG_WARN);
    log_info("quiet");
    ck_assert_str_eq(written(), "");
    log_warn("loud %d", 7);
    ck_assert_ptr_nonnull(strstr(written(), " warn  loud 7\n"));
    ck_assert(!log_enabled(LOG_INFO));
    ck_assert(log_enabled(LOG_ERROR));
}
END_TEST

START_TEST(an_event_is_one_line)
{
    capture();
    log_error("a\nb\x1b[31m%s", "\r");
    ck_assert_ptr_nonnull(strstr(written(), " error a\\nb\\x1b[31m\\r\n"));
    ck_assert_ptr_eq(strchr(written(), '\n'), strrchr(written(), '\n'));
}
END_TEST

START_TEST(as_json_an_event_is_an_object)
{
    capture();
    log_set_form(true, ",\"team\":\"a\"");
    log_error("say \"hi\"\n");
    ck_assert_ptr_nonnull(strstr(written(), "{\"level\":\"error\",\"ts\":\"2"));
    ck_assert_ptr_nonnull(
        strstr(written(), "Z\",\"msg\":\"say \\\"hi\\\"\\\\n\",\"team\":\"a\"}\n"));
}
END_TEST

START_TEST(a_line_names_its_component)
{
    capture();
    const struct log_source source = {"otlp/\"2\"", "receiver", "traces"};
    log_of(&source, LOG_WARN, "%d refused", 3);
    ck_assert_ptr_nonnull(strstr(written(), " warn  otlp/\"2\": 3 refused\n"));
    log_set_form(true, "");
    log_of(&source, LOG_WARN, "%d refused", 3);
    ck_assert_ptr_nonnull(strstr(
        written(),
        "Z\",\"msg\":\"otlp/\\\"2\\\": 3 refused\",\"otelcol.component.id\":\"otlp/\\\"2\\\"\","
        "\"otelcol.component.kind\":\"receiver\",\"otelcol.signal\":\"traces\"}\n"));
    log_of(&(struct log_source){.id = "a", .kind = "extension"}, LOG_WARN, "b");
    ck_assert_ptr_nonnull(strstr(written(), "\"msg\":\"a: b\",\"otelcol.component.id\":\"a\","
                                            "\"otelcol.component.kind\":\"extension\"}\n"));
}
END_TEST

START_TEST(of_equal_lines_the_first_and_then_some_are_written)
{
    unsigned lines = 0;
    capture();
    log_set_sampling(3600 * UINT64_C(1000000000), 2, 5);
    for (unsigned i = 0; i < 12; i++)
        log_error("again"); /* 1, 2, then 7 and 12 */
    log_error("another");
    for (unsigned i = 0; i < 3; i++)
        log_answer(LOG_ERROR, "again"); /* asked for */
    for (const char *at = written(); (at = strchr(at, '\n')); at++)
        lines++;
    ck_assert_uint_eq(lines, 8);
}
END_TEST

START_TEST(lines_that_differ_in_numbers_are_equal)
{
    capture();
    log_set_sampling(3600 * UINT64_C(1000000000), 1, 0);
    for (unsigned i = 0; i < 12; i++)
        log_error("again in %u.%u s", i, i);
    ck_assert_ptr_eq(strchr(written(), '\n'), strrchr(written(), '\n'));
}
END_TEST

START_TEST(lines_go_where_they_are_told)
{
    char path[] = "/tmp/spanlink-test-XXXXXX", text[256] = "";
    int file = mkstemp(path);
    const int to[] = {file};
    capture();
    log_set_outputs(to, 1);
    log_error("to the file");
    ck_assert_str_eq(written(), "");
    ck_assert_int_gt(pread(file, text, sizeof text - 1, 0), 0);
    ck_assert_ptr_nonnull(strstr(text, " error to the file\n"));
    unlink(path);
}
END_TEST

START_TEST(only_the_journal_gets_priorities)
{
    char text[256] = "", path[] = "/tmp/spanlink-log-XXXXXX", name[64];
    struct stat its;
    int file = mkstemp(path);
    ck_assert_int_eq(fstat(file, &its), 0);
    snprintf(name, sizeof name, "%ju:%ju", (uintmax_t)its.st_dev, (uintmax_t)its.st_ino);
    setenv("JOURNAL_STREAM", name, 1);
    capture();
    const int to[] = {file, STDERR_FILENO};
    log_set_outputs(to, 2);
    log_warn("take care");
    ck_assert_ptr_eq(written(), strchr(written(), '2'));
    ck_assert_int_gt(pread(file, text, sizeof text - 1, 0), 0);
    ck_assert_int_eq(strncmp(text, "<4>2", 4), 0);
    ck_assert_str_eq(text + 3, written());
    unsetenv("JOURNAL_STREAM");
    unlink(path);
}
END_TEST

/* Makes standard error a pipe that is full. Returns the end to read. */
static int capture_full(void)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
    int flags = fcntl(ends[1], F_GETFL);
    fcntl(ends[1], F_SETFL, flags | O_NONBLOCK);
    while (write(ends[1], "x", 1) == 1)
        ;
    fcntl(ends[1], F_SETFL, flags);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return ends[0];
}

static const char *read_all(int descriptor)
{
    static char text[1 << 17];
    size_t size = 0;
    for (ssize_t n; (n = read(descriptor, text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)n;
    text[size] = '\0';
    return text;
}

static bool has_trouble(const char *what)
{
    struct bytes text;
    bytes_init(&text, 1024, NULL);
    bool trouble = log_trouble(&text);
    ck_assert(bytes_append(&text, "", 1) == BYTES_OK);
    ck_assert_ptr_nonnull(strstr((const char *)text.data, what));
    bytes_release(&text);
    return trouble;
}

START_TEST(lines_that_nobody_reads_are_dropped_and_counted)
{
    int reader = capture_full();
    log_error("one");
    log_error("two");
    ck_assert_uint_eq(log_dropped(), 2);
    ck_assert(has_trouble("log: stderr is not read: 2 lines dropped since "));
    ck_assert_ptr_null(strchr(read_all(reader), '\n'));
    ck_assert(!has_trouble(""));
    log_error("three");
    const char *text = read_all(reader);
    ck_assert_ptr_nonnull(strstr(text, " warn  the log was not read: 2 lines were dropped since "));
    ck_assert_ptr_nonnull(strstr(text, "Z\n2"));
    ck_assert_ptr_nonnull(strstr(text, " error three\n"));
    log_error("four");
    ck_assert_ptr_null(strstr(read_all(reader), "dropped"));
    ck_assert_uint_eq(log_dropped(), 2);
}
END_TEST

START_TEST(lines_that_one_output_drops_reach_the_others)
{
    char path[] = "/tmp/spanlink-test-XXXXXX", text[1024] = "";
    int file = mkstemp(path);
    const int to[] = {STDERR_FILENO, file};
    int reader = capture_full();
    log_set_outputs(to, 2);
    log_set_error_outputs(&(int){dup(file)}, 1);
    log_error("one");
    ck_assert_int_gt(pread(file, text, sizeof text - 1, 0), 0);
    ck_assert_ptr_nonnull(
        strstr(text, " error the log cannot be written: its reader has stopped reading;"));
    ck_assert_ptr_nonnull(strstr(text, " error one\n"));
    log_set_outputs(&(int){STDERR_FILENO}, 1); /* what stays keeps its count */
    read_all(reader);
    log_set_form(true, "");
    log_error("two");
    ck_assert_ptr_nonnull(strstr(read_all(reader), "\"msg\":\"the log was not read: 1 line was "
                                                   "dropped since "));
    unlink(path);
}
END_TEST

START_TEST(a_long_event_is_cut)
{
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    capture();
    log_error("%s", text);
    size_t size = strlen(written());
    ck_assert_uint_lt(size, 1100);
    ck_assert_int_eq(written()[size - 1], '\n');
}
END_TEST

START_TEST(levels_have_names)
{
    enum log_level level;
    ck_assert(log_level_parse("WARNING", &level) && level == LOG_WARN);
    ck_assert(log_level_parse("debug", &level) && level == LOG_DEBUG);
    ck_assert(log_level_parse("Fatal", &level) && level == LOG_ERROR);
    ck_assert(log_level_parse("panic", &level) && level == LOG_ERROR);
    ck_assert(log_level_parse("dpanic", &level) && level == LOG_ERROR);
    ck_assert(!log_level_parse("loud", &level));
}
END_TEST

SUITE_MAIN("log", lines_below_the_level_are_not_written, an_event_is_one_line,
           as_json_an_event_is_an_object, a_line_names_its_component,
           of_equal_lines_the_first_and_then_some_are_written,
           lines_that_differ_in_numbers_are_equal, lines_go_where_they_are_told,
           only_the_journal_gets_priorities, lines_that_nobody_reads_are_dropped_and_counted,
           lines_that_one_output_drops_reach_the_others, a_long_event_is_cut, levels_have_names)
