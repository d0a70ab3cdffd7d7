/* A file of lines that is rotated (exporters/file/file.h). */
#include "exporters/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool make_folders(const char *path)
{
    char part[PATH_MAX];
    size_t size = strlen(path);
    if (size >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(part, path, size + 1);
    for (char *at = part + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return false;
        *at = '/';
    }
    return true;
}

const char *line_file_why(int code)
{
    return code == ENXIO ? "it is a FIFO that nobody reads, or a socket" : strerror(code);
}

/* Only the opening of a FIFO must not wait. */
static int open_now(const char *path, int flags)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | flags, 0644);
    if (fd >= 0)
        fcntl(fd, F_SETFL, O_APPEND);
    return fd;
}

static bool ends_in_a_line(const char *path, uint64_t size)
{
    char last = '\n';
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || pread(fd, &last, 1, (off_t)size - 1) != 1)
        last = '\n';
    if (fd >= 0)
        close(fd);
    return last == '\n';
}

bool line_file_open(struct line_file *file)
{
    struct stat status;
    if (!make_folders(file->path))
        return false;
    file->fd = open_now(file->path, O_CREAT);
    if (file->fd < 0)
        return false;
    file->size = fstat(file->fd, &status) == 0 ? (uint64_t)status.st_size : 0;
    file->torn = !file->framed && file->size > 0 && S_ISREG(status.st_mode) &&
                 !ends_in_a_line(file->path, file->size);
    return true;
}

bool line_file_possible(const char *path)
{
    int fd = open_now(path, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || (errno != EISDIR && errno != ENXIO);
}

void line_file_close(struct line_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* path "a/b.jsonl": folder "a/", stem "b", ending ".jsonl". */
struct parts {
    char folder[PATH_MAX];
    char stem[NAME_MAX + 1];
    const char *ending;
};

static void split_path(const char *path, struct parts *parts)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    parts->ending = dot && dot != name ? dot : "";
    snprintf(parts->folder, sizeof parts->folder, "%.*s", slash ? (int)(name - path) : 2,
             slash ? path : "./");
    snprintf(parts->stem, sizeof parts->stem, "%.*s", (int)(strlen(name) - strlen(parts->ending)),
             name);
}

/* Whether a text has the form "-2026-11-21T07-45-00.000000000". */
static bool is_stamp(const char *text, size_t size)
{
    static const char form[] = "-dddd-dd-ddTdd-dd-dd.ddddddddd";
    if (size != sizeof form - 1)
        return false;
    for (size_t i = 0; i < size; i++)
        if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return false;
    return true;
}

static bool is_backup(const struct parts *parts, const char *name)
{
    size_t stem = strlen(parts->stem), ending = strlen(parts->ending), size = strlen(name);
    return size > stem + ending && strncmp(name, parts->stem, stem) == 0 &&
           is_stamp(name + stem, size - stem - ending) &&
           strcmp(name + size - ending, parts->ending) == 0;
}

/* Backups' names contain their time, so the smallest name is the oldest. */
static void remove_oldest(const struct parts *parts, int64_t keep)
{
    int64_t found = keep + 1;
    while (found > keep) {
        char oldest[NAME_MAX + 1] = "", path[PATH_MAX + NAME_MAX + 2];
        DIR *folder = opendir(parts->folder);
        if (!folder)
            return;
        found = 0;
        for (struct dirent *entry; (entry = readdir(folder));)
            if (is_backup(parts, entry->d_name)) {
                found++;
                if (!*oldest || strcmp(entry->d_name, oldest) < 0)
                    snprintf(oldest, sizeof oldest, "%s", entry->d_name);
            }
        closedir(folder);
        snprintf(path, sizeof path, "%s%s", parts->folder, oldest);
        if (found > keep && unlink(path) != 0)
            return;
    }
}

static bool rotate(struct line_file *file)
{
    struct parts *parts = malloc(sizeof *parts);
    char stamp[64], backup[PATH_MAX + NAME_MAX + 80];
    struct tm utc;
    uint64_t now = clock_wall(file->clock);
    time_t seconds = (time_t)(now / NS_PER_S);
    if (!parts)
        return false;
    gmtime_r(&seconds, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H-%M-%S", &utc);
    split_path(file->path, parts);
    snprintf(backup, sizeof backup, "%s%s-%s.%09u%s", parts->folder, parts->stem, stamp,
             (unsigned)(now % NS_PER_S), parts->ending);
    line_file_close(file);
    if (rename(file->path, backup) == 0 && file->rotation.max_backups > 0)
        remove_oldest(parts, file->rotation.max_backups);
    free(parts);
    return line_file_open(file);
}

static bool line_file_write_all(struct line_file *file, struct view line)
{
    size_t done = 0;
    while (done < line.size) {
        ssize_t n = write(file->fd, line.data + done, line.size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (done == line.size) {
        file->size += done;
        return true;
    }
    int why = errno;
    /* Removes a partial line, which would corrupt the next one. */
    if (ftruncate(file->fd, (off_t)file->size) != 0)
        line_file_close(file);
    errno = why;
    return false;
}

/* Closes the file if its path no longer names it: what is written to it then is lost, or lies where
 * nobody expects it. Any other error says nothing about the open file. */
static void leave_if_gone(struct line_file *file)
{
    struct stat open, named;
    if (file->fd < 0 || fstat(file->fd, &open) != 0)
        return;
    file->size = S_ISREG(open.st_mode) ? (uint64_t)open.st_size : file->size;
    bool gone = stat(file->path, &named) != 0
                    ? errno == ENOENT || errno == ENOTDIR
                    : named.st_dev != open.st_dev || named.st_ino != open.st_ino;
    if (gone)
        line_file_close(file);
    file->left = file->left || gone;
}

bool line_file_write(struct line_file *file, struct view line)
{
    uint64_t limit = (uint64_t)file->rotation.max_megabytes << 20;
    leave_if_gone(file);
    if (file->fd < 0 && !line_file_open(file))
        return false;
    if (file->rotates && file->size > 0 && file->size + line.size > limit && !rotate(file))
        return false;
    if (file->torn && !line_file_write_all(file, VIEW("\n")))
        return false;
    file->torn = false;
    return line_file_write_all(file, line);
}
