/* Lines of a screen, cut or folded to its columns, until its rows are used up. */
#ifndef CLI_TOP_LINES_H
#define CLI_TOP_LINES_H

#include "cli/top_draw.h"

enum { TOP_LINE_SIZE = 1024, TOP_PROBLEM_SIZE = 4096 };

struct top_drawing {
    const struct top_look *now, *before;
    const struct top_screen *screen;
    struct bytes *out;
    unsigned left;    /* rows */
    unsigned omitted; /* lines for which there was no room */
};

/* Puts a line, cut at the edge. heading: bold on a terminal. */
void top_put_line(struct top_drawing *drawing, bool heading, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts a text without cutting it: on a screen it is folded, else it is as long as it is. */
void top_put_folded(struct top_drawing *drawing, bool is_bold, const char *text);

/* Returns out: a name in a column of its own width. */
const char *top_padded(const char *text, unsigned width, char out[TOP_LINE_SIZE]);

/* A number of an object; 0: it has none. */
double top_number_of(const struct top_value *object, const char *key);

#endif
