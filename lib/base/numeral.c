#include "lib/base/numeral.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { NUMERAL_MAX = 512 };

/* Whether the C library would take what Go does not: white space in front, or an end within. */
static bool is_foreign(struct view text)
{
    return text.size == 0 || text.size >= NUMERAL_MAX || memchr(" \t\n\v\f\r", *text.data, 6) ||
           memchr(text.data, '\0', text.size);
}

bool numeral_int(struct view text, int64_t *number)
{
    char copy[NUMERAL_MAX], *end;
    if (is_foreign(text))
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    errno = 0;
    *number = strtoll(copy, &end, 10);
    return end == copy + text.size && errno != ERANGE;
}

/* Copies the text of a float without its underscores, which separate digits. False: one does not,
 * or a hexadecimal float lacks its exponent. */
static bool copy_float(struct view text, size_t sign, char *copy)
{
    size_t used = 0;
    bool hex = text.size > sign + 1 && text.data[sign] == '0' && (text.data[sign + 1] | 32) == 'x';
    bool digit = hex, after = false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        bool prefix = hex && i <= sign + 1;
        bool is_digit = prefix ? i > sign : hex ? isxdigit(c) != 0 : isdigit(c) != 0;
        if ((c == '_' && !digit) || (after && !is_digit))
            return false;
        after = c == '_';
        digit = is_digit;
        if (!after)
            copy[used++] = (char)c;
    }
    copy[used] = '\0';
    return used > sign && !after && (!hex || strpbrk(copy, "pP"));
}

bool numeral_double(struct view text, double *number)
{
    char copy[NUMERAL_MAX], *end;
    if (is_foreign(text))
        return false;
    size_t sign = *text.data == '+' || *text.data == '-';
    if (!copy_float(text, sign, copy))
        return false;
    if ((copy[sign] | 32) == 'n' && (sign || strlen(copy) != 3)) /* +nan, nan(1) */
        return false;
    errno = 0;
    *number = strtod(copy, &end);
    return end > copy && !*end && !(errno == ERANGE && isinf(*number));
}
