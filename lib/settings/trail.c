#include "lib/settings/trail.h"

#include <stdio.h>

static size_t trail_append(const struct trail *trail, char *out)
{
    size_t at = trail->above ? trail_append(trail->above, out) : 0;
    const char *dot = trail->above ? "." : "";
    int n = trail->key ? snprintf(out + at, TRAIL_TEXT - at, "%s%s", dot, trail->key)
                       : snprintf(out + at, TRAIL_TEXT - at, "%s%zu", dot, trail->index);
    at += n > 0 ? (size_t)n : 0;
    return at < TRAIL_TEXT ? at : TRAIL_TEXT - 1;
}

const char *trail_text(const struct trail *trail, char out[TRAIL_TEXT])
{
    out[0] = '\0';
    if (trail)
        trail_append(trail, out);
    return out;
}
