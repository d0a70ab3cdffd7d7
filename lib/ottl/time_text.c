/* FormatTime, and the directives that it has in common with Time. */
#include "lib/ottl/function.h"
#include "lib/ottl/time_format.h"
#include "lib/ottl/zones.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const char *const time_months[] = {"January",   "February", "March",    "April",
                                   "May",       "June",     "July",     "August",
                                   "September", "October",  "November", "December"};
const char *const time_days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                 "Thursday", "Friday", "Saturday"};

const char *time_whole_part(char part)
{
    switch (part) {
    case 'D':
    case 'x':
        return "%m/%d/%Y";
    case 'F':
        return "%Y-%m-%d";
    case 'T':
    case 'X':
        return "%H:%M:%S";
    case 'r':
        return "%I:%M:%S %P";
    case 'R':
        return "%H:%M";
    case 'c':
        return "%a %b %d %H:%M:%S %Y";
    default:
        return NULL;
    }
}

char time_next_part(struct view *format, bool *directive, char *mark)
{
    const char *at = (const char *)format->data;
    size_t size = 1;
    char part = *at;
    *mark = '\0';
    *directive = part == '%' && format->size > 1;
    if (*directive) {
        part = at[1];
        size = 2;
    } else if ((part == '.' || part == ',') && format->size > 2 && at[1] == '%' &&
               strchr("Lfs", at[2])) {
        *directive = true;
        *mark = part;
        part = at[2];
        size = 3;
    }
    *format = (struct view){format->data + size, format->size - size};
    return part;
}

const char *time_check_directives(const struct ottl_node *format)
{
    if (!ottl_is_text(format))
        return "the format must be a string literal";
    if (!format->value.bytes.size)
        return "the format must not be empty";
    struct view text = format->value.bytes;
    for (size_t i = 0; i < text.size; i++) {
        char c = (char)text.data[i], next = i + 1 < text.size ? (char)text.data[i + 1] : '\0';
        if (isdigit((unsigned char)c))
            return "the format must not have digits";
        if (c != '%' || !next)
            continue;
        if (!strchr("YymoqbhBdegaAHlIpPMSLfsZzwijkDxFTXrRnt%c", next))
            return "unsupported directive in the format, expected %Y %y %m %o %q %b %h %B %d %e "
                   "%g %a %A %H %I %l %p %P %M %S %L %f %s %Z %z %w %i %j %k %D %x %F %T %X %r %R "
                   "%c %n %t";
        if (strchr("Lfs", next) && (i == 0 || (text.data[i - 1] != '.' && text.data[i - 1] != ',')))
            return "%L, %f and %s must follow a . or ,";
        i++;
    }
    return NULL;
}

/* ---- writing ---- */

struct shown {
    struct tm parts;
    int64_t fraction;
    struct zone_period period;
};

static struct shown shown_of(const struct ottl_value *value)
{
    struct shown shown = {.fraction = value->nanos, .period = zone_at(value->zone, value->integer)};
    time_t seconds = (time_t)(value->integer + shown.period.offset);
    gmtime_r(&seconds, &shown.parts);
    return shown;
}

struct tm ottl_time_parts(const struct ottl_value *value)
{
    return shown_of(value).parts;
}

/* Z: Z in place of +0000. */
static bool write_offset(struct bytes *out, int32_t offset, int parts, bool colons, bool zulu)
{
    char sign = offset < 0 ? '-' : '+';
    const char *between = colons ? ":" : "";
    int size = offset < 0 ? -offset : offset;
    if (zulu && offset == 0)
        return bytes_append(out, "Z", 1) == BYTES_OK;
    bool ok = bytes_printf(out, "%c%02d", sign, size / 3600) == BYTES_OK;
    if (parts > 1)
        ok = ok && bytes_printf(out, "%s%02d", between, size / 60 % 60) == BYTES_OK;
    if (parts > 2)
        ok = ok && bytes_printf(out, "%s%02d", between, size % 60) == BYTES_OK;
    return ok;
}

static bool write_zone(struct bytes *out, char part, const struct zone_period *period)
{
    switch (part) {
    case 'z':
        return write_offset(out, period->offset, 2, false, true);
    case 'w':
        return write_offset(out, period->offset, 3, false, false);
    case 'i':
        return write_offset(out, period->offset, 1, false, false);
    case 'j':
        return write_offset(out, period->offset, 2, true, false);
    case 'k':
        return write_offset(out, period->offset, 3, true, false);
    case ':': /* this and the next are for ottl_time_text alone */
        return write_offset(out, period->offset, 2, true, true);
    case '~':
        return write_offset(out, period->offset, 2, false, false);
    default:
        if (*period->name)
            return bytes_printf(out, "%s", period->name) == BYTES_OK;
        return write_offset(out, period->offset, 2, false, false);
    }
}

