/*
 * Checks of the text formats of /ingest (folded, lines, trie, tree) that the server would refuse,
 * so that the client gets the error before the data is accepted. Sources: Pyroscope 2.x, ingest
 * adapter and the parser of folded stacks. Pure.
 */
#ifndef LIB_WIRE_PPROF_INGEST_TEXT_H
#define LIB_WIRE_PPROF_INGEST_TEXT_H

#include "lib/base/view.h"

/* Returns the part after the last dot of an application's name if it is not a known profile type,
 * for which the server refuses the profile. data NULL: the name is valid. */
struct view ingest_text_unknown_type(struct view application);

/* For lines of `frame;frame count`: returns the number of the first line whose count is not an
 * integer; 0: none. Lines without a space are skipped, and reading stops at a line of 64 KiB. */
size_t folded_bad_line(struct view text);

#endif
