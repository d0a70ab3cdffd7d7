#include "lib/net/http/http_secrets.h"

#include "lib/base/redact.h"
#include "lib/wire/http/base64.h"

#include <strings.h>

enum { DECODED_MAX = 4096 };

static void hide_in(char *text, size_t room, struct view secret)
{
    size_t size = strlen(text);
    redact_secret((uint8_t *)text, size, size + 1 == room, secret);
}

static void hide(struct http_reply *reply, bool in_body, struct view secret)
{
    if (in_body)
        redact_secret(reply->body.data, reply->body.size, reply->cut != BYTES_OK, secret);
    redact_secret(reply->grpc_details.data, reply->grpc_details.size, true, secret);
    hide_in(reply->grpc_message, sizeof reply->grpc_message, secret);
    hide_in(reply->error, sizeof reply->error, secret);
    if (reply->redirect)
        hide_in(reply->redirect, 0, secret);
}

static struct view behind(struct view value, char end)
{
    const uint8_t *at = value.size ? memchr(value.data, end, value.size) : NULL;
    size_t n = at ? (size_t)(at - value.data) + 1 : value.size;
    return (struct view){value.data + n, value.size - n};
}

/* The password of "user:password" in base64. */
static void hide_password(struct http_reply *reply, bool in_body, struct view basic)
{
    struct bytes plain;
    bytes_init(&plain, DECODED_MAX, NULL);
    if (base64_decode(basic, &plain) == BASE64_OK)
        hide(reply, in_body, behind(bytes_view(&plain), ':'));
    if (plain.data)
        explicit_bzero(plain.data, plain.size);
    bytes_release(&plain);
}

/* A header's value, and what follows its scheme, as in "Bearer TOKEN". */
static void hide_value(struct http_reply *reply, bool in_body, struct view value)
{
    struct view token = behind(value, ' ');
    hide(reply, in_body, value);
    hide(reply, in_body, token);
    if (value.size > 6 && strncasecmp((const char *)value.data, "Basic ", 6) == 0)
        hide_password(reply, in_body, token);
}

/* As libcurl sends them: "user:password" in base64. */
static void hide_basic(struct http_reply *reply, bool in_body, const char *user,
                       const char *password)
{
    struct bytes plain, basic;
    bytes_init(&plain, DECODED_MAX, NULL);
    bytes_init(&basic, (size_t)2 * DECODED_MAX, NULL);
    if (bytes_printf(&plain, "%s:%s", user, password) == BYTES_OK &&
        base64_encode(bytes_view(&plain), &basic))
        hide(reply, in_body, bytes_view(&basic));
    if (plain.data)
        explicit_bzero(plain.data, plain.size);
    bytes_release(&plain);
    bytes_release(&basic);
}

static void hide_url_password(struct http_reply *reply, bool in_body, const char *url)
{
    char *user = NULL, *password = NULL;
    CURLU *parts = strchr(url, '@') ? curl_url() : NULL;
    if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_PASSWORD, &password, CURLU_URLDECODE) == CURLUE_OK) {
        hide(reply, in_body, view_of(password));
        if (curl_url_get(parts, CURLUPART_USER, &user, CURLU_URLDECODE) == CURLUE_OK)
            hide_basic(reply, in_body, user, password);
    }
    curl_free(user);
    curl_free(password);
    curl_url_cleanup(parts);
}

/* Names of headers that people configure although they hold no secret, and that a sentence needs.
 */
static bool is_public(const char *name)
{
    static const char *const names[] = {"x-scope-orgid", "user-agent", "content-type", "accept"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool says_nothing(const struct http_reply *reply)
{
    return reply->body.size == 0 && reply->grpc_details.size == 0 && !*reply->grpc_message &&
           !*reply->error && !reply->redirect;
}

void http_secrets_hide(const struct http_client_options *options, const struct http_call *call,
                       struct view credentials, struct http_reply *reply)
{
    if (says_nothing(reply))
        return;
    bool in_body = !call->is_get || reply->status / 100 != 2;
    const struct key_map *own = options->headers;
    for (size_t i = 0; own && i < own->count; i++)
        if (!is_public(own->pairs[i].name))
            hide_value(reply, in_body, view_of(own->pairs[i].value));
    for (size_t i = 0; i < call->header_count; i++)
        if (redact_name(call->headers[i].name))
            hide_value(reply, in_body, view_of(call->headers[i].value));
    if (credentials.size > 0)
        hide_value(reply, in_body, credentials);
    hide_url_password(reply, in_body, call->url);
}
