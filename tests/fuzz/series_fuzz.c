/* A name with labels: either refused with a reason, or a series with unique names. */
#include "lib/wire/pprof/series.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *reason = NULL;
    struct series *series = series_parse((struct view){data, size}, &reason);
    if (!series) {
        if (!reason)
            abort();
        return 0;
    }
    if (series->count == 0 || !series_get(series, VIEW("__name__")).data)
        abort();
    for (size_t i = 0; i < series->count; i++) {
        struct view value = series_get(series, series->labels[i].name);
        if (value.data != series->labels[i].value.data)
            abort();
    }
    series_unref(series);
    return 0;
}
