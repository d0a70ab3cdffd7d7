/* The first line is the content type, the rest the body: all views are inside it, and parts end. */
#include "lib/wire/http/multipart.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct view whole, struct view part)
{
    if (part.size && (part.data < whole.data || part.data + part.size > whole.data + whole.size))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    if (!line)
        return 0;
    struct view type = {data, (size_t)(line - data)};
    struct view body = {line + 1, size - type.size - 1};
    struct multipart multipart;
    struct multipart_part part;
    size_t parts = 0;
    if (!multipart_begin(&multipart, type, body))
        return 0;
    while (multipart_next(&multipart, &part)) {
        inside(body, part.name);
        inside(body, part.filename);
        inside(body, part.content);
        if (parts++ > size)
            abort();
    }
    if (!multipart.bad && !multipart.ended)
        abort();
    return 0;
}
