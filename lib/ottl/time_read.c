/* Time: reads times as Go's package time does with the corresponding layouts. */
#include "lib/ottl/function.h"
#include "lib/ottl/time_format.h"
#include "lib/ottl/zones.h"

#include <ctype.h>
#include <strings.h>
#include <time.h>

#define SECOND INT64_C(1000000000)

struct reading {
    struct view text; /* what is left */
    int year, month, day, hour, minute, second;
    int64_t fraction; /* nanoseconds */
    bool before_noon, afternoon;
    bool has_offset, is_utc;
    int32_t offset;        /* seconds east of UTC */
    struct view zone_name; /* data NULL: none */
};

static void take(struct view *text, size_t size)
{
    *text = (struct view){text->data + size, text->size - size};
}

static bool digit_at(struct view text, size_t i)
{
    return i < text.size && isdigit(text.data[i]);
}

/* A number of exactly this many digits. */
static bool fixed_digits(struct view text, size_t from, size_t count, int *number)
{
    *number = 0;
    for (size_t i = from; i < from + count; i++) {
        if (!digit_at(text, i))
            return false;
        *number = *number * 10 + (text.data[i] - '0');
    }
    return true;
}

static void skip_space(struct view *text)
{
    while (text->size && isspace(*text->data))
        take(text, 1);
}

/* One digit or two, after any space. */
static bool read_number(struct reading *reading, int low, int high, int *number)
{
    skip_space(&reading->text);
    size_t count = digit_at(reading->text, 0) && digit_at(reading->text, 1) ? 2 : 1;
    if (!fixed_digits(reading->text, 0, count, number) || *number < low || *number > high)
        return false;
    take(&reading->text, count);
    return true;
}

static bool read_year(struct reading *reading, size_t count)
{
    skip_space(&reading->text);
    if (!fixed_digits(reading->text, 0, count, &reading->year))
        return false;
    if (count == 2)
        reading->year += reading->year >= 69 ? 1900 : 2000;
    take(&reading->text, count);
    return true;
}

/* A name in full or by its first three letters, in any case. */
static bool read_name(struct reading *reading, const char *const *names, int count, bool full,
                      int *number)
{
    for (*number = 0; *number < count; ++*number) {
        size_t size = full ? strlen(names[*number]) : 3;
        if (reading->text.size >= size &&
            strncasecmp((const char *)reading->text.data, names[*number], size) == 0) {
            take(&reading->text, size);
            return true;
        }
    }
    return false;
}

/* The digits after a '.' or ',', if there are any. */
static void read_fraction(struct reading *reading)
{
    struct view *text = &reading->text;
    int64_t unit = SECOND;
    size_t i = 1;
    if (text->size < 2 || (*text->data != '.' && *text->data != ',') || !digit_at(*text, 1))
        return;
    for (reading->fraction = 0; digit_at(*text, i); i++)
        reading->fraction += (unit /= 10) * (text->data[i] - '0');
    take(text, i);
}

/* The fraction of a second is read with it, unless the format has a directive for it next. */
static bool read_second(struct reading *reading, struct view format)
{
    bool directive = false;
    char part = '\0', mark;
    if (!read_number(reading, 0, 59, &reading->second))
        return false;
    while (format.size && !directive)
        part = time_next_part(&format, &directive, &mark);
    if (!directive || !strchr("Lfs", part))
        read_fraction(reading);
    return true;
}

static bool read_half(struct reading *reading, const char *before, const char *after)
{
    reading->before_noon = view_starts(reading->text, view_of(before));
    reading->afternoon = view_starts(reading->text, view_of(after));
    if (!reading->before_noon && !reading->afternoon)
        return false;
    take(&reading->text, 2);
    return true;
}

