/* Removes attributes that are not allowed, and masks blocked values: settings. */
#include "processors/redaction/redaction.h"
#include "processors/redaction/statement.h"

#include "lib/late/late.h"
#include "lib/net/tls/named_digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static const char *const digest_names[] = {
    [NAMED_MD5] = "md5",
    [NAMED_SHA1] = "sha1",
    [NAMED_SHA3_256] = "sha3",
    [NAMED_HMAC_SHA256] = "hmac-sha256",
    [NAMED_HMAC_SHA512] = "hmac-sha512",
};
enum { DIGESTS = sizeof digest_names / sizeof *digest_names };

static const struct key url_sanitizer_keys[] = {
    KEY_BOOL(struct redaction, sanitizes_urls, "enabled", "false", "not supported"),
    KEY_IGNORED("attributes", "accepted; no effect"),
    KEY_IGNORED("sanitize_span_name", "accepted; no effect"),
    KEY_END,
};
#define DATABASE_KEYS(database)                                                                    \
    static const struct key database##_keys[] = {                                                  \
        KEY_BOOL(struct redaction, database.enabled, "enabled", "false",                           \
                 "sanitize attributes, log bodies and span names"),                                \
        KEY_LIST(struct redaction, database.attributes, "attributes", NULL,                        \
                 "keys of the attributes that hold statements"),                                   \
        KEY_END}
#define JSON_DATABASE_KEYS(database)                                                               \
    static const struct key database##_keys[] = {                                                  \
        KEY_BOOL(struct redaction, database.enabled, "enabled", "false",                           \
                 "sanitize log bodies and span names"),                                            \
        KEY_IGNORED("attributes", "accepted; no effect, as in the Collector"), KEY_END}
DATABASE_KEYS(sql);
DATABASE_KEYS(redis);
DATABASE_KEYS(valkey);
DATABASE_KEYS(memcached);
DATABASE_KEYS(mongo);
JSON_DATABASE_KEYS(opensearch);
JSON_DATABASE_KEYS(es);
static const struct key db_sanitizer_keys[] = {
    KEY_SECTION("sql", sql_keys, "literals, and digits in names"),
    KEY_SECTION("redis", redis_keys, "arguments of commands"),
    KEY_SECTION("valkey", valkey_keys, "arguments of commands"),
    KEY_SECTION("memcached", memcached_keys, "all but the first line"),
    KEY_SECTION("mongo", mongo_keys, "values in JSON"),
    KEY_SECTION("opensearch", opensearch_keys, "values in JSON"),
    KEY_SECTION("es", es_keys, "values in JSON"),
    KEY_BOOL(struct redaction, sanitizes_span_names, "sanitize_span_name", "true",
             "names of spans with db.system.name or db.system too"),
    KEY_END,
};

static const struct key redaction_keys[] = {
    KEY_BOOL(struct redaction, allow_all_keys, "allow_all_keys", "false",
             "keep attributes with any key"),
    KEY_LIST(struct redaction, allowed_keys, "allowed_keys", NULL,
             "keys that are kept; all others are removed"),
    KEY_LIST(struct redaction, ignored_keys, "ignored_keys", NULL,
             "keys that are kept with their values"),
    KEY_LIST(struct redaction, ignored_key_patterns, "ignored_key_patterns", NULL,
             "the same, as regular expressions"),
    KEY_LIST(struct redaction, blocked_key_patterns, "blocked_key_patterns", NULL,
             "if a key matches, its value is masked completely"),
    KEY_LIST(struct redaction, blocked_values, "blocked_values", NULL,
             "parts of values that match are masked"),
    KEY_LIST(struct redaction, allowed_values, "allowed_values", NULL,
             "values that match are not masked"),
    KEY_STRING(struct redaction, hash_function, "hash_function", NULL, 0,
               "md5, sha1, sha3, hmac-sha256 or hmac-sha512: mask with the hash instead of ****"),
    KEY_SECRET(struct redaction, hmac_key, "hmac_key", "key of the HMAC"),
    KEY_BOOL(struct redaction, redact_all_types, "redact_all_types", "false",
             "check values other than strings too, as strings"),
    KEY_STRING(struct redaction, summary, "summary", NULL, 0,
               "info: add attributes with counts; debug: with the keys too; otherwise none"),
    KEY_SECTION("url_sanitizer", url_sanitizer_keys, "identifiers in the paths of URLs"),
    KEY_SECTION("db_sanitizer", db_sanitizer_keys, "values in database statements"),
    KEY_END,
};

