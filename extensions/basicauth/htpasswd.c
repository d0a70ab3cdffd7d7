#include "extensions/basicauth/htpasswd.h"

#include "lib/wire/http/base64.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { CREDENTIALS_MAX = 16 << 10 };

/* Users of one name keep the order of their lines. */
static int compare_users(const void *a, const void *b)
{
    const struct htpasswd_user *left = a, *right = b;
    int order = view_order(left->name, right->name);
    return order ? order : (left->hash > right->hash) - (left->hash < right->hash);
}

/* Trims a line's ends, and terminates it with NUL. */
static char *htpasswd_trim(char *line)
{
    line += strspn(line, " \t");
    size_t size = strlen(line);
    while (size && strchr(" \t\r", line[size - 1]))
        size--;
    line[size] = '\0';
    return line;
}

static const char *read_line(char *line, struct htpasswd_user *user)
{
    char *colon = strchr(line, ':');
    if (!colon)
        return "has no colon, expected user:hash";
    if (colon == line)
        return "has no user name";
    *user = (struct htpasswd_user){.name = view_between((uint8_t *)line, (uint8_t *)colon),
                                   .hash = colon + 1,
                                   .kind = password_kind(colon + 1)};
    return user->kind == PASSWORD_UNKNOWN ? password_fault(user->hash) : NULL;
}

static bool read_lines(struct htpasswd *htpasswd, char *why, size_t why_size)
{
    char *line = htpasswd->text;
    for (unsigned number = 1; line; number++) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line = htpasswd_trim(line);
        if (*line && *line != '#') {
            const char *fault = read_line(line, &htpasswd->users[htpasswd->count++]);
            if (fault) {
                snprintf(why, why_size, "line %u %s", number, fault);
                return false;
            }
        }
        line = next;
    }
    if (htpasswd->count == 0)
        snprintf(why, why_size, "it has no users");
    return htpasswd->count > 0;
}

static void keep_last(struct htpasswd *htpasswd)
{
    size_t kept = 0;
    qsort(htpasswd->users, htpasswd->count, sizeof *htpasswd->users, compare_users);
    for (size_t i = 0; i < htpasswd->count; i++) {
        bool again = i + 1 < htpasswd->count &&
                     view_eq(htpasswd->users[i].name, htpasswd->users[i + 1].name);
        if (!again)
            htpasswd->users[kept++] = htpasswd->users[i];
    }
    htpasswd->count = kept;
    for (size_t i = 0; i < kept && !htpasswd->slow; i++)
        if (password_slow(htpasswd->users[i].kind))
            htpasswd->slow = &htpasswd->users[i];
}

bool htpasswd_read(struct htpasswd *htpasswd, struct view text, char *why, size_t why_size)
{
    size_t lines = 1;
    *htpasswd = (struct htpasswd){0};
    if (view_starts(text, VIEW("\xef\xbb\xbf"))) /* the byte order mark that editors write */
        text = view_between(text.data + 3, text.data + text.size);
    if (text.size && memchr(text.data, '\0', text.size)) {
        snprintf(why, why_size, "it is not a text file");
        return false;
    }
    for (size_t i = 0; i < text.size; i++)
        lines += text.data[i] == '\n';
    htpasswd->text = strndup(text.size ? (const char *)text.data : "", text.size);
    htpasswd->users = calloc(lines, sizeof *htpasswd->users);
    bool good = htpasswd->text && htpasswd->users;
    if (!good)
        snprintf(why, why_size, "out of memory");
    if (good && read_lines(htpasswd, why, why_size)) {
        keep_last(htpasswd);
        return true;
    }
    htpasswd_release(htpasswd);
    return false;
}

void htpasswd_release(struct htpasswd *htpasswd)
{
    free(htpasswd->text);
    free(htpasswd->users);
    *htpasswd = (struct htpasswd){0};
}

const struct htpasswd_user *htpasswd_find(const struct htpasswd *htpasswd, struct view name)
{
    size_t low = 0, high = htpasswd->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = view_order(htpasswd->users[middle].name, name);
        if (order == 0)
            return &htpasswd->users[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool basic_credentials(const char *value, struct bytes *out, struct view *user,
                       struct view *password)
{
    bytes_init(out, CREDENTIALS_MAX, NULL);
    if (!value || strncasecmp(value, "Basic ", 6) != 0)
        return false;
    struct view text = view_trim(view_of(value + 6), VIEW(" "));
    if (base64_decode(text, out) != BASE64_OK || out->size == 0)
        return false;
    const uint8_t *end = out->data + out->size;
    const uint8_t *colon = memchr(out->data, ':', out->size);
    if (!colon)
        return false;
    *user = view_between(out->data, colon);
    *password = view_between(colon + 1, end);
    return true;
}
