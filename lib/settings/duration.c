#include "lib/settings/duration.h"

#include "lib/base/clock.h"

#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t ns;
};

/* Longer names before their prefixes. */
static const struct unit units[] = {
    {"ns", 1},           {"us", 1000},    {"\xc2\xb5s", 1000}, /* micro sign */
    {"\xce\xbcs", 1000},                                       /* greek mu */
    {"ms", NS_PER_MS},   {"s", NS_PER_S}, {"m", 60 * NS_PER_S}, {"h", 3600 * NS_PER_S},
};

static const struct unit *unit_at(const char *text)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strncmp(text, units[i].name, strlen(units[i].name)) == 0)
            return &units[i];
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Parses a part like "12.5m" and moves text past it. */
static bool part_parse(const char **text, uint64_t *ns)
{
    const char *at = *text;
    uint64_t whole = 0;
    double fraction = 0, place = 0.1;
    bool digits = is_digit(*at);
    for (; is_digit(*at); at++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(*at - '0'), &whole))
            return false;
    if (*at == '.')
        for (at++; is_digit(*at); at++, place /= 10) {
            fraction += place * (*at - '0');
            digits = true;
        }
    const struct unit *unit = digits ? unit_at(at) : NULL;
    if (!unit || __builtin_mul_overflow(whole, unit->ns, ns))
        return false;
    uint64_t rest = (uint64_t)(fraction * (double)unit->ns + 0.5);
    *text = at + strlen(unit->name);
    return !__builtin_add_overflow(*ns, rest, ns);
}

bool duration_parse(const char *text, uint64_t *ns)
{
    if (*text == '+')
        text++;
    uint64_t sum = 0;
    if (strcmp(text, "0") == 0) {
        *ns = 0;
        return true;
    }
    do {
        uint64_t part;
        if (!part_parse(&text, &part) || __builtin_add_overflow(sum, part, &sum))
            return false;
    } while (*text);
    if (sum > INT64_MAX)
        return false;
    *ns = sum;
    return true;
}

const char *duration_text(uint64_t ns, char out[DURATION_TEXT])
{
    static const struct unit steps[] = {
        {"h", 3600 * NS_PER_S}, {"m", 60 * NS_PER_S}, {"s", NS_PER_S},
        {"ms", NS_PER_MS},      {"us", 1000},         {"ns", 1},
    };
    size_t at = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint64_t n = ns / steps[i].ns;
        if (n && at < DURATION_TEXT)
            at += (size_t)snprintf(out + at, DURATION_TEXT - at, "%llu%s", (unsigned long long)n,
                                   steps[i].name);
        ns %= steps[i].ns;
    }
    if (at == 0)
        snprintf(out, DURATION_TEXT, "0");
    return out;
}