/* ---- settings ---- */

static void check_patterns(const struct key_list *list, const char *name, struct key_report *report)
{
    char path[80], error[256];
    for (size_t i = 0; i < list->count; i++) {
        struct regex *regex = regex_new(view_of(list->items[i]), error, sizeof error);
        snprintf(path, sizeof path, "%s[%zu]", name, i);
        if (!regex)
            key_report_add(report, path, "not a regular expression: %s", error);
        regex_free(regex);
    }
}

static int digest_of(const char *name)
{
    for (int i = 0; i < DIGESTS; i++)
        if (strcasecmp(name, digest_names[i]) == 0)
            return i;
    return NO_DIGEST;
}

static void redaction_check(const void *instance, struct key_report *report)
{
    const struct redaction *self = instance;
    int digest = digest_of(self->hash_function);
    size_t least = digest == NAMED_HMAC_SHA512 ? 64 : digest == NAMED_HMAC_SHA256 ? 32 : 0;
    if (self->sanitizes_urls)
        key_report_add(report, "url_sanitizer.enabled",
                       "not supported, use blocked_values or the processor transform");
    check_patterns(&self->ignored_key_patterns, "ignored_key_patterns", report);
    check_patterns(&self->blocked_key_patterns, "blocked_key_patterns", report);
    check_patterns(&self->blocked_values, "blocked_values", report);
    check_patterns(&self->allowed_values, "allowed_values", report);
    if (*self->hash_function && digest == NO_DIGEST)
        key_report_add(report, "hash_function",
                       "expected md5, sha1, sha3, hmac-sha256 or hmac-sha512");
    if (strlen(self->hmac_key) < least)
        key_report_add(report, "hmac_key", "expected at least %zu bytes for %s", least,
                       digest_names[digest]);
}

/* The number of the first that matches; their count: none does. */
static size_t first_match(const struct key_list *list, const char *text)
{
    char error[256];
    for (size_t i = 0; i < list->count; i++) {
        struct regex *regex = regex_new(view_of(list->items[i]), error, sizeof error);
        bool matches = regex && regex_test(regex, view_of(text)) == REGEX_YES;
        regex_free(regex);
        if (matches)
            return i;
    }
    return list->count;
}

/* The number of the first that matches all examples; their count: none does. */
static size_t first_of_all(const struct key_list *list, const char *const *examples)
{
    char error[256];
    for (size_t i = 0; examples && i < list->count; i++) {
        struct regex *regex = regex_new(view_of(list->items[i]), error, sizeof error);
        const char *const *at = examples;
        while (regex && *at && regex_test(regex, view_of(*at)) == REGEX_YES)
            at++;
        bool all = regex && !*at;
        regex_free(regex);
        if (all)
            return i;
    }
    return list->count;
}

/* Whether allowed_values may keep values of it. */
static bool may_allow(const struct redaction *self, const struct alterable *what)
{
    const struct key_list *allowed = &self->allowed_values;
    for (const char *const *at = what->examples; at && *at && !what->any_text; at++)
        if (first_match(allowed, *at) < allowed->count)
            return true;
    return allowed->count && (what->any_text || !what->examples);
}

/* Whether its values are masked; path: what by. */
static bool masks(const struct redaction *self, const struct alterable *what, char path[64])
{
    size_t by_key = first_match(&self->blocked_key_patterns, what->key);
    size_t by_value = first_of_all(&self->blocked_values, what->examples);
    bool whole = by_key < self->blocked_key_patterns.count;
    snprintf(path, 64, whole ? "blocked_key_patterns[%zu]" : "blocked_values[%zu]",
             whole ? by_key : by_value);
    return (whole || by_value < self->blocked_values.count) && !may_allow(self, what);
}

