/* Any text as a duration and as a scalar; the short form of a duration must parse to the same
 * value. */
#include "lib/settings/duration.h"
#include "lib/settings/scalar.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[256], out[DURATION_TEXT];
    uint64_t ns, again;
    double number;
    int64_t whole;
    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (duration_parse(text, &ns) &&
        (!duration_parse(duration_text(ns, out), &again) || ns != again))
        abort();
    if (scalar_int(text, &whole) && !scalar_number(text, &number))
        abort();
    return scalar_type(text) == SCALAR_INT && !scalar_int(text, &whole);
}
