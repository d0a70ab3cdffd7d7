/* The way from the root of a tree to a node, kept on the stack while one walks. One thread. */
#ifndef LIB_SETTINGS_TRAIL_H
#define LIB_SETTINGS_TRAIL_H

#include <stddef.h>

struct trail {
    const struct trail *above; /* NULL: this is the root's child */
    const char *key;           /* NULL: an item of a list */
    size_t index;
};

enum { TRAIL_TEXT = 512 };

/* "a.b.0.c" into out, cut where it does not fit. A NULL trail is "". */
const char *trail_text(const struct trail *trail, char out[TRAIL_TEXT]);

#endif
