/* The lines of `top`, from two looks at a process. */
#ifndef CLI_TOP_DRAW_H
#define CLI_TOP_DRAW_H

#include "cli/top_value.h"
#include "lib/base/bytes.h"

/* How long before a look the one is that gives its rates. */
enum { TOP_MEAN_S = 10 };

/* What the API answered; a missing part is NULL. */
struct top_look {
    const struct top_value *pipelines, *services, *cost;
};

struct top_screen {
    unsigned columns, rows; /* rows 0: as many as there are */
    bool styled;            /* headings are bold */
    const char *missed;     /* why the process did not answer since; NULL: it did */
};

/* Writes whole lines, each cut to the screen, which a "…" shows; problems are folded. The last line
 * of a screen names the key that ends it, and how many lines have no room. before: an earlier look,
 * for rates; its members are NULL where there was none, and totals are shown. */
void top_draw(const struct top_look *now, const struct top_look *before,
              const struct top_screen *screen, struct bytes *out);

#endif
