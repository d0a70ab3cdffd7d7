/* TZif files: RFC 9636. */
#include "lib/ottl/zones.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MOST = 1 << 20, KINDS_MOST = 256, HEADER = 44, DAY = 86400 };

struct kind {
    int32_t offset;
    bool dst;
    char name[ZONE_NAME_SIZE];
};

/* When a rule of the footer changes to the other time, in its year. */
struct change {
    char form;            /* M: month, week, day; J: day 1..365 without Feb 29; 0: day 0..365 */
    int month, week, day; /* J, 0: day alone */
    int32_t time;         /* seconds after midnight */
};

struct zone {
    struct zone *next;
    char *path;
    size_t count, kind_count;
    int64_t *when;
    uint8_t *kind_of; /* from each `when` on */
    struct kind *kinds;
    struct kind first; /* before all of them */
    bool ruled;        /* the footer says what follows the last one */
    struct kind standard, summer;
    bool has_summer;
    struct change to_summer, to_standard;
};

/* ---- the footer: POSIX TZ, RFC 9636 section 3.3 ---- */

static bool rule_number(const char **at, int *number)
{
    if (!isdigit((unsigned char)**at))
        return false;
    for (*number = 0; isdigit((unsigned char)**at) && *number < 100000; ++*at)
        *number = *number * 10 + (**at - '0');
    return true;
}

static bool rule_name(const char **at, char name[ZONE_NAME_SIZE])
{
    bool quoted = **at == '<';
    size_t size = 0;
    *at += quoted;
    while (**at && (quoted ? **at != '>' : isalpha((unsigned char)**at) != 0)) {
        if (size + 1 >= ZONE_NAME_SIZE)
            return false;
        name[size++] = *(*at)++;
    }
    name[size] = '\0';
    *at += quoted && **at == '>';
    return size > 0;
}

/* [+-]hh[:mm[:ss]] */
static bool rule_time(const char **at, int32_t *seconds)
{
    int sign = **at == '-' ? -1 : 1, part, unit = 3600;
    *at += **at == '-' || **at == '+';
    if (!rule_number(at, &part) || part > 167)
        return false;
    *seconds = part * 3600;
    while (**at == ':' && unit > 1) {
        ++*at;
        if (!rule_number(at, &part) || part > 59)
            return false;
        *seconds += part * (unit /= 60);
    }
    *seconds *= sign;
    return true;
}

static bool rule_change(const char **at, struct change *change)
{
    *change = (struct change){.time = 7200};
    if (*(*at)++ != ',')
        return false;
    if (**at == 'M') {
        change->form = *(*at)++;
        if (!rule_number(at, &change->month) || *(*at)++ != '.' ||
            !rule_number(at, &change->week) || *(*at)++ != '.' || !rule_number(at, &change->day) ||
            change->month < 1 || change->month > 12 || change->week < 1 || change->week > 5 ||
            change->day > 6)
            return false;
    } else {
        if (**at == 'J')
            change->form = *(*at)++;
        if (!rule_number(at, &change->day) || change->day > 365)
            return false;
    }
    if (**at != '/')
        return true;
    ++*at;
    return rule_time(at, &change->time);
}

static bool read_rule(struct zone *zone, const char *at)
{
    if (!rule_name(&at, zone->standard.name) || !rule_time(&at, &zone->standard.offset))
        return false;
    zone->standard.offset = -zone->standard.offset;
    if (!*at)
        return true;
    zone->has_summer = zone->summer.dst = true;
    if (!rule_name(&at, zone->summer.name))
        return false;
    zone->summer.offset = zone->standard.offset + 3600;
    if (*at != ',') {
        if (!rule_time(&at, &zone->summer.offset))
            return false;
        zone->summer.offset = -zone->summer.offset;
    }
    return rule_change(&at, &zone->to_summer) && rule_change(&at, &zone->to_standard) && !*at;
}

static int64_t days_before_year(int64_t year)
{
    int64_t past = year - 1;
    return past * 365 + past / 4 - past / 100 + past / 400 - 719162; /* since 1970 */
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Seconds after the year's first midnight, on the clock before the change. */
static int64_t change_in(const struct change *change, int64_t year)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    bool leap = is_leap(year);
    int64_t day = change->day;
    if (change->form == 'J') {
        day += (leap && day >= 60) - 1;
    } else if (change->form == 'M') {
        int month = change->month;
        int64_t start = before[month - 1] + (leap && month > 2);
        int64_t end = before[month] + (leap && month > 1);
        int64_t weekday = (days_before_year(year) + start + 4) % 7; /* 1970 began on a Thursday */
        day = start + (change->day - weekday + 7) % 7 + (change->week - 1) * INT64_C(7);
        if (day >= end)
            day -= 7;
    }
    return day * DAY + change->time;
}

static struct zone_period period_of(const struct kind *kind, int64_t start, int64_t end)
{
    struct zone_period period = {.offset = kind->offset, .start = start, .end = end};
    memcpy(period.name, kind->name, ZONE_NAME_SIZE);
    return period;
}