/* An offset: +hh, +hhmm, +hh:mm, +hhmmss or +hh:mm:ss. */
static bool read_offset(struct reading *reading, int parts, bool colons, bool zulu)
{
    struct view text = reading->text;
    int numbers[3] = {0};
    size_t at = 1;
    if (zulu && text.size && *text.data == 'Z') {
        reading->is_utc = true;
        take(&reading->text, 1);
        return true;
    }
    if (!text.size || (*text.data != '+' && *text.data != '-'))
        return false;
    for (int i = 0; i < parts; i++, at += 2) {
        if (i && colons && (at >= text.size || text.data[at++] != ':'))
            return false;
        if (!fixed_digits(text, at, 2, &numbers[i]) || numbers[i] > (i ? 60 : 24))
            return false;
    }
    reading->offset = numbers[0] * 3600 + numbers[1] * 60 + numbers[2];
    reading->offset = *text.data == '-' ? -reading->offset : reading->offset;
    reading->has_offset = true;
    take(&reading->text, at);
    return true;
}

static bool read_any_offset(struct reading *reading)
{
    skip_space(&reading->text);
    return read_offset(reading, 2, false, true) || read_offset(reading, 2, true, true) ||
           read_offset(reading, 1, false, true);
}

/* Length of "+3" or "-11", up to 23 hours; 0: it is none. */
static size_t signed_hours(struct view text)
{
    size_t i = 1;
    int hours = 0;
    if (!text.size || (*text.data != '+' && *text.data != '-'))
        return 0;
    for (; digit_at(text, i) && i < 8; i++)
        hours = hours * 10 + (text.data[i] - '0');
    return i > 1 && hours <= 23 ? i : 0;
}

/* Length of an abbreviation that Go accepts; 0: there is none. */
static size_t abbreviation(struct view text)
{
    size_t upper = 0;
    if (text.size < 3)
        return 0;
    if (view_starts(text, VIEW("ChST")) || view_starts(text, VIEW("MeST")))
        return 4;
    if (view_starts(text, VIEW("GMT")))
        return 3 + signed_hours((struct view){text.data + 3, text.size - 3});
    if (*text.data == '+' || *text.data == '-')
        return signed_hours(text);
    while (upper < 6 && upper < text.size && isupper(text.data[upper]))
        upper++;
    bool ends = upper > 3 && text.data[upper - 1] == 'T';
    bool four = upper == 4 && (ends || view_starts(text, VIEW("WITA")));
    return upper == 3 || four || (upper == 5 && ends) ? upper : 0;
}

static bool read_zone_name(struct reading *reading)
{
    if (view_starts(reading->text, VIEW("UTC"))) {
        reading->is_utc = true;
        take(&reading->text, 3);
        return true;
    }
    reading->zone_name = (struct view){reading->text.data, abbreviation(reading->text)};
    take(&reading->text, reading->zone_name.size);
    return reading->zone_name.size > 0;
}

static bool read_zone(struct reading *reading, char part)
{
    switch (part) {
    case 'z':
        return read_any_offset(reading);
    case 'w':
        return read_offset(reading, 3, false, false);
    case 'i':
        return read_offset(reading, 1, false, false);
    case 'j':
        return read_offset(reading, 2, true, false);
    case 'k':
        return read_offset(reading, 3, true, false);
    default:
        return part == 'Z' && read_zone_name(reading);
    }
}

static bool read_character(struct reading *reading, char c)
{
    struct view *text = &reading->text;
    if (c == ' ') { /* as many as there are */
        if (text->size && *text->data != ' ')
            return false;
        while (text->size && *text->data == ' ')
            take(text, 1);
        return true;
    }
    if (!text->size || *text->data != (uint8_t)c)
        return false;
    take(text, 1);
    return true;
}

