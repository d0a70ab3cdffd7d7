/* Cleans the lines that a component's explain appends. Pure. */
#ifndef PIPELINE_LIFE_EXPLAINED_H
#define PIPELINE_LIFE_EXPLAINED_H

#include "lib/base/bytes.h"

/* Appends a component's text, whose lines must each begin with its id and a colon. Any other line
 * is taken for part of a name that contains a line break and is joined to the one before.
 * Unprintable characters are escaped, and secrets in URLs are masked. */
void explained_append(struct view text, const char *id, struct bytes *out);

#endif
