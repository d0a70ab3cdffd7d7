/* Escaping of untrusted text that people will read: logs, terminals, pages. Pure. */
#ifndef LIB_BASE_SHOWN_H
#define LIB_BASE_SHOWN_H

#include "lib/base/view.h"

/* Copies text, truncated to size and NUL-terminated, and escapes what would not be visible: control
 * characters (C1 too) and invalid UTF-8 as \n, \r, \t or \xNN; line and paragraph separators,
 * bidirectional controls and characters without width as \u2028 and so on. Returns the length of
 * the copy. */
size_t shown_copy(struct view text, char *out, size_t size);

/* The size in bytes of the character at the start of a text that is not empty, 1 if it is invalid.
 * *visible: whether shown_copy leaves it as it is. */
size_t shown_character(struct view text, bool *visible);

/* A character that looks like one of ASCII, as in text copied from a formatted page. */
struct lookalike {
    const char *text;     /* in UTF-8 */
    const char *words;    /* "a no-break space (U+00A0)" */
    const char *expected; /* what stands for it: "a plain space" */
    bool blank;
};

/* The one at the start of a text; NULL: none is. */
const struct lookalike *lookalike_at(struct view text);
/* The first one in a text, *at: at which offset; NULL: there is none. */
const struct lookalike *lookalike_in(struct view text, size_t *at);

#endif