static bool read_part(struct reading *reading, char part, struct view format)
{
    int number;
    switch (part) {
    case 'Y':
        return read_year(reading, 4);
    case 'y':
        return read_year(reading, 2);
    case 'm':
    case 'o':
    case 'q':
        return read_number(reading, 1, 12, &reading->month);
    case 'b':
    case 'h':
    case 'B': {
        bool ok = read_name(reading, time_months, 12, part == 'B', &number);
        reading->month = number + 1;
        return ok;
    }
    case 'a':
    case 'A':
        return read_name(reading, time_days, 7, part == 'A', &number);
    case 'd':
    case 'e':
    case 'g':
        return read_number(reading, 1, 31, &reading->day);
    case 'H':
        return read_number(reading, 0, 23, &reading->hour);
    case 'I':
    case 'l':
        return read_number(reading, 0, 12, &reading->hour);
    case 'M':
        return read_number(reading, 0, 59, &reading->minute);
    case 'S':
        return read_second(reading, format);
    case 'p':
        return read_half(reading, "AM", "PM");
    case 'P':
        return read_half(reading, "am", "pm");
    case 'L':
    case 'f':
    case 's':
        read_fraction(reading);
        return true;
    case 'n':
        return read_character(reading, '\n');
    case 't':
        return read_character(reading, '\t');
    case '%':
        return read_character(reading, '%');
    default:
        return read_zone(reading, part);
    }
}

static bool read_time(struct reading *reading, struct view format)
{
    while (format.size) {
        bool directive;
        char mark, part = time_next_part(&format, &directive, &mark);
        const char *whole = directive ? time_whole_part(part) : NULL;
        struct reading before = *reading;
        bool ok = whole       ? read_time(reading, view_of(whole))
                  : directive ? read_part(reading, part, format)
                              : read_character(reading, part);
        if (!ok && whole && (part == 'D' || part == 'x')) {
            *reading = before;
            ok = read_time(reading, VIEW("%m/%d/%y"));
        }
        if (!ok)
            return false;
    }
    return true;
}

/* Seconds since the epoch, as if the clock were UTC; days beyond the month run into the next. */
static int64_t shown_seconds(const struct reading *reading, int year)
{
    struct tm parts = {.tm_year = year - 1900,
                       .tm_mon = reading->month - 1,
                       .tm_mday = reading->day,
                       .tm_hour = reading->hour,
                       .tm_min = reading->minute,
                       .tm_sec = reading->second};
    return (int64_t)timegm(&parts);
}

static bool day_exists(const struct reading *reading)
{
    int year = reading->year;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    int month = reading->month, last = month == 2 ? 28 + leap : 30 + (month + month / 8) % 2;
    return reading->day <= last;
}

static struct ottl_value zoned(int64_t seconds, int64_t fraction, const struct zone *zone)
{
    return ottl_time(seconds, (uint32_t)fraction, zone);
}

static const struct zone *fixed(struct ottl_run *run, struct view name, int32_t offset)
{
    void *memory = arena_alloc(ottl_arena(run), zone_fixed_size());
    if (!memory)
        ottl_fail(run, "out of memory");
    return memory ? zone_fixed(memory, name, offset) : NULL;
}

/* A name that the zone lacks is that of a zone file, such as EST, or has its offset: GMT+3. */
static struct ottl_value by_zone_name(struct ottl_run *run, const struct reading *reading,
                                      const struct zone *zone, int64_t shown)
{
    struct view name = reading->zone_name;
    int32_t offset = 0;
    if (zone_offset_of(zone, name, shown, &offset))
        return zoned(shown - offset, reading->fraction, zone);
    if (name.size > 3 && view_starts(name, VIEW("GMT"))) {
        for (size_t i = 4; i < name.size; i++)
            offset = offset * 10 + (name.data[i] - '0');
        offset *= name.data[3] == '-' ? -3600 : 3600;
    }
    if (offset) /* as Go: the offset is shown, but not subtracted */
        return zoned(shown, reading->fraction, fixed(run, name, offset));
    const struct zone *named = zone_find(name);
    if (!named)
        return ottl_fail(run, "Time: unknown time zone %.*s", VIEW_ARG(name));
    if (zone_offset_of(named, name, shown, &offset))
        return zoned(shown - offset, reading->fraction, named);
    return zoned(shown, reading->fraction, named);
}

