/* Converters of times and durations. */
#include "lib/ottl/function.h"
#include "lib/ottl/zones.h"

#include <ctype.h>
#include <stdio.h>
#include <time.h>

#define SECOND       INT64_C(1000000000)
#define SECONDS_MOST 9223372036853LL /* their microseconds are an int64 */

static struct ottl_value duration_of(int64_t ns)
{
    return (struct ottl_value){.type = TYPE_DURATION, .integer = ns};
}

/* The first argument; of type when the run has failed. */
static struct ottl_value typed_arg(struct ottl_run *run, const struct ottl_node *call,
                                   enum ottl_type type)
{
    struct ottl_value value = ottl_arg(run, call, 0);
    if (!run->failed && value.type != type)
        ottl_fail(run, "%s takes %s, not %s", call->function->name, ottl_type_name(type),
                  ottl_type_name(value.type));
    return run->failed ? (struct ottl_value){.type = type} : value;
}

static int64_t arg_of(struct ottl_run *run, const struct ottl_node *call, enum ottl_type type)
{
    return typed_arg(run, call, type).integer;
}

static struct ottl_value now(struct ottl_run *run, const struct ottl_node *call)
{
    (void)call;
    return ottl_time_at((int64_t)clock_wall(run->clock), zone_local());
}

/* ---- parts of a time ---- */

int64_t ottl_time_in(struct ottl_run *run, const struct ottl_value *time, int64_t unit)
{
    const __int128 ns = ottl_nanos(time), units = ns / unit - (ns % unit < 0);
    if (units < INT64_MIN || units > INT64_MAX)
        ottl_fail(run, "the time is in the year %d, expected one from 1678 to 2261",
                  ottl_time_parts(time).tm_year + 1900);
    return (int64_t)units;
}

static struct ottl_value unix_of(struct ottl_run *run, const struct ottl_node *call, int64_t unit)
{
    struct ottl_value time = typed_arg(run, call, TYPE_TIME);
    int64_t units = run->failed ? 0 : ottl_time_in(run, &time, unit);
    return run->failed ? ottl_nil() : ottl_int(units);
}

static struct ottl_value unix_nano(struct ottl_run *run, const struct ottl_node *call)
{
    return unix_of(run, call, 1);
}

static struct ottl_value unix_micro(struct ottl_run *run, const struct ottl_node *call)
{
    return unix_of(run, call, 1000);
}

static struct ottl_value unix_milli(struct ottl_run *run, const struct ottl_node *call)
{
    return unix_of(run, call, 1000000);
}

static struct ottl_value unix_seconds(struct ottl_run *run, const struct ottl_node *call)
{
    return unix_of(run, call, SECOND);
}

static struct ottl_value unix_time(struct ottl_run *run, const struct ottl_node *call)
{
    int64_t seconds = ottl_arg_int(run, call, 0);
    int64_t ns = ottl_has(call, 1) ? ottl_arg_int(run, call, 1) : 0;
    if (seconds > SECONDS_MOST || seconds < -SECONDS_MOST)
        return ottl_fail(run, "Unix takes at most %lld seconds, 292000 years", SECONDS_MOST);
    return ottl_time_at((__int128)seconds * SECOND + ns, zone_local());
}

#define PART(name, expression)                                                                     \
    static struct ottl_value name(struct ottl_run *run, const struct ottl_node *call)              \
    {                                                                                              \
        struct ottl_value value = typed_arg(run, call, TYPE_TIME);                                 \
        struct tm parts = ottl_time_parts(&value);                                                 \
        return run->failed ? ottl_nil() : ottl_int(expression);                                    \
    }
PART(year, parts.tm_year + 1900)
PART(month, parts.tm_mon + 1)
PART(day, parts.tm_mday)
PART(hour, parts.tm_hour)
PART(minute, parts.tm_min)
PART(second, parts.tm_sec)
PART(weekday, parts.tm_wday)

static struct ottl_value nanosecond(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value time = typed_arg(run, call, TYPE_TIME);
    return run->failed ? ottl_nil() : ottl_int(time.nanos);
}