static void redaction_alters(const void *instance, const struct attribute_of *attribute,
                             alteration_visit_fn *visit, void *ctx)
{
    const struct redaction *self = instance;
    const char *key = attribute->what.key;
    char path[64] = "allowed_keys", instead[200];
    struct alteration found = {.path = path, .verb = "masks", .instead = instead};
    bool goes = !self->allow_all_keys && !redaction_lists(&self->allowed_keys, view_of(key));
    if (redaction_lists(&self->ignored_keys, view_of(key)) ||
        first_match(&self->ignored_key_patterns, key) < self->ignored_key_patterns.count ||
        (!goes && !masks(self, &attribute->what, path)))
        return;
    snprintf(instead, sizeof instead, "%sadd %s to %s",
             goes && !self->allowed_keys.count ? "set allow_all_keys: true, or " : "", key,
             goes ? "allowed_keys" : "ignored_keys");
    if (goes) {
        found.verb = "removes";
        found.to = ALTERATION_REMOVED;
    }
    visit(ctx, &found);
}

static bool make_patterns(struct patterns *patterns, const struct key_list *list, char *error,
                          size_t error_size)
{
    patterns->items = calloc(list->count + 1, sizeof(struct regex *));
    snprintf(error, error_size, "out of memory");
    for (size_t i = 0; patterns->items && i < list->count; i++) {
        patterns->items[i] = regex_new(view_of(list->items[i]), error, error_size);
        if (!patterns->items[i])
            return false;
        patterns->count++;
    }
    return patterns->items;
}

static bool redaction_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct redaction *self = instance;
    char digest[NAMED_HEX_MAX];
    (void)env;
    self->digest = digest_of(self->hash_function);
    self->detail = strcmp(self->summary, "debug") == 0  ? DEBUG
                   : strcmp(self->summary, "info") == 0 ? INFO
                                                        : SILENT;
    self->all = regex_new(VIEW(".*"), error, error_size);
    if (!self->all ||
        !make_patterns(&self->ignored, &self->ignored_key_patterns, error, error_size) ||
        !make_patterns(&self->blocked_keys, &self->blocked_key_patterns, error, error_size) ||
        !make_patterns(&self->blocked, &self->blocked_values, error, error_size) ||
        !make_patterns(&self->allowed, &self->allowed_values, error, error_size))
        return false;
    self->has_databases = self->sql.enabled || self->redis.enabled || self->valkey.enabled ||
                          self->memcached.enabled || self->mongo.enabled ||
                          self->opensearch.enabled || self->es.enabled;
    if (self->sql.enabled && !(self->letter = regex_new(VIEW(STATEMENT_LETTER), error, error_size)))
        return false;
    if (self->digest == NO_DIGEST)
        return true;
    if (!late_has_tls(error, error_size))
        return false;
    snprintf(error, error_size, "hash_function: this GnuTLS does not support %s",
             digest_names[self->digest]);
    return named_digest_hex((enum named_digest)self->digest, view_of(self->hmac_key), VIEW("x"),
                            digest);
}

static void patterns_release(struct patterns *patterns)
{
    for (size_t i = 0; i < patterns->count; i++)
        regex_free(patterns->items[i]);
    free(patterns->items);
    *patterns = (struct patterns){0};
}

static void redaction_close(void *instance)
{
    struct redaction *self = instance;
    patterns_release(&self->ignored);
    patterns_release(&self->blocked_keys);
    patterns_release(&self->blocked);
    patterns_release(&self->allowed);
    regex_free(self->all);
    regex_free(self->letter);
    self->all = self->letter = NULL;
}

static bool redaction_step(void *self, const struct batch *batch, struct pass_step *step)
{
    (void)self, (void)batch;
    step->levels = EDIT_BIT(EDIT_LEVELS) - 1;
    step->run = redaction_run;
    return true;
}

const struct component processor_redaction = {
    .type = "redaction",
    .text = "removes attributes that are not allowed and masks blocked values",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_METRICS) | SIGNAL_BIT(SIGNAL_LOGS),
    .size = sizeof(struct redaction),
    .keys = redaction_keys,
    .check = redaction_check,
    .alters = redaction_alters,
    .open = redaction_open,
    .step = redaction_step,
    .close = redaction_close,
};
