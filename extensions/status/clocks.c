#include "extensions/status/clocks.h"

#include "lib/base/clock.h"

#include <inttypes.h>
#include <stdio.h>

/* So long after the last, a profiler with an interval of a minute may have stopped. */
#define LASTS (3 * 60 * NS_PER_S)

void clocks_refused(struct clocks *clocks, uint32_t name, int64_t ahead_ns, uint64_t now)
{
    struct clock_refusal *oldest = &clocks->rows[0];
    for (size_t i = 0; i < CLOCKS_MAX; i++) {
        struct clock_refusal *row = &clocks->rows[i];
        if (row->at && row->name == name) {
            oldest = row;
            break;
        }
        if (row->at < oldest->at)
            oldest = row;
    }
    uint64_t before = oldest->at && oldest->name == name ? oldest->count : 0;
    *oldest = (struct clock_refusal){name, now, before + 1, ahead_ns};
}

const struct clock_refusal *clocks_find(const struct clocks *clocks, uint32_t name, uint64_t came,
                                        uint64_t time)
{
    for (size_t i = 0; name && i < CLOCKS_MAX; i++) {
        const struct clock_refusal *row = &clocks->rows[i];
        if (row->at && row->name == name)
            return row->at > came && row->at + LASTS > time ? row : NULL;
    }
    return NULL;
}

void clocks_tell(const struct clock_refusal *refusal, char *out, size_t size)
{
    bool ahead = refusal->ahead_ns > 0;
    uint64_t apart = (uint64_t)(ahead ? refusal->ahead_ns : -refusal->ahead_ns);
    uint64_t minutes = (apart / NS_PER_S + 30) / 60;
    bool hours = minutes >= 120 || minutes % 60 == 0;
    snprintf(out, size, "Its profiles are refused: their clock is %" PRIu64 " %s %s.",
             hours ? minutes / 60 : minutes, hours ? "h" : "min", ahead ? "ahead" : "behind");
}
