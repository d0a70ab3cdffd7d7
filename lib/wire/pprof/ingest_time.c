#include "lib/wire/pprof/ingest_time.h"

#include "lib/base/clock.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

static uint64_t scaled(uint64_t value, uint64_t unit_ns)
{
    return value > (uint64_t)INT64_MAX / unit_ns ? 0 : value * unit_ns;
}

static bool read_date(uint64_t date, uint64_t *seconds)
{
    struct tm given = {.tm_year = (int)(date / 10000) - 1900,
                       .tm_mon = (int)(date / 100 % 100) - 1,
                       .tm_mday = (int)(date % 100)};
    struct tm real = given;
    time_t time = timegm(&real);
    *seconds = (uint64_t)time;
    /* timegm normalises dates that are not in the calendar. */
    return time > 0 && real.tm_mon == given.tm_mon && real.tm_mday == given.tm_mday;
}

uint64_t ingest_time_parse(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    uint64_t value = 0, date;
    if (digits == 0 || digits > 19 || text[digits] != '\0')
        return 0;
    for (size_t i = 0; i < digits; i++)
        value = value * 10 + (uint64_t)(text[i] - '0');
    switch (digits) {
    case 8:
        return scaled(read_date(value, &date) ? date : value, NS_PER_S);
    case 13:
        return scaled(value, NS_PER_MS);
    case 16:
        return scaled(value, 1000);
    case 19:
        return scaled(value, 1);
    default:
        return scaled(value, NS_PER_S);
    }
}
