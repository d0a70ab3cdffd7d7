/* Shared by the tests of the command line: a command run in a child, its output and exit code. */
#ifndef TESTS_CLI_RAN_H
#define TESTS_CLI_RAN_H

#include "cli/cli.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RAN_ARGS = 16, RAN_TEXT = 1 << 18 };

struct ran {
    int code; /* -1: ended by a signal */
    char out[RAN_TEXT];
    char err[RAN_TEXT];
};

/* A running command. */
struct child {
    pid_t pid;
    FILE *err; /* its stderr, line by line */
};

/* A configuration without fixed ports that needs no backend. */
static const char ran_config[] = "receivers:\n"
                                 "  otlp:\n"
                                 "    protocols:\n"
                                 "      http: {endpoint: 'localhost:0'}\n"
                                 "exporters:\n"
                                 "  debug:\n"
                                 "  otlp_http:\n"
                                 "    endpoint: http://user:hush@localhost:1/base?token=hush&a=b\n"
                                 "    headers: {Authorization: Bearer hush, X-Scope-OrgID: hush}\n"
                                 "service:\n"
                                 "  pipelines:\n"
                                 "    traces: {receivers: [otlp], exporters: [debug, otlp_http]}\n";

/* Writes a file with this content; its path goes to out. */
static inline const char *ran_file(const char *content, char out[64])
{
    strcpy(out, "/tmp/spanlink-test-XXXXXX");
    int fd = mkstemp(out);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    close(fd);
    return out;
}

/* Becomes `spanlink words...`: executes the test program again, which then acts as the command
 * line. */
static inline void ran_exec(const char *const *words)
{
    char *argv[RAN_ARGS] = {strdup("spanlink")};
    for (int i = 0; words[i]; i++)
        argv[i + 1] = strdup(words[i]);
    setenv("SPANLINK_TEST_CHILD", "1", 1);
    execv("/proc/self/exe", argv);
    abort();
}

static inline void ran_read(FILE *file, char text[RAN_TEXT])
{
    rewind(file);
    text[fread(text, 1, RAN_TEXT - 1, file)] = '\0';
    fclose(file);
}

/* Runs `spanlink words...`; words are NULL-terminated. Freed by the caller. */
static inline struct ran *ran(const char *const *words)
{
    struct ran *ran = calloc(1, sizeof *ran);
    FILE *out = tmpfile(), *err = tmpfile();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        ran_exec(words);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ran->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ran_read(out, ran->out);
    ran_read(err, ran->err);
    return ran;
}

static inline void ran_says(const char *const *words, int code, const char *out, const char *err)
{
    struct ran *got = ran(words);
    ck_assert_str_eq(got->err, err);
    ck_assert_str_eq(got->out, out);
    ck_assert_int_eq(got->code, code);
    free(got);
}

/* Starts `spanlink words...` and returns at once. */
static inline struct child child_start(const char *const *words)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    fflush(NULL);
    struct child child = {.pid = fork()};
    if (child.pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        ran_exec(words);
    }
    close(ends[1]);
    child.err = fdopen(ends[0], "r");
    return child;
}

/* Reads lines until one contains this text; false: the child closed its stderr first. */
static inline bool child_says(struct child *child, const char *text)
{
    char line[4096];
    while (fgets(line, sizeof line, child->err))
        if (strstr(line, text))
            return true;
    return false;
}

/* Returns its exit code; -1: ended by a signal. */
static inline int child_end(struct child *child)
{
    int status;
    ck_assert_int_eq(waitpid(child->pid, &status, 0), child->pid);
    fclose(child->err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The whole of main(). */
static inline int ran_main(int argc, char **argv, const char *name, const TTest *const *tests)
{
    if (getenv("SPANLINK_TEST_CHILD"))
        return cli_main(argc, argv);
    return suite_run(name, tests);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
