/*
 * Regular expressions as RE2 reads them, matched by PCRE2, which is loaded when the first one is
 * compiled. What RE2 does not have (references back, looking around, atomic groups) is refused. A
 * match takes a bounded number of steps and bytes, so that no pattern and no text hangs; a pattern
 * whose matches reach REGEX_STEPS_MAX more than about four times a second has REGEX_STEPS_BRIEF in
 * the meantime, so that many texts do not hang either. In a text that is not UTF-8 each invalid
 * byte matches as U+FFFD, as in Go.
 */
#ifndef LIB_REGEX_REGEX_H
#define LIB_REGEX_REGEX_H

#include "lib/base/bytes.h"

enum {
    REGEX_GROUPS_MAX = 128,      /* with the whole match */
    REGEX_PATTERN_MAX = 8192,    /* bytes */
    REGEX_STEPS_MAX = 1000000,   /* of one match, about 10 ms */
    REGEX_STEPS_BRIEF = 10000,   /* the same while matches keep reaching it */
    REGEX_HEAP_KIB_MAX = 1024,   /* of one match */
    REGEX_REPAIRED_MAX = 4 << 20 /* bytes of a text with U+FFFD for each invalid byte */
};

enum regex_result {
    REGEX_NO,
    REGEX_YES,
    REGEX_LIMIT /* the limits ended the search, or there is no memory: it is not known */
};

struct regex;

/* Where the groups of a match lie; data NULL: the group took no part. */
struct regex_match {
    struct view groups[REGEX_GROUPS_MAX];
    size_t count; /* of the pattern, the whole match as number 0 included */
};

/* Compiles. NULL: error holds a sentence's part, such as "missing ) at character 7". Any thread. */
struct regex *regex_new(struct view pattern, char *error, size_t error_size);
void regex_free(struct regex *regex); /* may be NULL */

/* Whether it matches anywhere in the text. Any thread. */
enum regex_result regex_test(const struct regex *regex, struct view text);

/* Whether it is plain to see that no part of the text matches: it lacks a byte that all matches
 * have. The others look at this first. */
bool regex_rules_out(const struct regex *regex, struct view text);

/* The first match; its groups are parts of text. Any thread. */
enum regex_result regex_find(const struct regex *regex, struct view text,
                             struct regex_match *match);

/* Groups without the whole match; the name of one from 1 on, "" without a name. */
size_t regex_groups(const struct regex *regex);
const char *regex_group_name(const struct regex *regex, size_t group);

/* Replaces every match, as Go's ReplaceAllString does: $1, ${1} and ${name} stand for groups and $$
 * for a dollar. REGEX_NO: there was no match, and nothing is
 * written. REGEX_LIMIT: the limits, or out is full. */
enum regex_result regex_replace(const struct regex *regex, struct view text,
                                struct view replacement, struct bytes *out);

/* Appends a replacement with the groups of a match. False: out is full. */
bool regex_expand(const struct regex *regex, const struct regex_match *match,
                  struct view replacement, struct bytes *out);

/* Appends what replaces a match. False: out is full, and the result is REGEX_LIMIT. */
typedef bool regex_put(const void *context, const struct regex_match *match, struct bytes *out);

/* As regex_replace, with what `put` writes in the place of each match. */
enum regex_result regex_replace_by(const struct regex *regex, struct view text, regex_put *put,
                                   const void *context, struct bytes *out);

#endif