static struct zone_period ruled_at(const struct zone *zone, int64_t last, int64_t seconds)
{
    int64_t start = last, end = INT64_MAX;
    const struct kind *kind = &zone->standard;
    if (!zone->has_summer)
        return period_of(kind, start, end);
    const int64_t cycle = INT64_C(146097) * DAY; /* 400 years, after which the calendar repeats */
    const int64_t shift = (seconds / cycle - (seconds % cycle < 0)) * cycle;
    int64_t days = (seconds - shift + zone->standard.offset) / DAY, year = 1970 + days / 366;
    while (days_before_year(year + 1) <= days)
        year++;
    for (int64_t each = year - 1; each <= year + 1; each++) {
        int64_t zero = shift + days_before_year(each) * DAY;
        int64_t summer = zero + change_in(&zone->to_summer, each) - zone->standard.offset;
        int64_t winter = zero + change_in(&zone->to_standard, each) - zone->summer.offset;
        for (int i = 0; i < 2; i++) {
            bool first = (i == 0) == (summer < winter);
            int64_t at = first ? summer : winter;
            if (at <= seconds) {
                kind = first ? &zone->summer : &zone->standard;
                start = at > last ? at : last;
            } else if (at < end) {
                end = at;
            }
        }
    }
    return period_of(kind, start, end);
}

/* ---- the file ---- */

static uint64_t big_endian(const uint8_t *at, int size)
{
    uint64_t number = 0;
    for (int i = 0; i < size; i++)
        number = number << 8 | at[i];
    return number;
}

struct counts {
    uint64_t utc, standard, leap, times, types, characters;
};

/* Reads a header. False: it is invalid, or the block after it is truncated. */
static bool read_header(struct view file, int time_size, struct counts *counts, size_t *size)
{
    if (file.size < HEADER || memcmp(file.data, "TZif", 4) != 0)
        return false;
    uint64_t *numbers[] = {&counts->utc,   &counts->standard, &counts->leap,
                           &counts->times, &counts->types,    &counts->characters};
    for (int i = 0; i < 6; i++)
        if ((*numbers[i] = big_endian(file.data + 20 + i * 4, 4)) > FILE_MOST)
            return false;
    *size = HEADER + counts->times * (unsigned)(time_size + 1) + counts->types * 6 +
            counts->characters + counts->leap * (unsigned)(time_size + 4) + counts->standard +
            counts->utc;
    return *size <= file.size && counts->types >= 1 && counts->types <= KINDS_MOST;
}

static bool read_kinds(struct zone *zone, const uint8_t *at, const struct counts *counts)
{
    const char *names = (const char *)at + counts->types * 6;
    for (size_t i = 0; i < counts->types; i++, at += 6) {
        struct kind *kind = &zone->kinds[i];
        size_t name = at[5];
        if (name >= counts->characters)
            return false;
        kind->offset = (int32_t)big_endian(at, 4);
        kind->dst = at[4];
        snprintf(kind->name, ZONE_NAME_SIZE, "%.*s",
                 (int)strnlen(names + name, counts->characters - name), names + name);
    }
    return true;
}

static bool read_block(struct zone *zone, const uint8_t *block, const struct counts *counts,
                       int time_size)
{
    const uint8_t *at = block + HEADER;
    zone->count = counts->times;
    zone->kind_count = counts->types;
    zone->when = malloc((zone->count + 1) * sizeof *zone->when);
    zone->kind_of = malloc(zone->count + 1);
    zone->kinds = calloc(zone->kind_count, sizeof *zone->kinds);
    if (!zone->when || !zone->kind_of || !zone->kinds)
        return false;
    for (size_t i = 0; i < zone->count; i++, at += time_size)
        zone->when[i] = time_size == 8 ? (int64_t)big_endian(at, 8) : (int32_t)big_endian(at, 4);
    for (size_t i = 0; i < zone->count; i++)
        if ((zone->kind_of[i] = *at++) >= zone->kind_count)
            return false;
    if (!read_kinds(zone, at, counts))
        return false;
    zone->first = zone->kinds[0];
    for (size_t i = 0; zone->first.dst && i < zone->kind_count; i++)
        if (!zone->kinds[i].dst)
            zone->first = zone->kinds[i];
    return true;
}

static bool read_file(struct zone *zone, struct view file)
{
    struct counts counts;
    size_t size;
    if (!read_header(file, 4, &counts, &size))
        return false;
    if (file.data[4] < '2') /* version 1: no 64-bit block, no footer */
        return read_block(zone, file.data, &counts, 4);
    file = (struct view){file.data + size, file.size - size};
    if (!read_header(file, 8, &counts, &size) || !read_block(zone, file.data, &counts, 8))
        return false;
    struct view footer = {file.data + size, file.size - size};
    char rule[64];
    if (footer.size < 3 || footer.data[0] != '\n' || footer.size >= sizeof rule)
        return true;
    snprintf(rule, sizeof rule, "%.*s", (int)footer.size - 1, (const char *)footer.data + 1);
    rule[strcspn(rule, "\n")] = '\0';
    zone->ruled = read_rule(zone, rule);
    return true;
}

