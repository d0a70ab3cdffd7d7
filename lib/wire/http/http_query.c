#include "lib/wire/http/http_query.h"

#include <string.h>

enum { NAME_MAX_SIZE = 64 };

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes one byte at *at and advances it. A '%' that does not begin an escape is literal. */
static uint8_t decoded_byte(const char **at)
{
    char c = *(*at)++;
    if (c == '+')
        return ' ';
    int high = c == '%' ? hex(**at) : -1, low = high < 0 ? -1 : hex((*at)[1]);
    if (low < 0)
        return (uint8_t)c;
    *at += 2;
    return (uint8_t)(high * 16 + low);
}

/* The same for a text, in which %00 is literal too: a NUL would truncate it. */
static char decoded(const char **at)
{
    const char *from = *at;
    uint8_t byte = decoded_byte(at);
    if (byte)
        return (char)byte;
    *at = from + 1;
    return *from;
}

static bool name_is(const char *from, const char *to, const char *name)
{
    while (from < to && *name)
        if (decoded(&from) != *name++)
            return false;
    return from == to && !*name;
}

static bool copy_value(const char *from, const char *to, char *out, size_t out_size)
{
    size_t n = 0;
    while (from < to) {
        if (n + 1 >= out_size)
            return false;
        out[n++] = decoded(&from);
    }
    if (n >= out_size)
        return false;
    out[n] = '\0';
    return true;
}

static bool unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

static bool encode(const char *from, const char *to, struct bytes *out)
{
    static const char digits[] = "0123456789ABCDEF";
    while (from < to) {
        char c = decoded(&from);
        const char escape[] = {'%', digits[(unsigned char)c >> 4], digits[c & 15]};
        if (bytes_append(out, unreserved(c) ? &c : escape, unreserved(c) ? 1 : 3) != BYTES_OK)
            return false;
    }
    return true;
}

/* Rewrites one parameter, "name" or "name=value". */
static bool rewrite(const char *from, const char *to,
                    const char *(*value)(void *ctx, const char *name), void *ctx, struct bytes *out)
{
    char name[NAME_MAX_SIZE];
    const char *equals = memchr(from, '=', (size_t)(to - from));
    const char *end = equals ? equals : to, *instead = NULL;
    if (value && copy_value(from, end, name, sizeof name))
        instead = value(ctx, name);
    if (!encode(from, end, out) || (equals && bytes_append(out, "=", 1) != BYTES_OK))
        return false;
    if (instead)
        return bytes_append(out, instead, strlen(instead)) == BYTES_OK;
    return !equals || encode(equals + 1, to, out);
}

bool http_query_rewrite(const char *query, const char *(*value)(void *ctx, const char *name),
                        void *ctx, struct bytes *out)
{
    const char *joint = "";
    for (const char *at = query; *at;) {
        const char *end = at + strcspn(at, "&");
        if (end > at) {
            if (bytes_append(out, joint, strlen(joint)) != BYTES_OK ||
                !rewrite(at, end, value, ctx, out))
                return false;
            joint = "&";
        }
        at = *end ? end + 1 : end;
    }
    return true;
}

/* The first value of a parameter that is not empty, else an empty one. data NULL: absent. */
static struct view query_find(const char *query, const char *name)
{
    struct view found = {0};
    for (const char *at = query; *at;) {
        const char *end = at + strcspn(at, "&");
        const char *equals = memchr(at, '=', (size_t)(end - at));
        const char *value = equals ? equals + 1 : end;
        if (end > at && name_is(at, equals ? equals : end, name)) {
            found = view_between((const uint8_t *)value, (const uint8_t *)end);
            if (found.size)
                return found;
        }
        at = *end ? end + 1 : end;
    }
    return found;
}

bool http_query_get(const char *query, const char *name, char *out, size_t out_size)
{
    struct view value = query_find(query, name);
    const char *from = (const char *)value.data;
    return from && copy_value(from, from + value.size, out, out_size);
}

ptrdiff_t http_query_copy(const char *query, const char *name, uint8_t *out, size_t out_size)
{
    struct view value = query_find(query, name);
    const char *from = (const char *)value.data, *to = from + value.size;
    size_t n = 0;
    while (from < to && n < out_size)
        out[n++] = decoded_byte(&from);
    return value.data ? (ptrdiff_t)n : -1;
}
