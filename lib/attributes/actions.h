/*
 * Actions on attributes, as the Collector's resource and attributes processors list them: insert,
 * update, upsert, delete, hash, extract, convert.
 */
#ifndef LIB_ATTRIBUTES_ACTIONS_H
#define LIB_ATTRIBUTES_ACTIONS_H

#include "lib/base/alteration.h"
#include "lib/base/request_context.h"
#include "lib/settings/key.h"
#include "lib/wire/value/attributes.h"
#include "lib/wire/value/key_sieve.h"

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

struct actions;

/* Reports what is wrong with a list of struct action_settings; path is its key's. */
void actions_check(const struct key_groups *list, const char *path, struct key_report *report);

/* From a list that was checked, which it refers to. NULL: no memory, or the library of patterns is
 * not there (error says so). */
struct actions *actions_new(const struct key_groups *list, char *error, size_t error_size);
void actions_free(struct actions *actions); /* may be NULL */

/* The i-th from_context of their settings: the name of a header, or "client.address"; NULL: no
 * more. */
const char *actions_header(const struct key_groups *list, size_t i);

/* Visits those that remove or change the attribute with this key wherever it is there; path is the
 * list's. */
void actions_alter(const struct key_groups *list, const char *path, struct view key,
                   alteration_visit_fn *visit, void *ctx);

/* Whether one of them has from_context. */
bool actions_read_context(const struct actions *actions);

/* Adds the keys that the actions look for. */
void actions_sieve(const struct actions *actions, struct key_sieve *sieve);

/* Any thread. */
void actions_run(const struct actions *actions, const struct request_context *context,
                 struct attributes *attributes);

#endif
