#include "receivers/pyroscope/times.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>

static uint64_t date_ns(uint64_t date)
{
    struct tm utc = {.tm_year = (int)(date / 10000) - 1900,
                     .tm_mon = (int)(date / 100 % 100) - 1,
                     .tm_mday = (int)(date % 100)};
    time_t seconds = timegm(&utc);
    return seconds > 0 ? (uint64_t)seconds * NS_PER_S : 0;
}

uint64_t ingest_time_parse(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    uint64_t value = 0;
    if (digits == 0 || digits > 19 || text[digits] != '\0')
        return 0;
    for (size_t i = 0; i < digits; i++)
        value = value * 10 + (uint64_t)(text[i] - '0');
    switch (digits) {
    case 8:
        return date_ns(value);
    case 13:
        return value * NS_PER_MS;
    case 16:
        return value * 1000;
    case 19:
        return value;
    default:
        return value > UINT64_MAX / NS_PER_S ? 0 : value * NS_PER_S;
    }
}
