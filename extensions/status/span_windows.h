/* The windows of profiles around a span, for /api/spans. */
#ifndef EXTENSIONS_STATUS_SPAN_WINDOWS_H
#define EXTENSIONS_STATUS_SPAN_WINDOWS_H

#include "extensions/status/json.h"
#include "extensions/status/known.h"

struct span_times {
    uint64_t start, end, decided; /* wall; 0: not known */
};

/* Writes `windows`, the nearest of the service that has the samples of a span, in the order in
 * which they came, and `windows_of`, its name where it is another than the span's own. span: what
 * has its samples; NULL: not remembered. Under the watch's lock. */
void span_windows_put(const struct known *known, const struct known_span *span, uint16_t own,
                      const struct span_times *times, struct json *json);

#endif
