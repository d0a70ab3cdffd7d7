#include "lib/net/h2/h2_gather.h"

#include <assert.h>
#include <string.h>

ssize_t h2_gather(nghttp2_session *session, uint8_t *out, size_t size)
{
    const size_t frame = 16384 + 64; /* the largest frame that the session produces */
    size_t used = 0;
    while (size - used >= frame) {
        const uint8_t *chunk;
        ssize_t n = nghttp2_session_mem_send(session, &chunk);
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        assert((size_t)n <= size - used);
        memcpy(out + used, chunk, (size_t)n);
        used += (size_t)n;
    }
    return (ssize_t)used;
}
