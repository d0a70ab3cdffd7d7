#include "lib/base/output.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { KIND_NEW, KIND_FILE, KIND_SOCKET, KIND_REOPENED, KIND_POLLED };

static int open_anew(int descriptor)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static enum kind kind_of(struct output *output, mode_t mode)
{
    if (S_ISREG(mode))
        return KIND_FILE;
    if (S_ISSOCK(mode))
        return KIND_SOCKET;
    if (S_ISFIFO(mode) || (S_ISCHR(mode) && isatty(output->descriptor)))
        output->own = open_anew(output->descriptor);
    return output->own >= 0 ? KIND_REOPENED : KIND_POLLED;
}

/* A descriptor may have become that of another file. */
static void look(struct output *output)
{
    struct stat its;
    bool known = output->kind != KIND_NEW;
    if (fstat(output->descriptor, &its) != 0 ||
        (known && its.st_dev == output->device && its.st_ino == output->inode))
        return;
    output_release(output);
    output->device = its.st_dev;
    output->inode = its.st_ino;
    output->kind = kind_of(output, its.st_mode);
    output->stalled = output->torn = false;
}

static int descriptor_of(const struct output *output)
{
    return output->own >= 0 ? output->own : output->descriptor;
}

/* True, too, if a write would fail. */
static bool is_ready(const struct output *output, uint64_t until)
{
    struct pollfd out = {.fd = descriptor_of(output), .events = POLLOUT};
    int n;
    do {
        uint64_t now = clock_mono(&clock_system);
        n = poll(&out, 1, now < until ? (int)((until - now + NS_PER_MS - 1) / NS_PER_MS) : 0);
    } while (n < 0 && errno == EINTR);
    return n == 1;
}

static ssize_t write_some(const struct output *output, struct view text)
{
    if (output->kind == KIND_SOCKET)
        return send(output->descriptor, text.data, text.size, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(descriptor_of(output), text.data, text.size);
}

/* text: at most PIPE_BUF. *done: how much of it was written. */
static enum output_result write_chunk(struct output *output, struct view text, int patience_ms,
                                      size_t *done)
{
    uint64_t until = clock_mono(&clock_system) + (uint64_t)patience_ms * NS_PER_MS;
    bool asks = output->kind == KIND_POLLED;
    for (*done = 0; *done < text.size;) {
        struct view rest = {text.data + *done, text.size - *done};
        if (asks && !is_ready(output, until))
            return OUTPUT_STALLED;
        ssize_t n = write_some(output, rest);
        if (n >= 0)
            *done += (size_t)n;
        else if (errno == EAGAIN && asks && clock_mono(&clock_system) >= until)
            return OUTPUT_STALLED; /* e.g. a terminal with room for less than a character */
        else if (errno == EAGAIN)
            asks = true;
        else if (errno != EINTR)
            return OUTPUT_FAILED;
    }
    return OUTPUT_WRITTEN;
}

static enum output_result write_chunks(struct output *output, struct view text, int patience_ms)
{
    enum output_result result = OUTPUT_WRITTEN;
    for (size_t at = 0, done; at < text.size && result == OUTPUT_WRITTEN; at += done) {
        size_t size = text.size - at < PIPE_BUF ? text.size - at : PIPE_BUF;
        result = write_chunk(output, (struct view){text.data + at, size}, patience_ms, &done);
        output->torn |= result == OUTPUT_STALLED && at + done > 0;
    }
    return result;
}

static enum output_result write_file(const struct output *output, struct view text)
{
    ssize_t n = write(output->descriptor, text.data, text.size);
    if (n == (ssize_t)text.size)
        return OUTPUT_WRITTEN;
    errno = n < 0 ? errno : 0;
    return OUTPUT_FAILED;
}

enum output_result output_write(struct output *output, struct view text, int patience_ms)
{
    look(output);
    if (output->kind == KIND_FILE)
        return write_file(output, text);
    int patience = output->stalled ? 0 : patience_ms;
    enum output_result result = OUTPUT_WRITTEN;
    if (output->torn) {
        result = write_chunks(output, VIEW("\n"), patience);
        output->torn = result == OUTPUT_STALLED;
    }
    if (result == OUTPUT_WRITTEN)
        result = write_chunks(output, text, patience);
    output->stalled = result == OUTPUT_STALLED;
    return result;
}

bool output_is_stalled(const struct output *output)
{
    return output->stalled && !is_ready(output, 0);
}

void output_release(struct output *output)
{
    if (output->own >= 0)
        close(output->own);
    output->own = -1;
    output->kind = KIND_NEW;
}
