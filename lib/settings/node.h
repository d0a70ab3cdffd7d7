/* A resolved configuration as a tree with source positions. Immutable once loaded. */
#ifndef LIB_SETTINGS_NODE_H
#define LIB_SETTINGS_NODE_H

#include <stdbool.h>
#include <stddef.h>

enum node_kind { NODE_NULL, NODE_SCALAR, NODE_MAP, NODE_LIST };

struct node {
    enum node_kind kind;
    const char *key;  /* its key in a map; else NULL */
    const char *text; /* SCALAR: the text, without quotes */
    bool quoted; /* SCALAR: always a string: quoted, a block scalar, or text with an embedded ${} */
    bool unset;  /* it contains a ${VARIABLE} that is not set and has no default */
    const char *variable; /* if unset: the variable's name */
    const char
        *original; /* the whole value came from one ${}: the text before YAML parsing; else NULL */
    const char *file; /* as named on the command line, "yaml: source 1", or "--set a.b" */
    unsigned line;    /* from 1; 0: none */
    unsigned column;  /* SCALAR: of the text, if it is in that line alone; from 1; else 0 */
    struct node **items;
    size_t count;
};

/* Returns a map's entry; NULL: absent, or not a map. */
const struct node *node_get(const struct node *map, const char *key);

/* Whether both hold the same values under the same keys in the same order; positions are
 * ignored. */
bool node_equal(const struct node *a, const struct node *b);

/* The value of a string field: the original, else a scalar's text, "" for null. NULL: a map or a
 * list. */
const char *node_string(const struct node *node);

/* The column of a byte of a scalar in one line without quotes. */
unsigned node_column(const struct node *scalar, size_t at);

/* "a map", "a list", "nothing" or "a scalar", for sentences. */
const char *node_kind_words(const struct node *node);

/* The node at a dotted path below map ("a.b[0].c"), or the last existing node on that path. */
const struct node *node_nearest(const struct node *map, const char *path);

#endif
