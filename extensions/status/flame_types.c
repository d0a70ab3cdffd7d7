/* The types of a flame graph's values, named as Pyroscope names them: which are CPU time, and which
 * is drawn. */
#include "extensions/status/flame_add.h"

#include "lib/wire/pprof/pprof_count.h"

#include <stdio.h>
#include <string.h>

/* "name:cpu:unit:..." with a unit of time. */
static bool is_cpu(const char *type)
{
    const char *second = type + strcspn(type, ":");
    const char *unit = strncmp(second, ":cpu:", 5) == 0 ? second + 5 : "";
    return pprof_time_unit((struct view){(const uint8_t *)unit, strcspn(unit, ":")});
}

bool flame_has_other_cpu(const struct flame *flame)
{
    bool drawn = is_cpu(flame->type), other = false;
    for (size_t i = 0; drawn && i < flame->type_count; i++)
        other |= is_cpu(flame->types[i]) && strcmp(flame->types[i], flame->type) != 0;
    return other;
}

bool flame_is_cpu_time(const char *type)
{
    return strstr(type, ":cpu:nanoseconds:");
}

int flame_rank(const char *type)
{
    if (flame_is_cpu_time(type))
        return 3;
    if (strncmp(type, "wall:", 5) == 0)
        return strstr(type, ":nanoseconds:") ? 2 : 1;
    return strstr(type, ":samples:count:") ? 0 : 1;
}

/* The most useful type that has values; NULL: none has. */
static const char *flame_with_values(const struct flame *flame)
{
    const char *best = NULL;
    for (size_t i = 0; i < flame->type_count; i++)
        if (flame->type_sums[i] && (!best || flame_rank(flame->types[i]) > flame_rank(best)))
            best = flame->types[i];
    return best;
}

const char *flame_better_type(const struct flame *flame)
{
    const char *larger = NULL;
    uint64_t most = flame->sum;
    if (!most)
        return flame_with_values(flame);
    for (size_t i = 0; flame_is_cpu_time(flame->type) && i < flame->type_count; i++) {
        if (!flame_is_cpu_time(flame->types[i]) || strcmp(flame->types[i], flame->type) == 0 ||
            flame->type_sums[i] <= most)
            continue;
        most = flame->type_sums[i];
        larger = flame->types[i];
    }
    return larger;
}

void flame_sum_type(struct flame *flame, const char *type, uint64_t value)
{
    for (size_t i = 0; i < flame->type_count; i++)
        if (strcmp(flame->types[i], type) == 0)
            flame->type_sums[i] = flame_add_up(flame->type_sums[i], value);
}

void flame_unit(const struct flame *flame, char *type, char *unit, size_t size)
{
    const char *first = strchr(flame->type, ':');
    const char *second = first ? strchr(first + 1, ':') : NULL;
    *type = *unit = '\0';
    if (!second)
        return;
    snprintf(type, size, "%.*s", (int)(second - first - 1), first + 1);
    snprintf(unit, size, "%.*s", (int)strcspn(second + 1, ":"), second + 1);
}
