/* Times as /ingest's `from` and `until` write them. Pure. */
#ifndef RECEIVERS_PYROSCOPE_TIMES_H
#define RECEIVERS_PYROSCOPE_TIMES_H

#include <stdint.h>

/* Nanoseconds since 1970: 13 digits are milliseconds, 16 microseconds, 19 nanoseconds, 8 a date
 * YYYYMMDD, any other number seconds (Pyroscope's attime). 0: empty or not a number, which the
 * server takes for "now". */
uint64_t ingest_time_parse(const char *text);

#endif