/* Down to a multiple of a duration since the year 1, as Go truncates times. */
static struct ottl_value truncate_time(struct ottl_run *run, const struct ottl_node *call)
{
    const __int128 year_1 = (__int128)INT64_C(-62135596800) * SECOND;
    struct ottl_value time = typed_arg(run, call, TYPE_TIME);
    struct ottl_value unit = ottl_arg(run, call, 1);
    if (!run->failed && unit.type != TYPE_DURATION)
        ottl_fail(run, "TruncateTime takes a duration, not %s", ottl_type_name(unit.type));
    if (run->failed || unit.integer <= 0)
        return run->failed ? ottl_nil() : time;
    const __int128 ns = ottl_nanos(&time), over = (ns - year_1) % unit.integer;
    return ottl_time_at(ns - over - (over < 0 ? unit.integer : 0), time.zone);
}

/* ---- durations ---- */

/* As Go's ParseDuration: signs, fractions and units in a row, "1h15m30.5s". */
static bool parse_duration(struct view text, int64_t *ns)
{
    static const struct {
        const char *name;
        double size;
    } units[] = {{"ns", 1},   {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3},
                 {"ms", 1e6}, {"s", 1e9},  {"m", 60e9},        {"h", 3600e9}};
    size_t at = 0;
    bool minus = text.size && *text.data == '-';
    long double sum = 0;
    at += text.size && (*text.data == '-' || *text.data == '+');
    if (view_eq((struct view){text.data + at, text.size - at}, VIEW("0"))) {
        *ns = 0;
        return true;
    }
    if (at == text.size)
        return false;
    while (at < text.size) {
        long double number = 0, part = 1;
        size_t digits = 0, i = 0;
        for (; at < text.size && isdigit(text.data[at]); at++, digits++)
            number = number * 10 + (text.data[at] - '0');
        if (at < text.size && text.data[at] == '.')
            for (at++; at < text.size && isdigit(text.data[at]); at++, digits++)
                number += (part /= 10) * (text.data[at] - '0');
        struct view rest = {text.data + at, text.size - at};
        size_t unit = 0;
        while (unit < rest.size && !isdigit(rest.data[unit]) && rest.data[unit] != '.')
            unit++;
        rest.size = unit;
        while (i < sizeof units / sizeof *units && !view_eq(rest, view_of(units[i].name)))
            i++;
        if (!digits || i == sizeof units / sizeof *units)
            return false;
        sum += number * units[i].size;
        at += unit;
    }
    bool fits = sum < 0x1p63L;
    *ns = fits ? (int64_t)(minus ? -sum : sum) : 0;
    return fits;
}

static struct ottl_value duration(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    int64_t ns;
    if (run->failed)
        return ottl_nil();
    return parse_duration(text, &ns) ? duration_of(ns)
                                     : ottl_fail(run, "Duration takes a string such as 1m30s");
}

static struct ottl_value in_unit(struct ottl_run *run, const struct ottl_node *call, double unit)
{
    int64_t ns = arg_of(run, call, TYPE_DURATION);
    return run->failed ? ottl_nil() : ottl_double((double)ns / unit);
}

static struct ottl_value hours(struct ottl_run *run, const struct ottl_node *call)
{
    return in_unit(run, call, 3600e9);
}

static struct ottl_value minutes(struct ottl_run *run, const struct ottl_node *call)
{
    return in_unit(run, call, 60e9);
}

static struct ottl_value seconds(struct ottl_run *run, const struct ottl_node *call)
{
    return in_unit(run, call, 1e9);
}

static struct ottl_value whole_unit(struct ottl_run *run, const struct ottl_node *call,
                                    int64_t unit)
{
    int64_t ns = arg_of(run, call, TYPE_DURATION);
    return run->failed ? ottl_nil() : ottl_int(ns / unit);
}

static struct ottl_value milliseconds(struct ottl_run *run, const struct ottl_node *call)
{
    return whole_unit(run, call, 1000000);
}

static struct ottl_value microseconds(struct ottl_run *run, const struct ottl_node *call)
{
    return whole_unit(run, call, 1000);
}