static void zone_free(struct zone *zone)
{
    free(zone->path);
    free(zone->when);
    free(zone->kind_of);
    free(zone->kinds);
    free(zone);
}

static struct zone *zone_load(const char *path)
{
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct zone *zone = NULL;
    uint8_t *text = NULL;
    if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size <= FILE_MOST &&
        (text = malloc((size_t)stat.st_size + 1)) && (zone = calloc(1, sizeof *zone))) {
        ssize_t size = read(fd, text, (size_t)stat.st_size);
        zone->path = strdup(path);
        if (size < 0 || !zone->path || !read_file(zone, (struct view){text, (size_t)size})) {
            zone_free(zone);
            zone = NULL;
        }
    }
    free(text);
    if (fd >= 0)
        close(fd);
    return zone;
}

/* ---- zones that were read ---- */

static pthread_mutex_t zones_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct zone *) zones;
static const struct zone utc = {.first = {.name = "UTC"}};

static const struct zone *known(const char *path)
{
    const struct zone *zone = atomic_load_explicit(&zones, memory_order_acquire);
    while (zone && strcmp(zone->path, path) != 0)
        zone = zone->next;
    return zone;
}

static const struct zone *zone_of_file(const char *path)
{
    const struct zone *zone = known(path);
    if (zone)
        return zone;
    pthread_mutex_lock(&zones_lock);
    if (!(zone = known(path))) {
        struct zone *made = zone_load(path);
        if (made) {
            made->next = atomic_load_explicit(&zones, memory_order_relaxed);
            atomic_store_explicit(&zones, made, memory_order_release);
        }
        zone = made;
    }
    pthread_mutex_unlock(&zones_lock);
    return zone;
}

const struct zone *zone_find(struct view name)
{
    char path[PATH_MAX];
    if (!name.size || view_eq(name, VIEW("UTC")))
        return &utc;
    if (view_eq(name, VIEW("Local")))
        return zone_local();
    if (name.size > 200 || memchr(name.data, '\0', name.size) ||
        memchr(name.data, '\\', name.size) || *name.data == '/')
        return NULL;
    snprintf(path, sizeof path, "/usr/share/zoneinfo/%.*s", VIEW_ARG(name));
    return strstr(path, "..") ? NULL : zone_of_file(path);
}

const struct zone *zone_local(void)
{
    const char *name = getenv("TZ"); /* of the start: nothing here sets it */
    const struct zone *zone;
    if (name)
        name += *name == ':';
    if (!name)
        zone = zone_of_file("/etc/localtime");
    else
        zone = *name == '/' ? zone_of_file(name) : zone_find(view_of(name));
    return zone ? zone : &utc;
}

struct zone_period zone_at(const struct zone *zone, int64_t seconds)
{
    size_t low = 0, high = zone ? zone->count : 0;
    if (!zone)
        zone = &utc;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->when[middle] <= seconds)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == zone->count && zone->ruled)
        return ruled_at(zone, low ? zone->when[low - 1] : INT64_MIN, seconds);
    int64_t end = low < zone->count ? zone->when[low] : INT64_MAX;
    if (low == 0)
        return period_of(&zone->first, INT64_MIN, end);
    return period_of(&zone->kinds[zone->kind_of[low - 1]], zone->when[low - 1], end);
}

int64_t zone_instant(const struct zone *zone, int64_t local)
{
    struct zone_period period = zone_at(zone, local);
    int64_t instant = local - period.offset;
    if (period.offset && (instant < period.start || instant >= period.end))
        instant = local - zone_at(zone, instant).offset;
    return instant;
}

bool zone_offset_of(const struct zone *zone, struct view name, int64_t local, int32_t *offset)
{
    const struct kind *found = NULL;
    for (size_t i = 0; zone && i < zone->kind_count; i++) {
        const struct kind *kind = &zone->kinds[i];
        if (!view_eq(name, view_of(kind->name)))
            continue;
        struct zone_period then = zone_at(zone, local - kind->offset);
        if (view_eq(name, view_of(then.name))) {
            *offset = then.offset;
            return true;
        }
        found = found ? found : kind;
    }
    if (found)
        *offset = found->offset;
    return found != NULL;
}

size_t zone_fixed_size(void)
{
    return sizeof(struct zone);
}

const struct zone *zone_fixed(void *memory, struct view name, int32_t offset)
{
    struct zone *zone = memory;
    *zone = (struct zone){.first = {.offset = offset}};
    snprintf(zone->first.name, ZONE_NAME_SIZE, "%.*s", VIEW_ARG(name));
    return zone;
}
