/* Lines that a component says of itself, made fit to be shown. Pure. */
#ifndef PIPELINE_LIFE_EXPLAINED_H
#define PIPELINE_LIFE_EXPLAINED_H

#include "lib/base/bytes.h"

/* Appends a component's text, in which each line begins with its id and a colon. A line that does
 * not is the rest of a name with a line's end in it, and is joined to the one before; what cannot
 * be seen is escaped, and secrets of URLs are blotted out. */
void explained_append(struct view text, const char *id, struct bytes *out);

#endif
