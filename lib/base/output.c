#include "lib/base/output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

/* How long one write may wait for the reader. */
enum { PATIENCE_MS = 200 };

static bool is_writable(int patience_ms)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, patience_ms) == 1 && (out.revents & POLLOUT);
}

void output_write(struct output *output, struct view text)
{
    size_t done = 0;
    while (done < text.size) {
        /* If poll reports a pipe as writable, it has room for PIPE_BUF. */
        size_t chunk = text.size - done < PIPE_BUF ? text.size - done : PIPE_BUF;
        output->stalled = !is_writable(output->stalled ? 0 : PATIENCE_MS);
        ssize_t n = output->stalled ? -1 : write(STDOUT_FILENO, text.data + done, chunk);
        if (n < 0 && !output->stalled && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        done += (size_t)n;
    }
}
