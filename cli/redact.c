#include "cli/redact.h"

#include <stdlib.h>
#include <string.h>

bool redact_name(const char *key)
{
    static const char *const parts[] = {"password", "passwd",  "passphrase", "token",
                                        "secret",   "api_key", "apikey",     "api-key",
                                        "key_pem",  "cookie",  "credential", "authorization"};
    if (strcmp(key, "headers") == 0)
        return true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasestr(key, parts[i]))
            return true;
    return false;
}

/* The '@' that ends the user part of a URL whose host part starts at text; NULL: none. */
static const char *user_end(const char *text)
{
    const char *end = NULL;
    for (; *text && !strchr("/?# \t\n", *text); text++)
        if (*text == '@')
            end = text;
    return end;
}

char *redact_urls(const char *text)
{
    size_t urls = 0;
    for (const char *at = text; (at = strstr(at, "://")); at += 3)
        urls++;
    char *out = malloc(strlen(text) + urls * sizeof REDACTED + 1);
    char *to = out;
    while (out && *text) {
        const char *slashes = strstr(text, "://");
        size_t size = slashes ? (size_t)(slashes - text) + 3 : strlen(text);
        to = mempcpy(to, text, size);
        text += size;
        const char *end = slashes ? user_end(text) : NULL;
        if (end) {
            to = mempcpy(to, "redacted", 8);
            text = end;
        }
    }
    if (out)
        *to = '\0';
    return out;
}
