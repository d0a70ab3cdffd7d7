#include "lib/base/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t system_wall(const struct clock *clock)
{
    (void)clock;
    return read_clock(CLOCK_REALTIME);
}

static uint64_t system_mono(const struct clock *clock)
{
    (void)clock;
    return read_clock(CLOCK_MONOTONIC);
}

const struct clock clock_system = {.wall = system_wall, .mono = system_mono};

const char *clock_text(uint64_t wall_ns, char out[CLOCK_TEXT])
{
    time_t seconds = (time_t)(wall_ns / NS_PER_S);
    struct tm day;
    if (!gmtime_r(&seconds, &day) || strftime(out, CLOCK_TEXT, "%H:%M:%SZ", &day) == 0)
        *out = '\0';
    return out;
}
