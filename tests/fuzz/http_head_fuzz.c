/* A header as the HTTP library leaves it after parsing. The first byte is the length of the method,
 * the second that of the target. */
#include "lib/base/view.h"
#include "lib/net/http/http_head.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t version = sizeof "HTTP/1.1";
    if (size < 2 || size - 2 < (size_t)data[0] + data[1] + 2 + version)
        return 0;
    size -= 2;
    char *head = malloc(size), *text = malloc(size + 1);
    if (!head || !text)
        abort();
    memcpy(head, data + 2, size);
    memcpy(text, data + 2, size);
    text[size] = '\0';
    http_head_fault(head, size, head + data[0] + 1 + data[1] + 1, data[1]);
    http_head_is_target(text);
    http_head_is_host(text);
    free(head);
    free(text);
    return 0;
}
