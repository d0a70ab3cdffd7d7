/* The errors and warnings about a configuration, collected and printed together. One thread. */
#ifndef LIB_SETTINGS_PROBLEMS_H
#define LIB_SETTINGS_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct node;

struct problems {
    char **lines;
    size_t count;
    char **warnings;
    size_t warning_count;
    char **severe; /* warnings that fail `validate` and `check` */
    size_t severe_count;
};

/* Adds "FILE:LINE: a.b.c: sentence" with the node's position; node NULL: the sentence alone. path
 * may be NULL or "". */
void problems_add(struct problems *problems, const struct node *node, const char *path,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Adds a warning: the configuration can run, but is probably a mistake. severe: `validate` and
 * `check` fail. */
void problems_warn(struct problems *problems, bool severe, const struct node *node,
                   const char *path, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Prints the problems, one per line. */
void problems_print(const struct problems *problems, FILE *out);
void problems_release(struct problems *problems);

#endif
