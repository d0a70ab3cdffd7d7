/*
 * Which records a processor works on: the Collector's include and exclude with strict and regexp
 * matching.
 */
#ifndef LIB_ATTRIBUTES_MATCH_H
#define LIB_ATTRIBUTES_MATCH_H

#include "lib/settings/key.h"
#include "lib/wire/edit/request_edit.h"

enum match_type { MATCH_UNSET, MATCH_STRICT, MATCH_REGEXP };

struct match_attribute {
    char *key;
    struct key_value value; /* NONE: any */
};

struct match_library {
    char *name;
    struct key_value version; /* NONE: any */
};

struct match_severity {
    int64_t min;
    bool match_undefined;
};

struct match_settings {
    char *match_type;
    struct key_list services;
    struct key_list span_names;
    struct key_list span_kinds;
    struct key_list log_bodies;
    struct key_list log_severity_texts;
    struct match_severity log_severity_number;
    bool has_severity;
    struct key_list metric_names;
    struct key_groups attributes; /* struct match_attribute */
    struct key_groups resources;
    struct key_groups libraries; /* struct match_library */
};

extern const struct key match_keys[];
extern const struct key match_attribute_keys[];
extern const struct key match_regexp_keys[]; /* of a section "regexp" */

struct match;

/* Whether all spans match, as by the pattern .* alone. False: some may not. */
bool match_takes_all(const struct match_settings *settings);

/* Reports what is wrong whatever the signal; path is the section's. */
void match_check(const struct match_settings *settings, const char *path,
                 struct key_report *report);

/* What is wrong with it in pipelines of a signal (static text); NULL: nothing. */
const char *match_misplaced(const struct match_settings *settings, enum signal signal);

/* From settings that were checked, which it refers to; profiles have no such matching. NULL: no
 * memory, or the library of patterns is not there (error says so). */
struct match *match_new(const struct match_settings *settings, char *error, size_t error_size);
void match_free(struct match *match); /* may be NULL */

/* Whether the item that the edit stands at, or a metric for its points, is one of them. Any
 * thread. */
bool match_item(const struct match *match, struct request_edit *at);

/* Whether an exclude section takes the item out: as match_item, but metrics only by name, as the
 * Collector does. */
bool match_excludes(const struct match *match, struct request_edit *at);

/* The same of the resource alone, by its attributes. */
bool match_resource(const struct match *match, struct request_edit *at);

#endif
