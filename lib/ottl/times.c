/* Converters of times and durations. */
#include "lib/ottl/function.h"

#include <ctype.h>
#include <stdio.h>
#include <time.h>

#define SECOND INT64_C(1000000000)

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};

static struct ottl_value time_of(int64_t ns)
{
    return (struct ottl_value){.type = TYPE_TIME, .integer = ns};
}

static struct ottl_value duration_of(int64_t ns)
{
    return (struct ottl_value){.type = TYPE_DURATION, .integer = ns};
}

static int64_t arg_of(struct ottl_run *run, const struct ottl_node *call, enum ottl_type type)
{
    struct ottl_value value = ottl_arg(run, call, 0);
    if (!run->failed && value.type != type)
        ottl_fail(run, "%s takes %s, not %s", call->function->name, ottl_type_name(type),
                  ottl_type_name(value.type));
    return run->failed ? 0 : value.integer;
}

static struct ottl_value now(struct ottl_run *run, const struct ottl_node *call)
{
    (void)call;
    return time_of((int64_t)clock_wall(run->clock));
}

/* ---- parts of a time ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static struct ottl_value unix_of(struct ottl_run *run, const struct ottl_node *call, int64_t unit)
{
    int64_t ns = arg_of(run, call, TYPE_TIME);
    return run->failed ? ottl_nil() : ottl_int(floor_div(ns, unit));
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
    return time_of((int64_t)((uint64_t)seconds * (uint64_t)SECOND + (uint64_t)ns));
}

static struct tm parts_of(int64_t ns)
{
    struct tm parts = {0};
    time_t seconds = (time_t)floor_div(ns, SECOND);
    gmtime_r(&seconds, &parts);
    return parts;
}

#define PART(name, expression)                                                                     \
    static struct ottl_value name(struct ottl_run *run, const struct ottl_node *call)              \
    {                                                                                              \
        int64_t ns = arg_of(run, call, TYPE_TIME);                                                 \
        struct tm parts = parts_of(ns);                                                            \
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
    int64_t ns = arg_of(run, call, TYPE_TIME);
    return run->failed ? ottl_nil() : ottl_int(ns - floor_div(ns, SECOND) * SECOND);
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
    *ns = (int64_t)(minus ? -sum : sum);
    return sum < 9.2e18L;
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

/* ---- times as texts ---- */

struct reading {
    struct view text;
    size_t at;
    struct tm parts;
    int64_t fraction; /* nanoseconds */
    int64_t offset;   /* seconds east of UTC */
    bool afternoon, twelve;
};

static bool read_digits(struct reading *reading, size_t least, size_t most, int64_t *number,
                        size_t *count)
{
    size_t n = 0;
    *number = 0;
    for (; n < most && reading->at < reading->text.size && isdigit(reading->text.data[reading->at]);
         n++)
        *number = *number * 10 + (reading->text.data[reading->at++] - '0');
    if (count)
        *count = n;
    return n >= least;
}

static bool read_number(struct reading *reading, size_t size, int low, int high, int *out)
{
    int64_t number;
    bool ok = read_digits(reading, size, size, &number, NULL) && number >= low && number <= high;
    *out = (int)number;
    return ok;
}

/* A name in full or by its first three letters. */
static bool read_name(struct reading *reading, const char *const *names, int count, bool full,
                      int *out)
{
    for (int i = 0; i < count; i++) {
        struct view name = view_of(names[i]);
        struct view rest = {reading->text.data + reading->at, reading->text.size - reading->at};
        if (!full)
            name.size = 3;
        if (!view_starts(rest, name))
            continue;
        reading->at += name.size;
        *out = i;
        return true;
    }
    return false;
}

static bool read_fraction(struct reading *reading, size_t most)
{
    size_t count;
    if (!read_digits(reading, 1, most, &reading->fraction, &count))
        return false;
    for (; count < 9; count++)
        reading->fraction *= 10;
    return true;
}

/* Z, +hh:mm or +hhmm */
static bool read_zone(struct reading *reading)
{
    int hour, minute;
    if (reading->at >= reading->text.size)
        return false;
    uint8_t sign = reading->text.data[reading->at++];
    if (sign == 'Z')
        return true;
    if ((sign != '+' && sign != '-') || !read_number(reading, 2, 0, 23, &hour))
        return false;
    reading->at += reading->at < reading->text.size && reading->text.data[reading->at] == ':';
    if (!read_number(reading, 2, 0, 59, &minute))
        return false;
    reading->offset = (sign == '-' ? -1 : 1) * (hour * 3600 + minute * 60);
    return true;
}

