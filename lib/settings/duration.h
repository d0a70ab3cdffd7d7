/* Durations as Go and the Collector write them. Pure. */
#ifndef LIB_SETTINGS_DURATION_H
#define LIB_SETTINGS_DURATION_H

#include <stdbool.h>
#include <stdint.h>

enum { DURATION_TEXT = 32 };

/* "300ms", "1.5s", "1m30s", "1h", "0" into nanoseconds, 0..INT64_MAX. Units: ns, us, µs, ms, s, m,
 * h. False: something else, a number without unit or a negative one. */
bool duration_parse(const char *text, uint64_t *ns);

/* "1m30s" from nanoseconds, the shortest form without loss. */
const char *duration_text(uint64_t ns, char out[DURATION_TEXT]);

#endif
