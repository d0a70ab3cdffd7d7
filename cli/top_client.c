#include "cli/top_client.h"

#include "lib/base/clock.h"
#include "lib/net/http/http_client.h"
#include "lib/settings/source.h"
#include "lib/wire/http/base64.h"

#include <stdio.h>
#include <stdlib.h>

#define TIMEOUT_NS (5 * NS_PER_S)
#define SECRET_MAX ((size_t)64 << 10)

enum { MAX_REPLY = 16 << 20, URL_SIZE = TARGET_URL_SIZE + 64 };

static const char default_port[] = "13134", default_endpoint[] = "localhost";

static bool complain(const char *what, const char *detail)
{
    fprintf(stderr, "spanlink: top: %s%s\n", what, detail);
    return false;
}

/* ---- credentials ---- */

/* The first line of a file, or of a variable where no file is given. Data NULL: neither is given,
 * or *failed, and the reason was written. */
static struct view read_secret(const char *file, const char *variable, struct arena *arena,
                               bool *failed)
{
    char error[256];
    struct view text = view_of(file ? "" : getenv(variable));
    if (file && !(text = source_read_file(arena, file, error, sizeof error)).data) {
        fprintf(stderr, "spanlink: top: %s: %s\n", file, error);
        *failed = true;
    }
    if (*failed || (!file && text.size == 0))
        return (struct view){0};
    size_t size = 0;
    while (size < text.size && !strchr("\r\n", text.data[size]))
        size++;
    text.size = size;
    if (size == 0 || memchr(text.data, '\0', size))
        *failed = !complain(file ? file : variable, ": expected a line of text");
    return text;
}

static bool give_basic(struct bytes *value, const char *username, struct view password)
{
    struct bytes pair;
    bytes_init(&pair, SECRET_MAX, NULL);
    bool good = bytes_printf(&pair, "%s:", username) == BYTES_OK &&
                bytes_append_view(&pair, password) == BYTES_OK &&
                bytes_append(value, "Basic ", 6) == BYTES_OK &&
                base64_encode(bytes_view(&pair), value);
    if (pair.data)
        explicit_bzero(pair.data, pair.size);
    bytes_release(&pair);
    return good;
}

static bool give_bearer(struct bytes *value, struct view token)
{
    return bytes_append(value, "Bearer ", 7) == BYTES_OK &&
           bytes_append_view(value, token) == BYTES_OK;
}

static bool make_authorization(const struct access_flags *access, struct arena *arena,
                               struct bytes *value)
{
    bool failed = false;
    if (access->username && access->token_file)
        return complain("expected --username or --token-file, not both", "");
    if (access->password_file && !access->username)
        return complain("--password-file needs --username", "");
    if (access->username && strchr(access->username, ':'))
        return complain("a user name cannot contain a colon: ", access->username);
    struct view secret =
        access->username ? read_secret(access->password_file, "SPANLINK_PASSWORD", arena, &failed)
                         : read_secret(access->token_file, "SPANLINK_TOKEN", arena, &failed);
    if (failed)
        return false;
    if (access->username && !secret.data)
        return complain("--username needs --password-file or SPANLINK_PASSWORD", "");
    bool made = !secret.data || (access->username ? give_basic(value, access->username, secret)
                                                  : give_bearer(value, secret));
    made = made && (!secret.data || bytes_append(value, "", 1) == BYTES_OK);
    return made || complain("the secret is too long", "");
}

/* ---- the client ---- */

