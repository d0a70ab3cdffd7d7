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

struct redaction {
    bool allow_all_keys;
    struct key_list allowed_keys, ignored_keys;
    struct key_list ignored_key_patterns, blocked_key_patterns, blocked_values, allowed_values;
    char *hash_function;
    char *hmac_key;
    bool redact_all_types;
    char *summary;
    bool sanitizes_urls, sanitizes_sql, sanitizes_redis, sanitizes_valkey, sanitizes_memcached,
        sanitizes_mongo, sanitizes_opensearch, sanitizes_es;

    struct patterns ignored, blocked_keys, blocked, allowed;
    struct regex *all; /* ".*" */
    int digest;        /* NO_DIGEST: stars */
    enum detail detail;
};

/* redact.c. Redacts the attributes of a record, and the body of a log record. */
enum edit_verdict redaction_run(const struct pass_step *step, struct request_edit *at,
                                enum edit_level level);

#endif