static bool read_part(struct reading *reading, char part)
{
    struct tm *tm = &reading->parts;
    int number;
    switch (part) {
    case 'Y':
        if (!read_number(reading, 4, 0, 9999, &number))
            return false;
        tm->tm_year = number - 1900;
        return true;
    case 'y':
        if (!read_number(reading, 2, 0, 99, &number))
            return false;
        tm->tm_year = number < 69 ? number + 100 : number;
        return true;
    case 'm':
        if (!read_number(reading, 2, 1, 12, &number))
            return false;
        tm->tm_mon = number - 1;
        return true;
    case 'd':
        return read_number(reading, 2, 1, 31, &tm->tm_mday);
    case 'H':
        return read_number(reading, 2, 0, 23, &tm->tm_hour);
    case 'I':
        reading->twelve = true;
        return read_number(reading, 2, 1, 12, &tm->tm_hour);
    case 'M':
        return read_number(reading, 2, 0, 59, &tm->tm_min);
    case 'S':
        return read_number(reading, 2, 0, 59, &tm->tm_sec);
    case 'p':
        reading->at += 2;
        reading->afternoon =
            reading->at <= reading->text.size && reading->text.data[reading->at - 2] == 'P';
        return reading->at <= reading->text.size;
    case 'b':
    case 'B':
        return read_name(reading, months, 12, part == 'B', &tm->tm_mon);
    case 'a':
    case 'A':
        return read_name(reading, days, 7, part == 'A', &number);
    case 'f':
        return read_fraction(reading, 9);
    case 'L':
        return read_fraction(reading, 3);
    case 'z':
    case 'j':
        return part == 'z' && read_zone(reading);
    default:
        return false;
    }
}

static const char *whole_part(char part)
{
    return part == 'F'   ? "%Y-%m-%d"
           : part == 'T' ? "%H:%M:%S"
           : part == 'D' ? "%m/%d/%y"
           : part == 'R' ? "%H:%M"
                         : NULL;
}

static bool read_time(struct reading *reading, struct view format)
{
    for (size_t i = 0; i < format.size; i++) {
        bool part = format.data[i] == '%' && i + 1 < format.size;
        char c = (char)format.data[part ? ++i : i];
        const char *whole = part ? whole_part(c) : NULL;
        if (whole              ? !read_time(reading, view_of(whole))
            : part && c != '%' ? !read_part(reading, c)
                               : reading->at >= reading->text.size ||
                                     reading->text.data[reading->at++] != (uint8_t)c)
            return false;
    }
    return true;
}

static struct ottl_value parse_time(struct ottl_run *run, const struct ottl_node *call)
{
    struct reading reading = {.text = ottl_arg_string(run, call, 0)};
    reading.parts.tm_mday = 1;
    if (run->failed)
        return ottl_nil();
    if (!read_time(&reading, call->items[1]->value.bytes) || reading.at != reading.text.size)
        return ottl_fail(run, "Time: the string does not match the format");
    if (reading.twelve)
        reading.parts.tm_hour = reading.parts.tm_hour % 12 + (reading.afternoon ? 12 : 0);
    int64_t whole = (int64_t)timegm(&reading.parts) - reading.offset;
    return time_of((int64_t)((uint64_t)whole * (uint64_t)SECOND + (uint64_t)reading.fraction));
}

/* The letters behind % that are there. */
static const char *check_letters(const struct ottl_node *format, const char *letters)
{
    if (format->kind != NODE_LITERAL || format->value.type != TYPE_STRING)
        return "the format must be a string literal";
    struct view text = format->value.bytes;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '%' && (++i >= text.size || !strchr(letters, text.data[i])))
            return "unsupported conversion in the format, expected %Y %y %m %d %H %I %M %S %p "
                   "%b %B %a %A %f %L %z %F %T %D %R";
    return NULL;
}

static const char *check_time(const struct ottl_node *call)
{
    const struct ottl_node *zone = ottl_has(call, 2) ? call->items[2] : NULL;
    if (zone && !(zone->kind == NODE_LITERAL && zone->value.type == TYPE_STRING &&
                  (!zone->value.bytes.size || view_eq(zone->value.bytes, VIEW("UTC")))))
        return "the only supported location is UTC";
    return check_letters(call->items[1], "YymdHIMSpbBaAfLzFTDR%");
}

