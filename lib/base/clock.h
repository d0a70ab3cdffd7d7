/* Clocks that tests can replace. All times are in nanoseconds. */
#ifndef LIB_BASE_CLOCK_H
#define LIB_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_S   UINT64_C(1000000000)
#define TIME_NEVER UINT64_MAX

struct clock {
    uint64_t (*wall)(const struct clock *clock); /* since 1970, as in telemetry timestamps */
    uint64_t (*mono)(const struct clock *clock); /* monotonic; for deadlines */
};

/* The system's clocks. */
extern const struct clock clock_system;

static inline uint64_t clock_wall(const struct clock *clock)
{
    return clock->wall(clock);
}

static inline uint64_t clock_mono(const struct clock *clock)
{
    return clock->mono(clock);
}

/* Writes the time of day in UTC, such as "09:26:50Z"; "" if there is none. Returns out. */
enum { CLOCK_TEXT = 16 };
const char *clock_text(uint64_t wall_ns, char out[CLOCK_TEXT]);

#endif
