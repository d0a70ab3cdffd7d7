#include "lib/wire/pprof/pprof_count.h"

uint64_t pprof_time_unit(struct view unit)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {
        {"nanoseconds", 1},
        {"microseconds", 1000},
        {"milliseconds", 1000 * 1000},
        {"seconds", 1000 * 1000 * 1000},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (view_eq(unit, view_of(units[i].name)))
            return units[i].ns;
    return 0;
}

int pprof_time_column(const struct pprof *pprof, struct view type, uint64_t *unit_ns)
{
    for (size_t i = 0; i < pprof->type_count; i++) {
        *unit_ns = view_eq(pprof->types[i].type, type) ? pprof_time_unit(pprof->types[i].unit) : 0;
        if (*unit_ns)
            return (int)i;
    }
    *unit_ns = 0;
    return -1;
}

static int column_of(const struct pprof *pprof, struct view type, struct view unit)
{
    for (size_t i = 0; i < pprof->type_count; i++)
        if (view_eq(pprof->types[i].type, type) && view_eq(pprof->types[i].unit, unit))
            return (int)i;
    return -1;
}

/* A shorter one is not that of a profiler: .NET's states 1 ns. */
#define PERIOD_LEAST_NS 10000

struct pprof_count pprof_count_of(const struct pprof *pprof)
{
    uint64_t unit = pprof_time_unit(pprof->period_type.unit);
    struct pprof_count count = {.column = column_of(pprof, VIEW("samples"), VIEW("count"))};
    if (count.column >= 0 || pprof->period <= 0 || !unit ||
        (uint64_t)pprof->period < (PERIOD_LEAST_NS + unit - 1) / unit)
        return count;
    count.column = column_of(pprof, pprof->period_type.type, pprof->period_type.unit);
    count.period = count.column >= 0 ? pprof->period : 0;
    return count;
}
