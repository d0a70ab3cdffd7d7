#include "lib/wire/jfr/jfr_parts.h"

#include "lib/wire/codec/compress.h"
#include "lib/wire/http/multipart.h"

#include <string.h>

enum { MAX_INFLATED = 64 << 20 };

static bool open_part(struct view *part, struct bytes *inflated)
{
    if (!looks_gzip(*part))
        return true;
    if (inflate_append(ENCODING_GZIP, *part, inflated) != INFLATE_OK)
        return false;
    *part = bytes_view(inflated);
    return true;
}

static bool find_parts(struct jfr_parts *parts, const char *type, struct view body)
{
    struct multipart multipart;
    struct multipart_part part;
    if (!multipart_begin(&multipart, view_of(type), body))
        return false;
    while (multipart_next(&multipart, &part)) {
        struct view *which = view_eq(part.name, VIEW("jfr"))      ? &parts->jfr
                             : view_eq(part.name, VIEW("labels")) ? &parts->labels
                                                                  : NULL;
        if (which && part.filename.data && !which->data)
            *which = part.content;
    }
    return !multipart.bad && parts->jfr.data;
}

bool jfr_parts_open(struct jfr_parts *parts, const char *content_type, struct view body,
                    struct budget *budget)
{
    *parts = (struct jfr_parts){0};
    for (size_t i = 0; i < 2; i++)
        bytes_init(&parts->inflated[i], MAX_INFLATED, budget);
    if (!content_type || !strstr(content_type, "multipart/form-data"))
        parts->jfr = body;
    else if (!find_parts(parts, content_type, body))
        return false;
    return open_part(&parts->jfr, &parts->inflated[0]) &&
           open_part(&parts->labels, &parts->inflated[1]);
}

void jfr_parts_release(struct jfr_parts *parts)
{
    bytes_release(&parts->inflated[0]);
    bytes_release(&parts->inflated[1]);
}
