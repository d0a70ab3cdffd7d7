/* The list of all that is wrong with a configuration, in sentences, printed together. One thread.
 */
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
    bool severe; /* a warning is */
};

/* "FILE:LINE: a.b.c: sentence", with the place of a node; node NULL: the sentence alone. path may
 * be NULL or "". */
void problems_add(struct problems *problems, const struct node *node, const char *path,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same of what can be started, and is hardly meant. severe: `validate` refuses it. */
void problems_warn(struct problems *problems, bool severe, const struct node *node,
                   const char *path, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The problems, one line each. */
void problems_print(const struct problems *problems, FILE *out);
void problems_release(struct problems *problems);

/* The entry of a NULL-ended list nearest to word, for "did you mean"; NULL: none is near. */
const char *nearest_word(const char *word, const char *const *list);

#endif
