/* A backend's header lines, one per line of the input; the body follows an empty line. */
#include "lib/net/http/http_reply.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_reply reply;
    struct view rest = {data, size};
    http_reply_init(&reply, 100);
    while (rest.size) {
        const uint8_t *end = memchr(rest.data, '\n', rest.size);
        size_t n = end ? (size_t)(end + 1 - rest.data) : rest.size;
        http_reply_line(&reply, (struct view){rest.data, n}, 1700000000);
        if (n == 1)
            http_reply_data(&reply, rest);
        rest.data += n;
        rest.size -= n;
    }
    http_reply_release(&reply);
    return 0;
}
