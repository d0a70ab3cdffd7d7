/* Text made fit for a terminal (exporters/debug/debug.h). */
#include "exporters/debug/debug.h"

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
