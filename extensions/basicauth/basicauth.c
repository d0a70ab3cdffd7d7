/* HTTP Basic authentication (RFC 7617): of clients by an htpasswd file, or of ourselves towards
 * servers. */
#include "extensions/basicauth/htpasswd.h"
#include "extensions/basicauth/verifier.h"
#include "lib/base/log.h"
#include "lib/base/watched_file.h"
#include "lib/net/auth.h"
#include "lib/wire/http/base64.h"
#include "pipeline/component.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_MAX = 4 << 20, SECRET_MAX = 4096 };

struct htpasswd_settings {
    char *file;
    char *text;
};

struct client_auth_settings {
    char *username, *username_file;
    char *password, *password_file;
};

/* A file and its last content. */
struct watched_text {
    struct watched_file file;
    struct bytes text;
};

struct basicauth {
    bool has_htpasswd, has_client;
    struct htpasswd_settings htpasswd;
    struct client_auth_settings client;

    const struct env *env;
    struct authenticator auth;
    struct auth_tally tally;
    struct verifier *verifier;
    bool opened;
    pthread_mutex_t mutex; /* guards the rest */
    struct watched_text file, username_file, password_file;
    struct htpasswd users;
};

static const struct key htpasswd_keys[] = {
    KEY_STRING(struct htpasswd_settings, file, "file", NULL, 0,
               "htpasswd file; reloaded when it changes"),
    KEY_SECRET(struct htpasswd_settings, text, "inline",
               "lines in the same form, with precedence over the file"),
    KEY_END,
};

static const struct key client_keys[] = {
    KEY_STRING(struct client_auth_settings, username, "username", NULL, 0, "user name"),
    KEY_STRING(struct client_auth_settings, username_file, "username_file", NULL, 0,
               "file with the user name, takes precedence; reloaded when it changes"),
    KEY_SECRET(struct client_auth_settings, password, "password", "password"),
    KEY_STRING(struct client_auth_settings, password_file, "password_file", NULL, 0,
               "file with the password, takes precedence; reloaded when it changes"),
    KEY_END,
};

static const struct key keys[] = {
    KEY_SWITCHED(struct basicauth, htpasswd, struct htpasswd_settings, has_htpasswd, "htpasswd",
                 htpasswd_keys, "users to accept, for the auth of receivers"),
    KEY_SWITCHED(struct basicauth, client, struct client_auth_settings, has_client, "client_auth",
                 client_keys, "user to authenticate as, for the auth of clients"),
    KEY_END,
};

static void basicauth_check(const void *config, struct key_report *report)
{
    const struct basicauth *self = config;
    struct htpasswd users;
    char why[256];
    if (self->has_htpasswd == self->has_client) {
        key_report_add(report, NULL, "%s htpasswd %s client_auth",
                       self->has_htpasswd ? "expected only one of" : "expected one of",
                       self->has_htpasswd ? "and" : "or");
        return;
    }
    if (self->has_htpasswd && !*self->htpasswd.file && !*self->htpasswd.text)
        key_report_add(report, "htpasswd", "expected file or inline");
    if (self->has_htpasswd && *self->htpasswd.text) {
        if (htpasswd_read(&users, view_of(self->htpasswd.text), why, sizeof why))
            htpasswd_release(&users);
        else
            key_report_add(report, "htpasswd.inline", "%s", why);
    }
    if (self->has_client && !*self->client.username && !*self->client.username_file)
        key_report_add(report, "client_auth.username", "required but not given");
    if (self->has_client && strchr(self->client.username, ':'))
        key_report_add(report, "client_auth.username", "a user name cannot contain a colon");
}

/* ---- files ---- */

/* Reads a file's users, then those of the configuration: the last line of a user wins. */
static bool read_users(const struct basicauth *self, struct view file, struct htpasswd *users,
                       char *why, size_t why_size)
{
    struct bytes text;
    bytes_init(&text, SIZE_MAX / 2, NULL);
    bool good = bytes_append_view(&text, file) == BYTES_OK &&
                bytes_append(&text, "\n", 1) == BYTES_OK &&
                bytes_append_view(&text, view_of(self->htpasswd.text)) == BYTES_OK;
    if (!good)
        snprintf(why, why_size, "out of memory");
    good = good && htpasswd_read(users, bytes_view(&text), why, why_size);
    if (text.data)
        explicit_bzero(text.data, text.size);
    bytes_release(&text);
    return good;
}

/* Reads a file if it changed; *why is "" if there is nothing to report. */
static bool basicauth_look_at(struct watched_text *watched, uint64_t now, struct bytes *content,
                              char *why, size_t why_size)
{
    *why = '\0';
    switch (watched_file_look(&watched->file, now, content, why, why_size)) {
    case WATCHED_SAME:
        *why = '\0';
        return false;
    case WATCHED_FAILED:
        return false;
    case WATCHED_READ:
        break;
    }
    if (view_trim_end(bytes_view(content), VIEW(" \t\r\n")).size == 0) {
        snprintf(why, why_size, "%s is empty", watched->file.path);
        return false;
    }
    if (watched->text.data && view_eq(bytes_view(content), bytes_view(&watched->text)))
        return false;
    bytes_release(&watched->text);
    watched->text = *content;
    bytes_init(content, 0, NULL);
    return true;
}

