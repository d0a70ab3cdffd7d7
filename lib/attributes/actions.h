/*
 * Actions on attributes, as the Collector's resource and attributes processors list them: insert,
 * update, upsert, delete, hash, extract, convert.
 */
#ifndef LIB_ATTRIBUTES_ACTIONS_H
#define LIB_ATTRIBUTES_ACTIONS_H

#include "lib/settings/key.h"
#include "lib/wire/value/value.h"

struct action_settings {
    char *key;
    char *action;
    struct key_value value;
    struct key_value default_value;
    char *from_attribute;
    char *from_context;
    char *pattern;
    char *converted_type;
};

extern const struct key action_keys[];

/* What from_context reads: headers of the request that a receiver with include_metadata kept. */
struct action_context {
    const char *tenant;        /* X-Scope-OrgID; NULL: none */
    const char *authorization; /* NULL: none */
};

struct actions;

/* Reports what is wrong with a list of struct action_settings; path is its key's. */
void actions_check(const struct key_groups *list, const char *path, struct key_report *report);

/* From a list that was checked, which it refers to. NULL: no memory, or the library of patterns is
 * not there (error says so). */
struct actions *actions_new(const struct key_groups *list, char *error, size_t error_size);
void actions_free(struct actions *actions); /* may be NULL */

/* Any thread. */
void actions_run(const struct actions *actions, const struct action_context *context,
                 struct attributes *attributes);

#endif
