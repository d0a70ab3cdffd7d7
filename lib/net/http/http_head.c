#include "lib/net/http/http_head.h"

#include <stdint.h>
#include <string.h>

/* Character classes. TOKEN: tchar of RFC 9110, 5.6.2. VALUE: field-vchar of 5.5 and the whitespace
 * between. HOST: of RFC 3986, 3.2.2, with a port. */
enum { TOKEN = 1, VALUE = 2, TARGET = 4, HOST = 8, ALL = TOKEN | VALUE | TARGET | HOST };

static const uint8_t classes[256] = {
    ['\t'] = VALUE,
    [' '] = VALUE,
    ['!'] = ALL,
    ['"'] = VALUE | TARGET,
    ['#'] = TOKEN | VALUE | TARGET,
    ['$'] = ALL,
    ['%'] = ALL,
    ['&'] = ALL,
    ['\''] = ALL,
    ['('] = VALUE | TARGET | HOST,
    [')'] = VALUE | TARGET | HOST,
    ['*'] = ALL,
    ['+'] = ALL,
    [','] = VALUE | TARGET,
    ['-'] = ALL,
    ['.'] = ALL,
    ['/'] = VALUE | TARGET,
    ['0' ... '9'] = ALL,
    [':'] = VALUE | TARGET | HOST,
    [';'] = VALUE | TARGET | HOST,
    ['<'] = VALUE | TARGET,
    ['='] = VALUE | TARGET | HOST,
    ['>'] = VALUE | TARGET,
    ['?'] = VALUE | TARGET,
    ['@'] = VALUE | TARGET,
    ['A' ... 'Z'] = ALL,
    ['['] = VALUE | TARGET | HOST,
    ['\\'] = VALUE | TARGET,
    [']'] = VALUE | TARGET | HOST,
    ['^'] = TOKEN | VALUE | TARGET,
    ['_'] = ALL,
    ['`'] = TOKEN | VALUE | TARGET,
    ['a' ... 'z'] = ALL,
    ['{'] = VALUE | TARGET,
    ['|'] = TOKEN | VALUE | TARGET,
    ['}'] = VALUE | TARGET,
    ['~'] = ALL,
    [0x80 ... 0xff] = VALUE | TARGET,
};

static const char in_method[] = "the method has a character that is not allowed there";
static const char in_name[] = "a header's name has a character that is not allowed there";
static const char in_value[] = "a header's value contains a control character";
static const char line_end[] = "a line of the header does not end in CR LF, or contains a NUL";

/* The first byte that is not in a class; NUL is in none. */
static const char *behind(unsigned class, const char *at, const char *end)
{
    while (at < end && (classes[(uint8_t)*at] & class))
        at++;
    return at;
}

/* Two NULs, in place of CR LF. */
static bool is_line_end(const char *at, const char *end)
{
    return end - at >= 2 && at[0] == '\0' && at[1] == '\0';
}

static const char *request_line_fault(const char *method, const char *end, const char *version,
                                      size_t target_size)
{
    const char *space = behind(TOKEN, method, end);
    if (space == method || space == end || *space)
        return in_method;
    if (space + 1 + target_size + 1 != version)
        return "the request line contains a NUL, or more than one space between its parts";
    return is_line_end(version + strlen("HTTP/1.1"), end) ? NULL : line_end;
}

/* Checks one field and moves *at past its line. */
static const char *field_fault(const char **at, const char *end)
{
    const char *name = *at, *colon = behind(TOKEN, name, end);
    if (*name == ' ' || *name == '\t')
        return "a header's value continues on the next line";
    if (colon == name || colon == end || *colon)
        return in_name;
    const char *value_end = behind(VALUE, colon + 1, end);
    if (value_end < end && *value_end)
        return in_value;
    *at = value_end + 2;
    return is_line_end(value_end, end) ? NULL : line_end;
}

const char *http_head_fault(const char *method, size_t size, const char *version,
                            size_t target_size)
{
    const char *end = method + size, *at = version + strlen("HTTP/1.1") + 2;
    const char *fault = request_line_fault(method, end, version, target_size);
    while (!fault && at < end && *at)
        fault = field_fault(&at, end);
    if (!fault && (at + 2 != end || !is_line_end(at, end)))
        fault = line_end;
    return fault;
}

const char *http_head_method_fault(const char *method)
{
    return *method && *behind(TOKEN, method, method + strlen(method)) == '\0' ? NULL : in_method;
}

const char *http_head_field_fault(struct view name, struct view value)
{
    const char *name_end = (const char *)name.data + name.size;
    const char *value_end = (const char *)value.data + value.size;
    if (!name.size || behind(TOKEN, (const char *)name.data, name_end) != name_end)
        return in_name;
    return behind(VALUE, (const char *)value.data, value_end) == value_end ? NULL : in_value;
}

bool http_head_is_target(const char *target)
{
    return *behind(TARGET, target, target + strlen(target)) == '\0' && *target;
}

bool http_head_is_host(const char *value)
{
    return *behind(HOST, value, value + strlen(value)) == '\0';
}

bool http_head_length(struct view text, uint64_t *length)
{
    uint64_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = (unsigned)text.data[i] - '0';
        if (digit > 9)
            return false;
        value = value > (UINT64_MAX - 10) / 10 ? UINT64_MAX - 1 : value * 10 + digit;
    }
    *length = value;
    return text.size > 0;
}