static bool write_part(struct bytes *out, char part, const struct tm *tm, int64_t fraction)
{
    int hour = tm->tm_hour % 12 ? tm->tm_hour % 12 : 12;
    switch (part) {
    case 'Y':
        return bytes_printf(out, "%04d", tm->tm_year + 1900) == BYTES_OK;
    case 'y':
        return bytes_printf(out, "%02d", tm->tm_year % 100) == BYTES_OK;
    case 'm':
        return bytes_printf(out, "%02d", tm->tm_mon + 1) == BYTES_OK;
    case 'd':
        return bytes_printf(out, "%02d", tm->tm_mday) == BYTES_OK;
    case 'H':
        return bytes_printf(out, "%02d", tm->tm_hour) == BYTES_OK;
    case 'I':
        return bytes_printf(out, "%02d", hour) == BYTES_OK;
    case 'M':
        return bytes_printf(out, "%02d", tm->tm_min) == BYTES_OK;
    case 'S':
        return bytes_printf(out, "%02d", tm->tm_sec) == BYTES_OK;
    case 'p':
        return bytes_printf(out, "%s", tm->tm_hour < 12 ? "AM" : "PM") == BYTES_OK;
    case 'b':
    case 'B':
        return bytes_printf(out, part == 'b' ? "%.3s" : "%s", months[tm->tm_mon]) == BYTES_OK;
    case 'a':
    case 'A':
        return bytes_printf(out, part == 'a' ? "%.3s" : "%s", days[tm->tm_wday]) == BYTES_OK;
    case 'f':
        return bytes_printf(out, "%06lld", (long long)(fraction / 1000)) == BYTES_OK;
    case 'L':
        return bytes_printf(out, "%03lld", (long long)(fraction / 1000000)) == BYTES_OK;
    case 'z':
        return bytes_printf(out, "+0000") == BYTES_OK;
    default:
        return bytes_printf(out, "%%") == BYTES_OK;
    }
}

static bool write_time(struct bytes *out, struct view format, const struct tm *tm, int64_t fraction)
{
    bool ok = true;
    for (size_t i = 0; ok && i < format.size; i++) {
        bool part = format.data[i] == '%' && i + 1 < format.size;
        char c = (char)format.data[part ? ++i : i];
        const char *whole = part ? whole_part(c) : NULL;
        if (whole)
            ok = write_time(out, view_of(whole), tm, fraction);
        else
            ok = part ? write_part(out, c, tm, fraction) : bytes_append(out, &c, 1) == BYTES_OK;
    }
    return ok;
}

static struct ottl_value format_time(struct ottl_run *run, const struct ottl_node *call)
{
    int64_t ns = arg_of(run, call, TYPE_TIME);
    struct tm parts = parts_of(ns);
    struct bytes out;
    struct ottl_value made = ottl_nil();
    if (run->failed)
        return made;
    bytes_init(&out, 65536, NULL);
    if (write_time(&out, call->items[1]->value.bytes, &parts, ns - floor_div(ns, SECOND) * SECOND))
        made = ottl_string(ottl_keep(run, bytes_view(&out)));
    else
        ottl_fail(run, "string too long");
    bytes_release(&out);
    return made;
}

static const char *check_format(const struct ottl_node *call)
{
    return check_letters(call->items[1], "YymdHIMSpbBaAfLzFTDR%");
}

const struct ottl_function ottl_time_functions[] = {
    {"Now", "", now, FN_NO_PATTERN, false, 0, NULL},
    {"Time", "time,format,location?", parse_time, FN_NO_PATTERN, false, 0, check_time},
    {"FormatTime", "time,format", format_time, FN_NO_PATTERN, false, 0, check_format},
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
    {"Weekday", "time", weekday, FN_NO_PATTERN, false, 0, NULL},
    {"Duration", "duration", duration, FN_NO_PATTERN, false, 0, NULL},
    {"Hours", "duration", hours, FN_NO_PATTERN, false, 0, NULL},
    {"Minutes", "duration", minutes, FN_NO_PATTERN, false, 0, NULL},
    {"Seconds", "duration", seconds, FN_NO_PATTERN, false, 0, NULL},
    {"Milliseconds", "duration", milliseconds, FN_NO_PATTERN, false, 0, NULL},
    {"Microseconds", "duration", microseconds, FN_NO_PATTERN, false, 0, NULL},
    {"Nanoseconds", "duration", nanoseconds, FN_NO_PATTERN, false, 0, NULL},
    {0},
};
