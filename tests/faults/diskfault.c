/*
 * For LD_PRELOAD: while the file $DISK_FAULT exists, calls that change files under
 * $DISK_FAULT_DIR fail with the error number in it; with "fsync N", only calls that make changes
 * durable fail.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* The error for a call on this file; 0: none. */
static int fault(int fd, bool syncs)
{
    const char *control = getenv("DISK_FAULT"), *folder = getenv("DISK_FAULT_DIR");
    char link[64], path[PATH_MAX + 1] = "", text[32] = "";
    int number = 0, saved = errno;
    FILE *file = control ? fopen(control, "re") : NULL;
    if (file) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (fgets(text, sizeof text, file) && folder && readlink(link, path, PATH_MAX) > 0 &&
            strncmp(path, folder, strlen(folder)) == 0) {
            if (strncmp(text, "fsync ", 6) != 0)
                number = atoi(text);
            else if (syncs)
                number = atoi(text + 6);
        }
        fclose(file);
    }
    errno = saved;
    return number;
}

#define NEXT(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))
#define FAIL_OR(call, fd, syncs)                                                                   \
    do {                                                                                           \
        int number = fault(fd, syncs);                                                             \
        if (number) {                                                                              \
            errno = number;                                                                        \
            return -1;                                                                             \
        }                                                                                          \
        return call;                                                                               \
    } while (0)

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    FAIL_OR(NEXT(pwritev)(fd, parts, count, at), fd, false);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
    FAIL_OR(NEXT(pwritev64)(fd, parts, count, at), fd, false);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    FAIL_OR(NEXT(pwrite)(fd, data, size, at), fd, false);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    FAIL_OR(NEXT(pwrite64)(fd, data, size, at), fd, false);
}

int fsync(int fd)
{
    FAIL_OR(NEXT(fsync)(fd), fd, true);
}

int fdatasync(int fd)
{
    FAIL_OR(NEXT(fdatasync)(fd), fd, true);
}

int ftruncate(int fd, off_t size)
{
    FAIL_OR(NEXT(ftruncate)(fd, size), fd, false);
}

int renameat(int from, const char *old, int to, const char *new)
{
    FAIL_OR(NEXT(renameat)(from, old, to, new), from, false);
}

int unlinkat(int dir, const char *name, int flags)
{
    FAIL_OR(NEXT(unlinkat)(dir, name, flags), dir, false);
}

int openat(int dir, const char *name, int flags, ...)
{
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    if (!(flags & O_CREAT))
        return NEXT(openat)(dir, name, flags, mode);
    FAIL_OR(NEXT(openat)(dir, name, flags, mode), dir, false);
}
