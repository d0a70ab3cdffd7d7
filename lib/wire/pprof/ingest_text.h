/*
 * The text formats of /ingest (folded, lines, trie, tree, speedscope): what the server would
 * refuse, so that the client gets the error before the data is accepted, and what it makes of the
 * application's name. Sources: Pyroscope 2.x, ingest adapter and the parser of folded stacks. Pure.
 */
#ifndef LIB_WIRE_PPROF_INGEST_TEXT_H
#define LIB_WIRE_PPROF_INGEST_TEXT_H

#include "lib/wire/pprof/series.h"

#include <stdbool.h>

/* Returns the part after the last dot of an application's name if it is not a known profile type,
 * for which the server refuses the profile. data NULL: the name is valid. */
struct view ingest_text_unknown_type(struct view application);

/* The profile type of an application's name, such as
 * "process_cpu:cpu:nanoseconds:cpu:nanoseconds", which a name without a dot has too. *timed: its
 * values are samples, each of which is worth a period. NULL: unknown. */
const char *ingest_text_type(struct view application, bool *timed);

/* The service that a body is of which is not pprof: a label, else the application's name without
 * the type at its end. JFR ("jfr") has none there; format: the query's, "" if it has none. Of a
 * speedscope file with several profiles the server keeps the end, which is not told apart here. */
struct view ingest_text_service(const struct series *series, const char *format);

/* For lines of `frame;frame count`: returns the number of the first line whose count is not an
 * integer; 0: none. Lines without a space are skipped, and reading stops at a line of 64 KiB. */
size_t folded_bad_line(struct view text);

#endif
