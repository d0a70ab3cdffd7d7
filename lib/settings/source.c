#include "lib/settings/source.h"

#include "lib/settings/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Length of the scheme before a colon; 0: none. One letter is not a scheme, as in the Collector. */
static size_t scheme_size(const char *text)
{
    size_t n = 0;
    while (is_letter(text[n]) || (n && text[n] && (is_digit(text[n]) || strchr("+.-", text[n]))))
        n++;
    return text[n] == ':' && n > 1 ? n : 0;
}

enum source_scheme source_scheme(const char *text, const char **rest)
{
    static const struct {
        const char *name;
        enum source_scheme scheme;
    } known[] = {{"file", SOURCE_FILE}, {"env", SOURCE_ENV}, {"yaml", SOURCE_YAML}};
    size_t n = scheme_size(text);
    *rest = text;
    if (n == 0)
        return SOURCE_NONE;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == n && strncmp(known[i].name, text, n) == 0) {
            *rest = text + n + 1;
            return known[i].scheme;
        }
    return SOURCE_UNKNOWN;
}

bool source_env_name(struct view name)
{
    for (size_t i = 0; i < name.size; i++) {
        char c = (char)name.data[i];
        if (!is_letter(c) && c != '_' && !(i && is_digit(c)))
            return false;
    }
    return name.size > 0;
}

enum { PIPE_SILENCE_MS = 10 * 1000 };

/* Reads to the end, also from pipes. -1: error, ETIMEDOUT if a pipe's writer is silent for too
 * long; a result above cap: too large. */
static ssize_t source_read_all(int fd, uint8_t *data, size_t cap)
{
    size_t size = 0;
    while (size < cap) {
        struct pollfd wanted = {.fd = fd, .events = POLLIN};
        int ready = poll(&wanted, 1, PIPE_SILENCE_MS);
        if (ready == 0)
            errno = ETIMEDOUT;
        ssize_t n = ready > 0 ? read(fd, data + size, cap - size) : -1;
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        size += (size_t)n;
    }
    return (ssize_t)size;
}

struct view source_read_file(struct arena *arena, const char *path, char *error, size_t error_size)
{
    struct view none = {0};
    /* A pipe that nobody writes to must not block a reload. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    uint8_t *data = fd < 0 ? NULL : malloc(TREE_TEXT_MAX + 1);
    ssize_t n = data ? source_read_all(fd, data, TREE_TEXT_MAX + 1) : -1;
    int code = errno;
    if (fd >= 0)
        close(fd);
    char *copy = NULL;
    if (n < 0 && code == ETIMEDOUT)
        snprintf(error, error_size, "is a pipe to which nothing was written for %d s",
                 PIPE_SILENCE_MS / 1000);
    else if (n < 0)
        snprintf(error, error_size, "cannot be read: %s", strerror(code));
    else if (n > TREE_TEXT_MAX)
        snprintf(error, error_size, "larger than 1 MiB, the maximum");
    else if (!(copy = arena_text(arena, (struct view){data, (size_t)n})))
        snprintf(error, error_size, "the configuration is too large");
    free(data);
    return copy ? (struct view){(const uint8_t *)copy, (size_t)n} : none;
}