static struct ottl_value by_offset(struct ottl_run *run, const struct reading *reading,
                                   const struct zone *zone, int64_t shown)
{
    int64_t instant = shown - reading->offset;
    struct view name = reading->zone_name.data ? reading->zone_name : VIEW("");
    struct zone_period period = zone_at(zone, instant);
    bool same =
        period.offset == reading->offset && (!name.size || view_eq(name, view_of(period.name)));
    if (same)
        return zoned(instant, reading->fraction, zone);
    return zoned(instant, reading->fraction,
                 reading->offset ? fixed(run, name, reading->offset) : NULL);
}

/* The year of a time without one: this year, or last year if that would be over a week ahead. */
static int likely_year(struct ottl_run *run, const struct reading *reading, const struct zone *zone)
{
    int64_t now = (int64_t)(clock_wall(run->clock) / (uint64_t)SECOND);
    time_t here = (time_t)(now + zone_at(zone, now).offset);
    struct tm parts;
    gmtime_r(&here, &parts);
    int year = parts.tm_year + 1900;
    int64_t instant = zone_instant(zone, shown_seconds(reading, year));
    return instant > now + INT64_C(7) * 86400 ? year - 1 : year;
}

static struct ottl_value time_of(struct ottl_run *run, struct reading *reading,
                                 const struct zone *zone)
{
    if (reading->afternoon && reading->hour < 12)
        reading->hour += 12;
    else if (reading->before_noon && reading->hour == 12)
        reading->hour = 0;
    if (!day_exists(reading))
        return ottl_fail(run, "Time: the month does not have this day");
    if (reading->year == 0)
        reading->year = likely_year(run, reading, reading->is_utc ? NULL : zone);
    int64_t shown = shown_seconds(reading, reading->year);
    if (reading->is_utc)
        return zoned(shown, reading->fraction, NULL);
    if (reading->has_offset)
        return by_offset(run, reading, zone, shown);
    if (reading->zone_name.data)
        return by_zone_name(run, reading, zone, shown);
    return zoned(zone_instant(zone, shown), reading->fraction, zone);
}

static const struct zone *location_of(const struct ottl_node *call)
{
    struct view format = call->items[1]->value.bytes;
    if (ottl_has(call, 2) && call->items[2]->value.bytes.size)
        return zone_find(call->items[2]->value.bytes);
    return format.size && format.data[format.size - 1] == 'Z' ? NULL : zone_local();
}

static struct ottl_value parse_time(struct ottl_run *run, const struct ottl_node *call)
{
    struct reading reading = {.text = ottl_arg_string(run, call, 0), .month = 1, .day = 1};
    if (run->failed)
        return ottl_nil();
    if (!reading.text.size)
        return ottl_fail(run, "Time: the string is empty");
    if (!read_time(&reading, call->items[1]->value.bytes) || reading.text.size)
        return ottl_fail(run, "Time: the string does not match the format");
    return time_of(run, &reading, location_of(call));
}

static const char *check_time(const struct ottl_node *call)
{
    const struct ottl_node *zone = ottl_has(call, 2) ? call->items[2] : NULL;
    const struct ottl_node *locale = ottl_has(call, 3) ? call->items[3] : NULL;
    if (zone && !ottl_is_text(zone))
        return "the location must be a string literal";
    if (zone && !zone_find(zone->value.bytes))
        return "unknown location, expected a name in /usr/share/zoneinfo such as Europe/Berlin";
    if (locale && (!ottl_is_text(locale) || (!view_eq(locale->value.bytes, VIEW("en")) &&
                                             !view_starts(locale->value.bytes, VIEW("en-")))))
        return "the only supported locale is en";
    return time_check_directives(call->items[1]);
}

const struct ottl_function ottl_time_reading_functions[] = {
    {"Time", "time,format,location?,locale?", parse_time, FN_NO_PATTERN, false, 0, check_time},
    {0},
};
