/* A clock that stands still until a test moves it. Any thread. */
#ifndef TESTS_SUPPORT_FAKE_CLOCK_H
#define TESTS_SUPPORT_FAKE_CLOCK_H

#include "lib/base/clock.h"

#include <stdatomic.h>

struct fake_clock {
    struct clock clock;
    _Atomic uint64_t mono;
    _Atomic uint64_t wall;
    _Atomic uint64_t step; /* added to mono at every read */
};

/* mono starts at 1000 s, wall at 2026-01-01. */
void fake_clock_init(struct fake_clock *fake);
void fake_clock_advance(struct fake_clock *fake, uint64_t ns); /* both */

#endif
