#include "lib/base/redact.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN "redacted"

enum { SECRET_LEAST = 4 };

/* Characters that end a URL in a sentence. */
#define SPACES " \t\r\n\"'"

/* Characters after which a URL may begin. */
#define OPENERS SPACES "(){}<>,;=|"

/* A copy in progress, finally NUL-terminated. */
struct copy {
    char *out;
    size_t size, room; /* room: excludes the NUL */
};

bool redact_name(const char *key)
{
    static const char *const parts[] = {"password", "passwd",      "passphrase", "token",
                                        "secret",   "api_key",     "apikey",     "api-key",
                                        "key_pem",  "cookie",      "credential", "authorization",
                                        "license",  "private_key", "client_key"};
    if (strcmp(key, "headers") == 0 || strcmp(key, "headers_list") == 0)
        return true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(key, parts[i]))
            return true;
    return false;
}

static bool holds(const char *name, size_t size, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= size; i++)
        if (strncasecmp(name + i, part, n) == 0)
            return true;
    return false;
}

static bool is_secret_parameter(const char *name, size_t size)
{
    static const char *const parts[] = {"token",     "key",        "secret",  "passw",
                                        "signature", "credential", "passphr", "auth"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (holds(name, size, parts[i]))
            return true;
    static const char *const names[] = {"sig", "pwd",  "pass", "tok",
                                        "jwt", "code", "sid",  "session"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == size && strncasecmp(name, names[i], size) == 0)
            return true;
    return false;
}

static void redact_put(struct copy *copy, const char *text, size_t size)
{
    size_t left = copy->room - copy->size, n = size < left ? size : left;
    memcpy(copy->out + copy->size, text, n);
    copy->size += n;
}

/* Whether the colon is followed by a port or by nothing. */
static bool is_port(const char *colon, const char *end)
{
    for (const char *at = colon + 1; at < end; at++)
        if (!isdigit((unsigned char)*at))
            return false;
    return true;
}

static const char *last_at(const char *from, const char *to)
{
    return from < to ? memrchr(from, '@', (size_t)(to - from)) : NULL;
}

/* The '@' that ends the user part of a URL whose host part starts at text; NULL: none. A URL with
 * an unescaped '/', '?' or '#' in the password is not legal, but the password must not be shown
 * either. */
static const char *user_end(const char *text)
{
    const char *end = text + strcspn(text, "/?#" SPACES);
    const char *colon = end > text && *text != '[' ? memchr(text, ':', (size_t)(end - text)) : NULL;
    const char *at = last_at(text, end);
    if (at || !colon || is_port(colon, end))
        return at;
    return last_at(end, text + strcspn(text, SPACES));
}

/* Copies a parameter, starting at its name; returns what follows it. */
static const char *put_parameter(struct copy *copy, const char *from)
{
    size_t name = strcspn(from, "=&#" SPACES);
    size_t all = from[name] == '=' ? name + 1 + strcspn(from + name + 1, "&#" SPACES) : name;
    if (all > name + 1 && is_secret_parameter(from, name)) {
        redact_put(copy, from, name + 1);
        redact_put(copy, SHOWN, strlen(SHOWN));
    } else {
        redact_put(copy, from, all);
    }
    return from + all;
}

static const char *put_query(struct copy *copy, const char *from)
{
    const char *at = from;
    do {
        redact_put(copy, at, 1);
        at = put_parameter(copy, at + 1);
    } while (*at == '&');
    return at;
}

/* Copies what follows the "//" of a URL, or takes its place. */
static const char *put_host(struct copy *copy, const char *from, const char *user)
{
    const char *end = user_end(user);
    redact_put(copy, from, (size_t)(user - from));
    if (end)
        redact_put(copy, SHOWN, strlen(SHOWN));
    return end ? end : user;
}

/* The end of the scheme and slashes of a possible URL, even mistyped ("http:/", "http//", "//");
 * the word's start if it has none. */
static const char *behind_scheme(const char *word)
{
    const char *at = word;
    while (isalnum((unsigned char)*at) || (*at && strchr("+-.", *at)))
        at++;
    size_t name = (size_t)(at - word);
    at += *at == ':';
    size_t slashes = strspn(at, "/");
    bool path = name == 0 ? slashes != 2 : name == 4 && strncasecmp(word, "unix", 4) == 0;
    return slashes == 0 || path ? word : at + slashes;
}

/* Whether a word without a scheme begins with user:password@, or is host:port. */
static bool is_bare_address(const char *word)
{
    const char *colon = word + strcspn(word, ":/?#[" SPACES), *at = user_end(word);
    return *colon == ':' && (at ? colon < at : isdigit((unsigned char)colon[1]));
}

/* Copies a word's start; returns what follows it. *url: the rest belongs to a URL. */
static const char *put_start(struct copy *copy, const char *word, bool *url)
{
    const char *user = behind_scheme(word);
    *url = !strchr(OPENERS, *word) && (user != word || is_bare_address(word));
    return *url ? put_host(copy, word, user) : word;
}

static const char *put_fragment(struct copy *copy, const char *from)
{
    size_t size = strcspn(from, SPACES);
    redact_put(copy, from, 1);
    if (size > 1)
        redact_put(copy, SHOWN, strlen(SHOWN));
    return from + size;
}

size_t redact_copy(const char *text, char *out, size_t size)
{
    struct copy copy = {.out = out, .room = size - 1};
    bool url = false;
    const char *at = put_start(&copy, text, &url);
    while (*at) {
        if (strchr(OPENERS, *at)) {
            redact_put(&copy, at, 1);
            at = put_start(&copy, at + 1, &url);
        } else if (strncmp(at, "://", 3) == 0) {
            at = put_host(&copy, at, at + 3);
            url = true;
        } else if (*at == '#' && url) {
            at = put_fragment(&copy, at);
        } else if (*at == '?') {
            at = put_query(&copy, at);
        } else {
            redact_put(&copy, at, 1);
            at++;
        }
    }
    out[copy.size] = '\0';
    return copy.size;
}

char *redact_urls(const char *text)
{
    /* Redacting a user, a parameter or a fragment may each add the length of "[redacted]". */
    size_t more = 0;
    for (const char *at = text; *at; at++)
        more += strchr("=@#", *at) ? strlen(SHOWN) : 0;
    size_t size = strlen(text) + more + 1;
    char *out = malloc(size);
    if (out)
        redact_copy(text, out, size);
    return out;
}

void redact_address(const char *text, char *out, size_t size)
{
    const char *at = strrchr(text, '@');
    struct copy copy = {.out = out, .room = size - 1};
    if (at)
        redact_put(&copy, SHOWN, strlen(SHOWN));
    redact_copy(at ? at : text, out + copy.size, size - copy.size);
}

void redact_secret(uint8_t *text, size_t size, bool was_cut, struct view secret)
{
    uint8_t *at = text;
    if (size == 0 || secret.size < SECRET_LEAST)
        return;
    while ((at = memmem(at, size - (size_t)(at - text), secret.data, secret.size))) {
        memset(at, '*', secret.size);
        at += secret.size;
    }
    size_t part = size < secret.size ? size : secret.size - 1;
    for (; was_cut && part >= SECRET_LEAST; part--)
        if (memcmp(text + size - part, secret.data, part) == 0) {
            memset(text + size - part, '*', part);
            break;
        }
}
