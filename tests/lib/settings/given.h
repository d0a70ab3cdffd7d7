/* Shared by the tests of settings: text to trees, trees to one line, problems. */
#ifndef TESTS_LIB_SETTINGS_GIVEN_H
#define TESTS_LIB_SETTINGS_GIVEN_H

#include "lib/base/bytes.h"
#include "lib/settings/fill.h"
#include "lib/settings/load.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Writes a tree in flow style: quoted strings in quotes, others bare. Freed by the caller. */
static inline void given_write(FILE *out, const struct node *node)
{
    const char *open = node->kind == NODE_MAP ? "{" : "[";
    if (node->kind == NODE_NULL) {
        fputs("null", out);
        return;
    }
    if (node->kind == NODE_SCALAR) {
        fprintf(out, node->quoted ? "'%s'" : "%s", node->text);
        return;
    }
    fputs(open, out);
    for (size_t i = 0; i < node->count; i++) {
        fputs(i ? ", " : "", out);
        if (node->kind == NODE_MAP)
            fprintf(out, "%s: ", node->items[i]->key);
        given_write(out, node->items[i]);
    }
    fputs(node->kind == NODE_MAP ? "}" : "]", out);
}

static inline char *given_flow(const struct node *node)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (node)
        given_write(out, node);
    fclose(out);
    return text;
}

/* All problems, one per line; releases problems. Freed by the caller. */
static inline char *given_sentences(struct problems *problems)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    problems_print(problems, out);
    fclose(out);
    problems_release(problems);
    return text;
}

/* Creates a file with this content in the test's working directory; returns its name. Freed and
 * unlinked by the caller. */
static inline char *given_file(const char *content)
{
    char *name = strdup("/tmp/spanlink-test-XXXXXX");
    int fd = mkstemp(name);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    close(fd);
    return name;
}

/* Loads up to four sources; ends at NULL. */
static inline struct settings *given_load(struct problems *problems, const char *a, const char *b,
                                          const char *set)
{
    struct settings_source sources[3];
    size_t n = 0;
    if (a)
        sources[n++] = (struct settings_source){SETTINGS_FILE, a};
    if (b)
        sources[n++] = (struct settings_source){SETTINGS_FILE, b};
    if (set)
        sources[n++] = (struct settings_source){SETTINGS_SET, set};
    return settings_load(sources, n, problems);
}

/* Expects sources to resolve to this tree. */
static inline void given_resolves(const char *a, const char *b, const char *set, const char *want)
{
    struct problems problems = {0};
    struct settings *settings = given_load(&problems, a, b, set);
    char *faults = given_sentences(&problems);
    char *flow = settings ? given_flow(settings_root(settings)) : NULL;
    ck_assert_str_eq(faults, "");
    ck_assert_pstr_eq(flow, want);
    settings_free(settings);
    free(faults);
    free(flow);
}

/* Expects these problems with sources. */
static inline void given_refused(const char *a, const char *b, const char *set, const char *want)
{
    struct problems problems = {0};
    struct settings *settings = given_load(&problems, a, b, set);
    ck_assert_ptr_null(settings);
    char *faults = given_sentences(&problems);
    ck_assert_str_eq(faults, want);
    free(faults);
}

#endif
