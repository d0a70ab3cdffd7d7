/* Times in the format of /ingest's `from` and `until`. Pure. */
#ifndef LIB_WIRE_PPROF_INGEST_TIME_H
#define LIB_WIRE_PPROF_INGEST_TIME_H

#include <stdint.h>

/* Parses a time to nanoseconds since 1970, at most INT64_MAX: 8 digits that form a date YYYYMMDD
 * are its start, 13 digits are milliseconds, 16 microseconds, 19 nanoseconds, any other number
 * seconds (Pyroscope's attime). 0: empty, not a number, or out of range, which the server takes for
 * "now". */
uint64_t ingest_time_parse(const char *text);

#endif
