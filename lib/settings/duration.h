/* Durations in the syntax of Go and the Collector. Pure. */
#ifndef LIB_SETTINGS_DURATION_H
#define LIB_SETTINGS_DURATION_H

#include <stdbool.h>
#include <stdint.h>

enum { DURATION_TEXT = 32 };

/* Parses "300ms", "1.5s", "1m30s", "1h", "0" to nanoseconds, 0..INT64_MAX. Units: ns, us, µs, ms,
 * s, m, h. False: anything else, including negative numbers and numbers without a unit. */
bool duration_parse(const char *text, uint64_t *ns);

/* Formats nanoseconds as "1m30s", the shortest form that loses nothing. Returns out. */
const char *duration_text(uint64_t ns, char out[DURATION_TEXT]);

#endif