/* Under the mutex. False: the users are unchanged, and error describes a fault, if there was
 * one. */
static bool refresh_users(struct basicauth *self, char *error, size_t error_size)
{
    struct bytes content;
    struct htpasswd users;
    char why[256];
    if (!*self->htpasswd.file)
        return false;
    bytes_init(&content, FILE_MAX, NULL);
    bool changed =
        basicauth_look_at(&self->file, clock_mono(self->env->clock), &content, why, sizeof why);
    bytes_release(&content);
    if (!changed) {
        snprintf(error, error_size, "%s", why);
        return false;
    }
    if (!read_users(self, bytes_view(&self->file.text), &users, why, sizeof why)) {
        snprintf(error, error_size, "%s: %s", self->htpasswd.file, why);
        return false;
    }
    htpasswd_release(&self->users);
    self->users = users;
    return true;
}

static void keep_users_fresh(struct basicauth *self)
{
    char error[512] = "";
    if (refresh_users(self, error, sizeof error))
        env_info(self->env, "%s reloaded", self->htpasswd.file);
    else if (*error)
        env_error(self->env, "keeping the previous users: %s", error);
}

/* Returns the file's text without its line end; points into the file's content. */
static struct view fresh_text(struct basicauth *self, struct watched_text *watched, char *error,
                              size_t error_size)
{
    struct bytes content;
    bytes_init(&content, SECRET_MAX, NULL);
    bool had = watched->text.data;
    bool changed =
        basicauth_look_at(watched, clock_mono(self->env->clock), &content, error, error_size);
    if (changed && had)
        env_info(self->env, "%s reloaded", watched->file.path);
    bytes_release(&content);
    return view_trim_end(bytes_view(&watched->text), VIEW(" \t\r\n"));
}

/* ---- servers ---- */

/* Prepares a check; false: *result is already known, and why says it for people. Under the mutex,
 * under which the hash is valid. */
static bool basicauth_prepare(struct basicauth *self, const char *value, struct bytes *text,
                              struct verify *verify, enum auth_result *result, const char **why)
{
    *result = AUTH_DENIED;
    *why = value ? "its credentials are not of the scheme Basic" : "it has no credentials";
    if (!basic_credentials(value, text, &verify->user, &verify->password))
        return false;
    *why = "wrong user or password";
    const struct htpasswd_user *user = htpasswd_find(&self->users, verify->user);
    verify->known = user;
    user = user ? user : self->users.slow;
    if (!user)
        return false;
    verify->hash = user->hash;
    verify->kind = user->kind;
    if (password_slow(user->kind))
        return true;
    if (password_fits(user->kind, user->hash, verify->password))
        *result = AUTH_GRANTED;
    return false;
}

static void basicauth_count(struct basicauth *self, enum auth_result result, const char *why)
{
    if (result == AUTH_LATER)
        why = "too many credentials wait to be checked";
    auth_tally_add(&self->tally, self->env->id, result, why, clock_mono(self->env->clock));
}

/* A request whose credentials are being checked. */
struct asked {
    struct basicauth *self;
    auth_done_fn *done;
    void *ctx;
};

static void answered(void *ctx, enum auth_result result)
{
    struct asked asked = *(struct asked *)ctx;
    free(ctx);
    basicauth_count(asked.self, result, "wrong user or password");
    asked.done(asked.ctx, result);
}

/* asked NULL: answers only from the cache. */
static enum auth_result decide(struct basicauth *self, const char *value, struct asked *asked)
{
    struct bytes text;
    struct verify verify = {0};
    enum auth_result result;
    const char *why;
    char *hash = NULL;
    pthread_mutex_lock(&self->mutex);
    keep_users_fresh(self);
    bool open = basicauth_prepare(self, value, &text, &verify, &result, &why);
    if (open)
        verify.hash = hash = strdup(verify.hash);
    pthread_mutex_unlock(&self->mutex);
    if (open && !hash)
        result = AUTH_LATER;
    else if (open)
        result = verifier_look(self->verifier, &verify);
    if (result == AUTH_PENDING && asked)
        verifier_check(self->verifier, &verify, answered, asked);
    if (result != AUTH_PENDING)
        basicauth_count(self, result, why);
    if (text.data)
        explicit_bzero(text.data, text.size);
    bytes_release(&text);
    free(hash);
    return result;
}

static enum auth_result basicauth_look(void *ctx, const char *value)
{
    return decide(ctx, value, NULL);
}

static void check_credentials(void *ctx, const char *value, auth_done_fn *done, void *done_ctx)
{
    struct basicauth *self = ctx;
    struct asked *asked = malloc(sizeof *asked);
    enum auth_result result = AUTH_LATER;
    if (asked) {
        *asked = (struct asked){self, done, done_ctx};
        result = decide(self, value, asked);
    }
    if (result == AUTH_PENDING)
        return;
    free(asked);
    done(done_ctx, result);
}

