/* Bearer tokens (RFC 6750): expected of clients, or sent to servers. */
#include "extensions/bearertokenauth/tokens.h"
#include "lib/base/log.h"
#include "lib/base/watched_file.h"
#include "lib/net/auth.h"
#include "pipeline/component.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_MAX = 1 << 20 };

struct bearertokenauth {
    char *scheme;
    char *header;
    char *token;
    struct key_list list;
    char *filename;

    const struct env *env;
    struct authenticator auth;
    struct auth_tally tally;
    char challenge[128];
    uint8_t key[DIGEST_KEY_SIZE];
    bool opened;
    pthread_mutex_t mutex; /* guards the rest */
    struct watched_file file;
    struct tokens tokens;
};

static const struct key keys[] = {
    KEY_STRING(struct bearertokenauth, scheme, "scheme", "Bearer", 0,
               "scheme before the token; empty: none"),
    KEY_STRING(struct bearertokenauth, header, "header", "Authorization", KEY_REQUIRED,
               "header with the token"),
    KEY_SECRET(struct bearertokenauth, token, "token", "token to send, or to expect of clients"),
    KEY_SECRET_LIST(struct bearertokenauth, list, "tokens",
                    "several tokens instead; any of them is accepted, the first is sent"),
    KEY_STRING(struct bearertokenauth, filename, "filename", NULL, 0,
               "file of tokens, one per line, takes precedence; reloaded when it changes"),
    KEY_END,
};

