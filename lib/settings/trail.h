/* The path from a tree's root to a node, kept on the stack during a walk. One thread. */
#ifndef LIB_SETTINGS_TRAIL_H
#define LIB_SETTINGS_TRAIL_H

#include <stddef.h>

struct trail {
    const struct trail *above; /* NULL: a child of the root */
    const char *key;           /* NULL: a list item */
    size_t index;
};

enum { TRAIL_TEXT = 512 };

/* Formats "a.b.0.c", truncated to fit. trail NULL: "". Returns out. */
const char *trail_text(const struct trail *trail, char out[TRAIL_TEXT]);

#endif
