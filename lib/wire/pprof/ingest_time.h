/* Times as /ingest's `from` and `until` write them. Pure. */
#ifndef LIB_WIRE_PPROF_INGEST_TIME_H
#define LIB_WIRE_PPROF_INGEST_TIME_H

#include <stdint.h>

/* Nanoseconds since 1970, at most INT64_MAX: 8 digits that are a date YYYYMMDD stand for its
 * beginning, 13 digits are milliseconds, 16 microseconds, 19 nanoseconds, any other number seconds
 * (Pyroscope's attime). 0: empty, not a number, or out of range; the server takes it for "now". */
uint64_t ingest_time_parse(const char *text);

#endif
