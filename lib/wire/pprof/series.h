/*
 * The labels of a profile series, a refcounted, immutable list, and the `name{labels}` grammar of
 * /ingest.
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
    struct series_label *labels; /* in the order given, names are unique */
    /* the strings follow in the same allocation */
};

/* Copies labels; a duplicate name keeps its first position and its last value. NULL: no memory. */
struct series *series_new(const struct series_label *labels, size_t count);
struct series *series_ref(struct series *series);
void series_unref(struct series *series); /* may be NULL */

/* The value of a label; data NULL: absent. */
struct view series_get(const struct series *series, struct view name);

/* A copy with one label set: replaced in place, or appended. NULL: no memory. */
struct series *series_with(const struct series *series, struct view name, struct view value);

/* Parses `app{k=v,k2=v2}` like the server (reference: Pyroscope's labelset): app name in
 * [A-Za-z0-9_.-/], label names in [A-Za-z0-9_.], values raw up to ',' or '}', whitespace trimmed,
 * text after '}' ignored, `__name__` inside the braces overrides the app name. The app name becomes
 * the label `__name__`. Stricter than the server, which silently loses such labels: refuses a list
 * without '}', and values that are not UTF-8. NULL: *reason says what is wrong (static text). */
struct series *series_parse(struct view name, const char **reason);

#endif
