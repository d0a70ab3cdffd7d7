#include "tests/support/fake_clock.h"

static uint64_t read_wall(const struct clock *clock)
{
    return ((struct fake_clock *)(uintptr_t)clock)->wall;
}

static uint64_t read_mono(const struct clock *clock)
{
    struct fake_clock *fake = (struct fake_clock *)(uintptr_t)clock;
    return atomic_fetch_add(&fake->mono, fake->step);
}

void fake_clock_init(struct fake_clock *fake)
{
    fake->clock = (struct clock){.wall = read_wall, .mono = read_mono};
    atomic_init(&fake->mono, 1000 * NS_PER_S);
    atomic_init(&fake->wall, UINT64_C(1767225600) * NS_PER_S);
    atomic_init(&fake->step, 0);
}

void fake_clock_advance(struct fake_clock *fake, uint64_t ns)
{
    fake->mono += ns;
    fake->wall += ns;
}
