/* Services whose profiles were refused because of their clock, the latest of them. Guarded by the
 * watch's lock. */
#ifndef EXTENSIONS_STATUS_CLOCKS_H
#define EXTENSIONS_STATUS_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLOCKS_MAX = 64 };

struct clock_refusal {
    uint32_t name; /* the service's, in known->names */
    uint64_t at;   /* wall, of the last; 0: the place is free */
    uint64_t count;
    int64_t
        ahead_ns; /* of the last profile's time, ahead of this process's clock; below 0: behind */
};

struct clocks {
    struct clock_refusal rows[CLOCKS_MAX];
};

/* now: wall. */
void clocks_refused(struct clocks *clocks, uint32_t name, int64_t ahead_ns, uint64_t now);

/* Whether the last profiles of a service were refused, the latest after one that came at `came`
 * (0: none did) and not long before a time. NULL: no. */
const struct clock_refusal *clocks_find(const struct clocks *clocks, uint32_t name, uint64_t came,
                                        uint64_t time);

/* "Its profiles are refused: their clock is 1 h ahead." */
void clocks_tell(const struct clock_refusal *refusal, char *out, size_t size);

#endif