/* ---- clients ---- */

static bool is_user(struct view name)
{
    return name.size > 0 && !memchr(name.data, ':', name.size);
}

/* Under the mutex. error is "" if there is nothing to report; on failure out is unchanged. */
static bool write_credentials(struct basicauth *self, struct bytes *out, char *error,
                              size_t error_size)
{
    struct view user = view_of(self->client.username), password = view_of(self->client.password);
    struct bytes pair;
    *error = '\0';
    if (*self->client.username_file)
        user = fresh_text(self, &self->username_file, error, error_size);
    if (*self->client.password_file && !*error)
        password = fresh_text(self, &self->password_file, error, error_size);
    bool has_password = !*self->client.password_file || self->password_file.text.data;
    if (!is_user(user) || !has_password) {
        if (!*error)
            snprintf(error, error_size, "there is no user or password to send");
        return false;
    }
    size_t before = out->size;
    bytes_init(&pair, 4 * (size_t)SECRET_MAX, NULL);
    bool good =
        bytes_append_view(&pair, user) == BYTES_OK && bytes_append(&pair, ":", 1) == BYTES_OK &&
        bytes_append_view(&pair, password) == BYTES_OK &&
        bytes_append_view(out, VIEW("Basic ")) == BYTES_OK && base64_encode(bytes_view(&pair), out);
    if (pair.data)
        explicit_bzero(pair.data, pair.size);
    bytes_release(&pair);
    if (!good)
        out->size = before;
    return good;
}

static bool basicauth_give(void *ctx, struct bytes *value)
{
    struct basicauth *self = ctx;
    char error[512];
    pthread_mutex_lock(&self->mutex);
    bool good = write_credentials(self, value, error, sizeof error);
    pthread_mutex_unlock(&self->mutex);
    if (*error && good)
        env_error(self->env, "keeping the previous credentials: %s", error);
    return good;
}

/* ---- life ---- */

static const struct authenticator *basicauth_authenticator(void *instance)
{
    struct basicauth *self = instance;
    self->auth = (struct authenticator){.self = self, .header = "Authorization"};
    if (self->has_htpasswd) {
        self->auth.challenge = "Basic realm=\"spanlink\", charset=\"UTF-8\"";
        self->auth.look = basicauth_look;
        self->auth.check = check_credentials;
    } else {
        self->auth.give = basicauth_give;
    }
    return &self->auth;
}

static bool open_server(struct basicauth *self, char *error, size_t error_size)
{
    char why[512] = "";
    const char *key = *self->htpasswd.file ? "htpasswd.file" : "htpasswd.inline";
    self->verifier = verifier_new(self->env->clock);
    if (!self->verifier) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    bool good = *self->htpasswd.file
                    ? refresh_users(self, why, sizeof why)
                    : read_users(self, (struct view){0}, &self->users, why, sizeof why);
    if (!good)
        snprintf(error, error_size, "%s: %s", key, why);
    return good;
}

static bool open_client(struct basicauth *self, char *error, size_t error_size)
{
    struct bytes value;
    char why[480];
    bytes_init(&value, 8 * (size_t)SECRET_MAX, NULL);
    bool good = write_credentials(self, &value, why, sizeof why) && !*why;
    if (!good)
        snprintf(error, error_size, "client_auth: %s", *why ? why : "out of memory");
    bytes_release(&value);
    return good;
}

static bool basicauth_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct basicauth *self = instance;
    self->env = env;
    pthread_mutex_init(&self->mutex, NULL);
    self->opened = true;
    self->file.file.path = self->htpasswd.file;
    self->username_file.file.path = self->client.username_file;
    self->password_file.file.path = self->client.password_file;
    return self->has_htpasswd ? open_server(self, error, error_size)
                              : open_client(self, error, error_size);
}

static void basicauth_explain(void *instance, struct bytes *out)
{
    struct basicauth *self = instance;
    if (self->has_htpasswd)
        auth_tally_explain(&self->tally, self->env->id, out);
}

static void text_release(struct watched_text *watched)
{
    if (watched->text.data)
        explicit_bzero(watched->text.data, watched->text.size);
    bytes_release(&watched->text);
    *watched = (struct watched_text){0};
}

static void basicauth_close(void *instance)
{
    struct basicauth *self = instance;
    if (!self->opened)
        return;
    verifier_free(self->verifier);
    self->verifier = NULL;
    htpasswd_release(&self->users);
    text_release(&self->file);
    text_release(&self->username_file);
    text_release(&self->password_file);
    pthread_mutex_destroy(&self->mutex);
    self->opened = false;
}

const struct component extension_basicauth = {
    .type = "basicauth",
    .text = "users and passwords: an htpasswd file for servers, credentials for clients",
    .stability = "beta",
    .kind = COMPONENT_EXTENSION,
    .size = sizeof(struct basicauth),
    .keys = keys,
    .check = basicauth_check,
    .opens_quietly = true,
    .open = basicauth_open,
    .authenticator = basicauth_authenticator,
    .explain = basicauth_explain,
    .close = basicauth_close,
};