/* Digits of a fraction, cut to this many and without zeros at the end; none: nothing. */
static bool write_fraction(struct bytes *out, char mark, int64_t fraction, size_t most)
{
    char text[16];
    snprintf(text, sizeof text, "%09lld", (long long)fraction);
    while (most && text[most - 1] == '0')
        most--;
    return !most || bytes_printf(out, "%c%.*s", mark, (int)most, text) == BYTES_OK;
}

static bool write_name(struct bytes *out, const char *name, bool full)
{
    return bytes_printf(out, full ? "%s" : "%.3s", name) == BYTES_OK;
}

/* The printf format of a number, or NULL. */
static const char *number_of(char part, const struct tm *tm, int *number)
{
    int half = tm->tm_hour % 12 ? tm->tm_hour % 12 : 12;
    int year = tm->tm_year + 1900;
    *number = part == 'Y'           ? year
              : part == 'y'         ? abs(year) % 100
              : strchr("moq", part) ? tm->tm_mon + 1
              : strchr("deg", part) ? tm->tm_mday
              : part == 'H'         ? tm->tm_hour
              : strchr("Il", part)  ? half
              : part == 'M'         ? tm->tm_min
                                    : tm->tm_sec;
    if (part == 'Y')
        return year < 0 ? "%05d" : "%04d";
    return part == 'o' ? "_%d" : part == 'e' ? "%2d" : "%02d";
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static bool write_number(struct bytes *out, char part, const struct tm *tm)
{
    int number;
    const char *form = number_of(part, tm, &number);
    return bytes_printf(out, strchr("qgl", part) ? "%d" : form, number) == BYTES_OK;
}
#pragma GCC diagnostic pop

static bool write_part(struct bytes *out, char part, char mark, const struct shown *shown)
{
    const struct tm *tm = &shown->parts;
    bool morning = tm->tm_hour < 12;
    switch (part) {
    case 'b':
    case 'h':
    case 'B':
        return write_name(out, time_months[tm->tm_mon], part == 'B');
    case 'a':
    case 'A':
        return write_name(out, time_days[tm->tm_wday], part == 'A');
    case 'p':
        return write_name(out, morning ? "AM" : "PM", true);
    case 'P':
        return write_name(out, morning ? "am" : "pm", true);
    case 'L':
        return write_fraction(out, mark, shown->fraction, 3);
    case 'f':
        return write_fraction(out, mark, shown->fraction, 6);
    case 's':
        return write_fraction(out, mark, shown->fraction, 9);
    case 'n':
        return write_name(out, "\n", true);
    case 't':
        return write_name(out, "\t", true);
    case '%':
        return write_name(out, "%", true);
    case 'z':
    case 'w':
    case 'i':
    case 'j':
    case 'k':
    case ':':
    case '~':
    case 'Z':
        return write_zone(out, part, &shown->period);
    default:
        return write_number(out, part, tm);
    }
}

static bool write_time(struct bytes *out, struct view format, const struct shown *shown)
{
    bool ok = true;
    while (ok && format.size) {
        bool directive;
        char mark, part = time_next_part(&format, &directive, &mark);
        const char *whole = directive ? time_whole_part(part) : NULL;
        ok = whole       ? write_time(out, view_of(whole), shown)
             : directive ? write_part(out, part, mark, shown)
                         : bytes_append(out, &part, 1) == BYTES_OK;
    }
    return ok;
}

struct view ottl_time_text(struct ottl_run *run, const struct ottl_value *value, struct view format)
{
    struct shown shown = shown_of(value);
    struct view text = {0};
    struct bytes out;
    bytes_init(&out, 65536, NULL);
    if (write_time(&out, format, &shown))
        text = ottl_keep(run, bytes_view(&out));
    else
        ottl_fail(run, "string too long");
    bytes_release(&out);
    return text;
}

static struct ottl_value format_time(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = ottl_arg(run, call, 0);
    if (!run->failed && value.type != TYPE_TIME)
        ottl_fail(run, "FormatTime takes a time, not %s", ottl_type_name(value.type));
    if (run->failed)
        return ottl_nil();
    return ottl_string(ottl_time_text(run, &value, call->items[1]->value.bytes));
}

static const char *check_format(const struct ottl_node *call)
{
    return time_check_directives(call->items[1]);
}

const struct ottl_function ottl_time_text_functions[] = {
    {"FormatTime", "time,format", format_time, FN_NO_PATTERN, false, 0, check_format},
    {0},
};
