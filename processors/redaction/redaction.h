/* Internal: the processor's settings, and what its files share. */
#ifndef PROCESSORS_REDACTION_REDACTION_H
#define PROCESSORS_REDACTION_REDACTION_H

#include "lib/regex/regex.h"
#include "pipeline/batch_pass.h"
#include "pipeline/component.h"

enum { NO_DIGEST = -1 };
enum detail { SILENT, INFO, DEBUG };

/* Compiled patterns, of which one is enough. */
struct patterns {
    struct regex **items;
    size_t count;
};

/* One of db_sanitizer: the attributes that hold its statements. */
struct database {
    bool enabled;
    struct key_list attributes;
};

struct redaction {
    struct key_list allowed_keys, ignored_keys;
    struct key_list ignored_key_patterns, blocked_key_patterns, blocked_values, allowed_values;
    char *hash_function;
    char *hmac_key;
    char *summary;
    struct database sql, redis, valkey, memcached, mongo, opensearch, es;

    struct patterns ignored, blocked_keys, blocked, allowed;
    struct regex *all;    /* ".*" */
    struct regex *letter; /* of SQL; NULL: sql is not enabled */
    int digest;           /* NO_DIGEST: stars */
    enum detail detail;
    bool allow_all_keys, redact_all_types, sanitizes_urls, sanitizes_span_names;
    bool has_databases; /* some are enabled */
};

/* redact.c. Redacts the attributes of a record, and the body of a log record. */
enum edit_verdict redaction_run(const struct pass_step *step, struct request_edit *at,
                                enum edit_level level);

/* Whether a list has a key. */
bool redaction_lists(const struct key_list *list, struct view key);

/* database.c. The database that a list of attributes names; data NULL: none. */
struct view database_system(const struct attributes *list);

/* The text of an attribute, of a body that is no map or list, and of a span's name, without what
 * their databases' sanitizers take away. system: of database_system. logs: a text whose system is
 * not named passes all sanitizers that list its key. Data NULL: no room. */
struct view database_attribute(const struct redaction *self, struct arena *arena, bool logs,
                               struct view system, struct view key, struct view text);
struct view database_body(const struct redaction *self, struct arena *arena, struct view system,
                          struct view text);
struct view database_span_name(const struct redaction *self, struct arena *arena,
                               struct view system, struct view name);

#endif
