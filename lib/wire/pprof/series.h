/*
 * The labels of a profile series, and the `name{labels}` grammar of /ingest. A series is a
 * refcounted, immutable list.
 */
#ifndef LIB_WIRE_PPROF_SERIES_H
#define LIB_WIRE_PPROF_SERIES_H

#include "lib/base/view.h"

struct series_label {
    struct view name;
    struct view value;
};

struct series {
    _Atomic unsigned refs;
    size_t count;
    struct series_label *labels; /* in the order given, no name twice */
    /* the texts follow in the same allocation */
};

/* Copies; of a name that comes twice the last value stays, in the first one's place. NULL: no
 * memory. */
struct series *series_new(const struct series_label *labels, size_t count);
struct series *series_ref(struct series *series);
void series_unref(struct series *series); /* NULL is legal */

/* Value of a label; data NULL: absent. */
struct view series_get(const struct series *series, struct view name);

/* A copy with one label set: replaced where it stands, else added behind. NULL: no memory. */
struct series *series_with(const struct series *series, struct view name, struct view value);

/* Parses `app{k=v,k2=v2}` as the server does (reference: Pyroscope's labelset): app name in
 * [A-Za-z0-9_.-/], label names in [A-Za-z0-9_.], values raw up to ',' or '}', white space trimmed,
 * text after '}' ignored, `__name__` inside the braces overrides the app name. The app name comes
 * as label `__name__`. Stricter than the server, which loses such labels without a word: a list
 * without its '}', and a value that is not UTF-8. NULL: *reason says what is wrong (static text).
 */
struct series *series_parse(struct view name, const char **reason);

#endif
