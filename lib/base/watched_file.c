#include "lib/base/watched_file.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_EVERY NS_PER_S

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool watched_file_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           same_time(a->st_mtim, b->st_mtim) && same_time(a->st_ctim, b->st_ctim);
}

static bool watched_file_read_all(int fd, struct bytes *content)
{
    for (;;) {
        char part[4096];
        ssize_t n = read(fd, part, sizeof part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        enum bytes_result result = bytes_append(content, part, (size_t)n);
        if (result != BYTES_OK) {
            errno = result == BYTES_FULL ? EFBIG : ENOMEM;
            return false;
        }
    }
}

/* A pipe or a terminal must not block the caller. */
static bool read_file(const char *path, struct stat *stat, struct bytes *content)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    bool good = fstat(fd, stat) == 0 && watched_file_read_all(fd, content);
    int code = errno;
    close(fd);
    errno = code;
    return good;
}

static enum watched_result watched_file_fail(struct watched_file *file, int code, char *error,
                                             size_t error_size)
{
    bool was_failing = file->failing;
    file->failing = true;
    file->seen = (struct stat){0};
    snprintf(error, error_size, "cannot read %s: %s", file->path, strerror(code));
    return was_failing ? WATCHED_SAME : WATCHED_FAILED;
}

enum watched_result watched_file_look(struct watched_file *file, uint64_t mono_ns,
                                      struct bytes *content, char *error, size_t error_size)
{
    struct stat now = {0};
    bytes_clear(content);
    if (mono_ns < file->next)
        return WATCHED_SAME;
    file->next = mono_ns + LOOK_EVERY;
    bool changed = stat(file->path, &now) != 0 || !watched_file_same(&now, &file->seen);
    if (!changed && file->settled)
        return WATCHED_SAME;
    /* Two changes within a tick of the file system's clock cannot be told apart, so a changed file
     * is read again a second later. */
    file->settled = !changed;
    if (!read_file(file->path, &now, content)) {
        int code = errno;
        bytes_clear(content);
        return watched_file_fail(file, code, error, error_size);
    }
    file->failing = false;
    file->seen = now;
    return WATCHED_READ;
}
