/*
 * Database statements without the values in them, as the obfuscator of Datadog's agent writes them,
 * which the Collector's redaction processor uses: literals, arguments and values become "?". Pure.
 */
#ifndef PROCESSORS_REDACTION_STATEMENT_H
#define PROCESSORS_REDACTION_STATEMENT_H

#include "lib/regex/regex.h"

/* Bytes that a statement may grow to, for the ceiling of `out`. */
static inline size_t statement_room(struct view text)
{
    return 4 * text.size + 64;
}

/* Each appends what it makes of a text. False: out is full, or its memory is not there.
 *
 * letter: a pattern that matches a letter of Unicode (STATEMENT_LETTER). mysql: double quotes hold
 * strings, # begins a comment and backquotes hold names. */
#define STATEMENT_LETTER "^\\pL"
bool statement_sql(struct view text, bool mysql, const struct regex *letter, struct bytes *out);

/* Commands, one a line; the values among the arguments of those that write become "?". */
bool statement_redis(struct view text, struct bytes *out);

/* The first line. */
bool statement_memcached(struct view text, struct bytes *out);

/* Keys and structure, without white space; a text that is not valid JSON as it is. */
bool statement_json(struct view text, struct bytes *out);

#endif