/* A field name, or a scheme, of RFC 9110. */
static bool is_word(const char *text)
{
    for (; *text; text++)
        if (!strchr("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                    *text))
            return false;
    return true;
}

static void append_line(struct bytes *text, const char *line)
{
    bytes_append_view(text, view_of(line));
    bytes_append(text, "\n", 1);
}

static void text_release(struct bytes *text)
{
    if (text->data)
        explicit_bzero(text->data, text->size);
    bytes_release(text);
}

/* Reads the tokens of the configuration. */
static bool read_own(const struct bearertokenauth *self, struct tokens *tokens, char *why,
                     size_t why_size)
{
    struct bytes text;
    bytes_init(&text, SIZE_MAX / 2, NULL);
    for (size_t i = 0; i < self->list.count; i++)
        append_line(&text, self->list.items[i]);
    append_line(&text, self->token);
    bool good = tokens_read(tokens, self->key, bytes_view(&text), why, why_size);
    text_release(&text);
    return good;
}

static void bearertokenauth_check(const void *config, struct key_report *report)
{
    const struct bearertokenauth *self = config;
    struct tokens tokens;
    char why[128];
    if (!is_word(self->scheme) || strlen(self->scheme) > 64)
        key_report_add(report, "scheme", "\"%.64s\" cannot be written in a header", self->scheme);
    if (!is_word(self->header))
        key_report_add(report, "header", "\"%.64s\" is not a header name", self->header);
    if (!*self->token && !self->list.count && !*self->filename)
        key_report_add(report, NULL, "expected token, tokens or filename");
    else if (*self->token && self->list.count)
        key_report_add(report, "tokens", "expected only one of token and tokens");
    else if (*self->filename)
        return;
    else if (read_own(self, &tokens, why, sizeof why))
        tokens_release(&tokens);
    else
        key_report_add(report, *self->token ? "token" : "tokens", "%s", why);
}

/* Under the mutex. False: the tokens are unchanged, and error describes a fault, if there was
 * one. */
static bool refresh(struct bearertokenauth *self, char *error, size_t error_size)
{
    struct bytes content;
    struct tokens tokens;
    char why[128];
    bytes_init(&content, FILE_MAX, NULL);
    bool changed = watched_file_look(&self->file, clock_mono(self->env->clock), &content, error,
                                     error_size) == WATCHED_READ;
    if (changed && !tokens_read(&tokens, self->key, bytes_view(&content), why, sizeof why)) {
        snprintf(error, error_size, "%s: %s", self->filename, why);
        changed = false;
    } else if (changed) {
        size_t size = tokens.count * sizeof *tokens.digests;
        changed = tokens.count != self->tokens.count ||
                  memcmp(tokens.digests, self->tokens.digests, size) != 0;
        tokens_release(&self->tokens);
        self->tokens = tokens;
    }
    text_release(&content);
    return changed;
}

static void keep_fresh(struct bearertokenauth *self)
{
    char error[512] = "";
    if (!*self->filename)
        return;
    if (refresh(self, error, sizeof error))
        env_info(self->env, "%s reloaded", self->filename);
    else if (*error)
        env_error(self->env, "keeping the previous tokens: %s", error);
}

static enum auth_result bearertokenauth_look(void *ctx, const char *value)
{
    struct bearertokenauth *self = ctx;
    enum auth_result result = AUTH_DENIED;
    const char *why = "it has no credentials";
    struct view token;
    if (value && !token_of(value, self->scheme, &token)) {
        why = "its credentials are of another scheme";
    } else if (value) {
        why = "wrong token";
        pthread_mutex_lock(&self->mutex);
        keep_fresh(self);
        result = tokens_have(&self->tokens, self->key, token) ? AUTH_GRANTED : AUTH_DENIED;
        pthread_mutex_unlock(&self->mutex);
    }
    auth_tally_add(&self->tally, self->env->id, result, why, clock_mono(self->env->clock));
    return result;
}

static bool bearertokenauth_give(void *ctx, struct bytes *value)
{
    struct bearertokenauth *self = ctx;
    size_t before = value->size;
    pthread_mutex_lock(&self->mutex);
    keep_fresh(self);
    bool good = bytes_append_view(value, view_of(self->scheme)) == BYTES_OK &&
                (!*self->scheme || bytes_append(value, " ", 1) == BYTES_OK) &&
                bytes_append_view(value, view_of(self->tokens.first)) == BYTES_OK;
    pthread_mutex_unlock(&self->mutex);
    if (!good)
        value->size = before;
    return good;
}

static const struct authenticator *bearertokenauth_authenticator(void *instance)
{
    struct bearertokenauth *self = instance;
    self->auth = (struct authenticator){.self = self,
                                        .header = self->header,
                                        .look = bearertokenauth_look,
                                        .give = bearertokenauth_give};
    if (*self->scheme) {
        snprintf(self->challenge, sizeof self->challenge, "%s realm=\"spanlink\"", self->scheme);
        self->auth.challenge = self->challenge;
    }
    return &self->auth;
}

static bool bearertokenauth_open(void *instance, const struct env *env, char *error,
                                 size_t error_size)
{
    struct bearertokenauth *self = instance;
    char why[480] = "";
    self->env = env;
    pthread_mutex_init(&self->mutex, NULL);
    self->opened = true;
    self->file.path = self->filename;
    if (!digest_key(self->key)) {
        snprintf(error, error_size, "the system has no random bytes");
        return false;
    }
    if (*self->filename && (*self->token || self->list.count))
        env_warn(env, "filename is given, so token and tokens are ignored");
    bool good = *self->filename ? refresh(self, why, sizeof why)
                                : read_own(self, &self->tokens, why, sizeof why);
    if (!good)
        snprintf(error, error_size, "%s: %s", *self->filename ? "filename" : "token", why);
    return good;
}

static void bearertokenauth_explain(void *instance, struct bytes *out)
{
    struct bearertokenauth *self = instance;
    auth_tally_explain(&self->tally, self->env->id, out);
}

static void bearertokenauth_close(void *instance)
{
    struct bearertokenauth *self = instance;
    if (!self->opened)
        return;
    tokens_release(&self->tokens);
    explicit_bzero(self->key, sizeof self->key);
    pthread_mutex_destroy(&self->mutex);
    self->opened = false;
}

const struct component extension_bearertokenauth = {
    .type = "bearertokenauth",
    .text = "bearer tokens: expected of clients, or sent to servers",
    .stability = "beta",
    .kind = COMPONENT_EXTENSION,
    .size = sizeof(struct bearertokenauth),
    .keys = keys,
    .check = bearertokenauth_check,
    .opens_quietly = true,
    .open = bearertokenauth_open,
    .authenticator = bearertokenauth_authenticator,
    .explain = bearertokenauth_explain,
    .close = bearertokenauth_close,
};
