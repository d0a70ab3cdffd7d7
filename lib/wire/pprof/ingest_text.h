/*
 * The text formats of /ingest (folded, lines, trie, tree), as far as the server refuses them: what
 * the client is to learn before the data are accepted. Sources: Pyroscope 2.x, ingest adapter and
 * the parser of folded stacks. Pure.
 */
#ifndef LIB_WIRE_PPROF_INGEST_TEXT_H
#define LIB_WIRE_PPROF_INGEST_TEXT_H

#include "lib/base/view.h"

/* What stands behind the last dot of an application's name, where that is no type of profile: such
 * a profile is refused. data NULL: the name is good. */
struct view ingest_text_unknown_type(struct view application);

/* Lines of `frame;frame count`. The number of the first line whose count is no integer; 0: none.
 * Lines without a space are passed over, and nothing is read behind a line of 64 KiB. */
size_t folded_bad_line(struct view text);

#endif