static struct ottl_value nanoseconds(struct ottl_run *run, const struct ottl_node *call)
{
    return whole_unit(run, call, 1);
}

void ottl_duration_text(int64_t ns, char text[64])
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    const char *sign = ns < 0 ? "-" : "", *unit = "s";
    uint64_t scale = (uint64_t)SECOND, seconds = size / scale;
    char fraction[24] = "";
    int digits = 9;
    if (size && size < scale) {
        scale = size < 1000 ? 1 : size < 1000000 ? 1000 : 1000000;
        digits = size < 1000 ? 0 : size < 1000000 ? 3 : 6;
        unit = size < 1000 ? "ns" : size < 1000000 ? "\xc2\xb5s" : "ms";
    }
    if (size % scale) {
        snprintf(fraction, sizeof fraction, ".%0*llu", digits, (unsigned long long)(size % scale));
        for (size_t end = strlen(fraction); fraction[end - 1] == '0'; end--)
            fraction[end - 1] = '\0';
    }
    if (seconds >= 3600)
        snprintf(text, 64, "%s%lluh%llum%llu%ss", sign, (unsigned long long)(seconds / 3600),
                 (unsigned long long)(seconds / 60 % 60), (unsigned long long)(seconds % 60),
                 fraction);
    else if (seconds >= 60)
        snprintf(text, 64, "%s%llum%llu%ss", sign, (unsigned long long)(seconds / 60),
                 (unsigned long long)(seconds % 60), fraction);
    else
        snprintf(text, 64, "%s%llu%s%s", sign, (unsigned long long)(size / scale), fraction, unit);
}

static const char *check_duration(const struct ottl_node *call)
{
    bool other = call->items[0]->kind == NODE_LITERAL && !ottl_is_text(call->items[0]);
    return other ? "expected a string such as \"1h30m\"" : NULL;
}

const struct ottl_function ottl_time_functions[] = {
    {"Now", "", now, FN_NO_PATTERN, false, 0, NULL},
    {"Unix", "seconds,nanoseconds?", unix_time, FN_NO_PATTERN, false, 0, NULL},
    {"UnixNano", "time", unix_nano, FN_NO_PATTERN, false, 0, NULL},
    {"UnixMicro", "time", unix_micro, FN_NO_PATTERN, false, 0, NULL},
    {"UnixMilli", "time", unix_milli, FN_NO_PATTERN, false, 0, NULL},
    {"UnixSeconds", "time", unix_seconds, FN_NO_PATTERN, false, 0, NULL},
    {"Year", "time", year, FN_NO_PATTERN, false, 0, NULL},
    {"Month", "time", month, FN_NO_PATTERN, false, 0, NULL},
    {"Day", "time", day, FN_NO_PATTERN, false, 0, NULL},
    {"Hour", "time", hour, FN_NO_PATTERN, false, 0, NULL},
    {"Minute", "time", minute, FN_NO_PATTERN, false, 0, NULL},
    {"Nanosecond", "time", nanosecond, FN_NO_PATTERN, false, 0, NULL},
    {"Second", "time", second, FN_NO_PATTERN, false, 0, NULL},
    {"TruncateTime", "time,duration", truncate_time, FN_NO_PATTERN, false, 0, NULL},
    {"Weekday", "time", weekday, FN_NO_PATTERN, false, 0, NULL},
    {"Duration", "duration", duration, FN_NO_PATTERN, false, 0, check_duration},
    {"Hours", "duration", hours, FN_NO_PATTERN, false, 0, NULL},
    {"Minutes", "duration", minutes, FN_NO_PATTERN, false, 0, NULL},
    {"Seconds", "duration", seconds, FN_NO_PATTERN, false, 0, NULL},
    {"Milliseconds", "duration", milliseconds, FN_NO_PATTERN, false, 0, NULL},
    {"Microseconds", "duration", microseconds, FN_NO_PATTERN, false, 0, NULL},
    {"Nanoseconds", "duration", nanoseconds, FN_NO_PATTERN, false, 0, NULL},
    {0},
};
