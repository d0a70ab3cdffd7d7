#include "pipeline/life/explained.h"

#include "lib/base/redact.h"
#include "lib/base/shown.h"

#include <stdlib.h>

enum { LINE_MAX_SIZE = 16 << 10 };

static bool begins_line(struct view text, struct view id)
{
    return view_starts(text, id) && text.size > id.size && text.data[id.size] == ':';
}

/* Returns the bytes up to the first real line end, or to the end of the text. */
static size_t line_size(struct view text, struct view id)
{
    for (size_t at = 0; at < text.size; at++) {
        struct view rest = {text.data + at + 1, text.size - at - 1};
        if (text.data[at] == '\n' && (rest.size == 0 || begins_line(rest, id)))
            return at;
    }
    return text.size;
}

static void append_line(struct view line, struct bytes *out)
{
    char redacted[LINE_MAX_SIZE], shown[LINE_MAX_SIZE];
    char *text = strndup((const char *)line.data, line.size);
    if (!text)
        return;
    redact_copy(text, redacted, sizeof redacted);
    shown_copy(view_of(redacted), shown, sizeof shown);
    bytes_printf(out, "%s\n", shown);
    free(text);
}

void explained_append(struct view text, const char *id, struct bytes *out)
{
    while (text.size > 0) {
        size_t size = line_size(text, view_of(id)), used = size + (size < text.size);
        append_line((struct view){text.data, size}, out);
        text = (struct view){text.data + used, text.size - used};
    }
}
