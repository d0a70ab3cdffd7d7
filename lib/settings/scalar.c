#include "lib/settings/scalar.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 80 };

static bool one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static bool is_null(const char *text)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
    return one_of(text, words);
}

bool scalar_bool(const char *text, bool *value)
{
    static const char *const yes[] = {"true", "True", "TRUE", NULL};
    static const char *const no[] = {"false", "False", "FALSE", NULL};
    *value = one_of(text, yes);
    return *value || one_of(text, no);
}

/* Drops underscores between digits; false: it cannot be a number. */
static bool strip(const char *text, char out[NUMBER_MAX])
{
    size_t n = 0;
    const char *digits = text + (*text == '-' || *text == '+');
    if (!(*digits >= '0' && *digits <= '9') && *digits != '.')
        return false;
    for (; *text; text++) {
        if (*text == '_')
            continue;
        if (n + 1 == NUMBER_MAX)
            return false;
        out[n++] = *text;
    }
    out[n] = '\0';
    return true;
}

/* The base of an unsigned literal; moves *digits past its prefix. */
static int literal_base(const char **digits)
{
    const char *at = *digits;
    if (at[0] != '0' || at[1] == '\0')
        return 10;
    *digits = at + 2;
    switch (at[1]) {
    case 'x':
    case 'X':
        return 16;
    case 'o':
    case 'O':
        return 8;
    case 'b':
    case 'B':
        return 2;
    default:
        *digits = at + 1;
        return 8;
    }
}

bool scalar_int(const char *text, int64_t *value)
{
    char number[NUMBER_MAX];
    if (!strip(text, number))
        return false;
    bool negative = number[0] == '-';
    const char *digits = number + (number[0] == '-' || number[0] == '+');
    int base = literal_base(&digits);
    if (strspn(digits, "0123456789abcdefABCDEF") != strlen(digits) || !*digits)
        return false;
    char *end;
    errno = 0;
    unsigned long long n = strtoull(digits, &end, base);
    if (*end || errno || n > (unsigned long long)INT64_MAX + negative)
        return false;
    *value = (int64_t)(negative ? 0 - n : n);
    return true;
}

/* .inf and .nan, as YAML 1.2.2 section 10.3.2 has them. */
static bool is_not_finite(const char *text, double *value)
{
    static const char *const infinities[] = {".inf", ".Inf", ".INF", NULL};
    static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};
    bool negative = *text == '-';
    bool infinite = one_of(text + (negative || *text == '+'), infinities);
    *value = infinite ? (negative ? -INFINITY : INFINITY) : NAN;
    return infinite || one_of(text, nans);
}

bool scalar_float(const char *text, double *value)
{
    char number[NUMBER_MAX];
    if (is_not_finite(text, value))
        return true;
    if (!strip(text, number) || strspn(number, "+-.0123456789eE") != strlen(number))
        return false;
    char *end;
    *value = strtod(number, &end);
    return *end == '\0' && end != number;
}

bool scalar_number(const char *text, double *value)
{
    int64_t n;
    if (scalar_int(text, &n)) {
        *value = (double)n;
        return true;
    }
    return scalar_float(text, value) && isfinite(*value);
}

enum scalar_type scalar_type(const char *text)
{
    bool flag;
    int64_t n;
    double number;
    if (is_null(text))
        return SCALAR_NULL;
    if (scalar_bool(text, &flag))
        return SCALAR_BOOL;
    if (scalar_int(text, &n))
        return SCALAR_INT;
    return scalar_float(text, &number) ? SCALAR_FLOAT : SCALAR_STRING;
}
