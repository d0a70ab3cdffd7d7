/* Standard output, and text made fit for it (exporters/debug/debug.h). */
#include "exporters/debug/debug.h"

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

/* Size of the control character at the start of a text, including U+0080 to U+009F, which some
 * terminals interpret; 0: there is none. */
static size_t control_size(struct view text)
{
    uint8_t c = text.data[0];
    if (c < 0x20 || c == 0x7f)
        return 1;
    return c == 0xc2 && text.size > 1 && text.data[1] < 0xa0 ? 2 : 0;
}

void shown_text(struct view text, char *out, size_t size)
{
    if (text.size >= size) {
        text.size = size - 1;
        while (text.size > 0 && (text.data[text.size] & 0xc0) == 0x80)
            text.size--; /* do not cut a character in half */
    }
    while (text.size > 0) {
        size_t control = control_size(text), used = control ? control : 1;
        *out++ = control ? '?' : (char)text.data[0];
        text = (struct view){text.data + used, text.size - used};
    }
    *out = '\0';
}