bool top_client_open(struct top_client *client, const struct flags *flags)
{
    const struct access_flags *access = &flags->access;
    struct arena arena;
    char error[256];
    *client = (struct top_client){.flags = flags};
    bytes_init(&client->authorization, 2 * SECRET_MAX, NULL);
    if (!target_parse(flags->endpoint ? flags->endpoint : default_endpoint, default_port, "",
                      access->ca_file || access->cert_file || access->insecure, &client->target,
                      error, sizeof error))
        return complain("", error);
    size_t size = strlen(client->target.url);
    if (client->target.url[size - 1] == '/')
        client->target.url[size - 1] = '\0';
    arena_init(&arena, 4 << 20);
    bool good = make_authorization(access, &arena, &client->authorization);
    arena_release(&arena);
    if (!good)
        return false;
    const struct http_client_options options = {
        .timeout_ns = TIMEOUT_NS,
        .unix_path = *client->target.unix_path ? client->target.unix_path : NULL,
        .tls = {.insecure_skip_verify = access->insecure,
                .ca_file = (char *)access->ca_file,
                .cert_file = (char *)access->cert_file,
                .key_file = (char *)access->key_file},
        .max_reply = MAX_REPLY,
    };
    client->http = http_client_new(&options, error, sizeof error);
    return client->http || complain("", error);
}

void top_client_close(struct top_client *client)
{
    http_client_free(client->http);
    if (client->authorization.data)
        explicit_bzero(client->authorization.data, client->authorization.size);
    bytes_release(&client->authorization);
}

static const char *denied(const struct access_flags *access)
{
    if (access->username)
        return "the user name or the password is wrong: check --username and --password-file or "
               "SPANLINK_PASSWORD";
    if (access->token_file)
        return "the token of --token-file is wrong";
    return getenv("SPANLINK_TOKEN")
               ? "the token in SPANLINK_TOKEN is wrong"
               : "credentials are required: give --username with --password-file (or "
                 "SPANLINK_PASSWORD), or --token-file (or SPANLINK_TOKEN)";
}

static void explain_failure(struct top_client *client, const struct http_reply *reply)
{
    /* GnuTLS reports an unknown CA as a failed handshake. */
    bool untrusted = reply->failure == HTTP_FAILURE_CERTIFICATE ||
                     (reply->failure == HTTP_FAILURE_TLS && strstr(reply->error, "certificate"));
    const char *hint =
        untrusted ? "; name its CA with --ca-file, or skip the check with --insecure" : "";
    snprintf(client->error, sizeof client->error, "%s%s", reply->error, hint);
}

static void explain_status(struct top_client *client, const struct http_reply *reply,
                           const char *url, struct arena *arena)
{
    const struct top_value *body = top_value_read(bytes_view(&reply->body), arena);
    const char *sentence = top_value_get(body, "error")->text;
    if (reply->status == 400 && !body)
        sentence = "expected the status extension there; where it has TLS, name its CA with "
                   "--ca-file, or give an https:// URL";
    snprintf(client->error, sizeof client->error, "%s: HTTP %ld: %s", url, reply->status,
             reply->status == 401 ? denied(&client->flags->access)
             : *sentence          ? sentence
                                  : "expected the status extension there");
}

static bool has_member(const struct top_value *value, const char *key)
{
    const struct top_value *each = value ? value->first : NULL;
    while (each && !(each->key && strcmp(each->key, key) == 0))
        each = each->next;
    return each;
}

const struct top_value *top_client_ask(struct top_client *client, const char *path, const char *key,
                                       struct arena *arena)
{
    char url[URL_SIZE];
    struct http_reply reply;
    const struct top_value *value = NULL;
    const struct http_header header = {"Authorization", (const char *)client->authorization.data};
    snprintf(url, sizeof url, "%s%s", client->target.url, path);
    http_client_get(client->http, url, &header, header.value ? 1 : 0, &reply);
    if (reply.status == 0)
        explain_failure(client, &reply);
    else if (reply.status != 200)
        explain_status(client, &reply, url, arena);
    else if (!has_member(value = top_value_read(bytes_view(&reply.body), arena), key)) {
        value = NULL;
        snprintf(client->error, sizeof client->error, "%s: this is no status page of spanlink",
                 url);
    }
    http_reply_release(&reply);
    return value;
}
