/* A configuration as a tree with positions, after all resolution. Immutable once loaded. */
#ifndef LIB_SETTINGS_NODE_H
#define LIB_SETTINGS_NODE_H

#include <stdbool.h>
#include <stddef.h>

enum node_kind { NODE_NULL, NODE_SCALAR, NODE_MAP, NODE_LIST };

struct node {
    enum node_kind kind;
    const char *key;  /* in a map: its name; else NULL */
    const char *text; /* SCALAR: the text, quotes taken off */
    bool quoted;      /* SCALAR: a string for certain: quoted, a block, or put together by ${} */
    bool unset;       /* a ${VARIABLE} in it is not set and has no default */
    const char *variable; /* with unset: its name */
    const char *original; /* all of it came from one ${}: the text as it stood there; else NULL */
    const char *file;     /* as named on the command line; "--set a.b=c" for one from there */
    unsigned line;        /* from 1; 0: none */
    struct node **items;
    size_t count;
};

/* A map's entry; NULL: absent, or not a map. */
const struct node *node_get(const struct node *map, const char *key);

/* The same values under the same keys in the same order, wherever they stand. */
bool node_equal(const struct node *a, const struct node *b);

/* What a string field receives: the original, else a scalar's text, "" for null; NULL: a map or a
 * list. */
const char *node_string(const struct node *node);

/* "a map", "a list", "nothing" or "a scalar", for sentences. */
const char *node_kind_words(const struct node *node);

/* The node of a dotted path below map ("a.b[0].c"); where it ends early, the last node on the way.
 */
const struct node *node_nearest(const struct node *map, const char *path);

#endif
