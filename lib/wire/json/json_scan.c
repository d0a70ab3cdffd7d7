#include "lib/wire/json/json_scan.h"

#include "lib/base/utf8.h"
#include "lib/wire/proto/text.h"

#include <endian.h>

/* Depth of skipped values. */
enum { MAX_DEPTH = 512, REPLACEMENT = 0xfffd };

struct json_scan json_scan_begin(struct view text)
{
    return (struct json_scan){text.data, text.data, text.data + text.size, NULL, false};
}

static bool json_scan_fail(struct json_scan *scan, const char *fault)
{
    if (!scan->fault)
        scan->fault = scan->at < scan->end ? fault : "the text ends too soon";
    return false;
}

static inline void pass_blanks(struct json_scan *scan)
{
    while (scan->at < scan->end && *scan->at <= ' ' &&
           (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\r' || *scan->at == '\t'))
        scan->at++;
}

/* Skips the character. False: another one follows. */
static bool json_scan_take(struct json_scan *scan, char sign)
{
    if (scan->at == scan->end || *scan->at != (uint8_t)sign)
        return false;
    scan->at++;
    return true;
}

enum json_kind json_scan_kind(struct json_scan *scan)
{
    pass_blanks(scan);
    switch (scan->at < scan->end ? *scan->at : 0) {
    case '{':
        return JSON_KIND_OBJECT;
    case '[':
        return JSON_KIND_ARRAY;
    case '"':
        return JSON_KIND_STRING;
    case 't':
        return JSON_KIND_TRUE;
    case 'f':
        return JSON_KIND_FALSE;
    case 'n':
        return JSON_KIND_NULL;
    case '-':
    case '0' ... '9':
        return JSON_KIND_NUMBER;
    default:
        json_scan_fail(scan, "expected a value");
        return JSON_KIND_NONE;
    }
}

/* ---- strings ---- */

static bool is_hex4(const uint8_t *at, const uint8_t *end)
{
    if (end - at < 4)
        return false;
    for (int i = 0; i < 4; i++)
        if (text_hex_digit(at[i]) < 0)
            return false;
    return true;
}

/* Skips an escape; the scan is after the backslash. */
static bool pass_escape(struct json_scan *scan)
{
    uint8_t c = scan->at < scan->end ? *scan->at : 0;
    if (c == 'u' && is_hex4(scan->at + 1, scan->end)) {
        scan->at += 5;
        return true;
    }
    if (c == 0 || !memchr("\"\\/bfnrt", c, 8))
        return json_scan_fail(scan, "expected an escape sequence");
    scan->at++;
    return true;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define HIGH_BITS  EACH(0x80)

/* Sets the high bit of each byte that is zero; after the first one possibly of others too. */
static uint64_t zeros(uint64_t word)
{
    return (word - EACH(1)) & ~word & HIGH_BITS;
}

/* Finds the end of a run of plain characters: a quote, a backslash, a control character, or the end
 * of the text. *high collects the high bits of the run's bytes. */
static const uint8_t *pass_plain(const uint8_t *at, const uint8_t *end, uint64_t *high)
{
    uint64_t word;
    for (; end - at >= 8; at += 8) {
        memcpy(&word, at, sizeof word);
        word = le64toh(word);
        uint64_t below_blank = (word - EACH(0x20)) & ~word & HIGH_BITS;
        uint64_t ends = below_blank | zeros(word ^ EACH('"')) | zeros(word ^ EACH('\\'));
        if (ends) {
            int bits = __builtin_ctzll(ends) & ~7;
            *high |= word & ((UINT64_C(1) << bits) - 1) & HIGH_BITS;
            return at + bits / 8;
        }
        *high |= word & HIGH_BITS;
    }
    for (; at < end && *at >= 0x20 && *at != '"' && *at != '\\'; at++)
        *high |= *at & 0x80u;
    return at;
}

bool json_scan_string(struct json_scan *scan, struct json_text *text)
{
    const uint8_t *from = ++scan->at;
    uint64_t high = 0;
    text->escaped = false;
    for (;;) {
        scan->at = pass_plain(scan->at, scan->end, &high);
        if (scan->at == scan->end || *scan->at == '"')
            break;
        if (scan->raw_controls && *scan->at && *scan->at != '\\') {
            scan->at++;
            continue;
        }
        if (*scan->at != '\\')
            return json_scan_fail(scan, "expected no control character in a string");
        text->escaped = true;
        scan->at++;
        if (!pass_escape(scan))
            return false;
    }
    text->raw = view_between(from, scan->at);
    if (scan->at == scan->end || (high && !utf8_valid(text->raw)))
        return json_scan_fail(scan, "expected UTF-8 in a string");
    scan->at++;
    return true;
}

bool json_scan_plain(struct json_scan *scan, struct view *text)
{
    uint64_t high = 0;
    const uint8_t *end = pass_plain(scan->at, scan->end, &high);
    if (high || end == scan->end || *end != '"')
        return false;
    *text = view_between(scan->at, end);
    scan->at = end + 1;
    return true;
}

static uint32_t hex4(const uint8_t *at)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = value << 4 | (uint32_t)text_hex_digit(at[i]);
    return value;
}

/* Reads the code point of a \u sequence; *at is after the "u" and moves past the digits. */
static uint32_t read_unicode(const uint8_t **at, const uint8_t *end)
{
    uint32_t code = hex4(*at);
    *at += 4;
    if (code < 0xd800 || code > 0xdfff)
        return code;
    if (code > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
        return REPLACEMENT;
    uint32_t low = hex4(*at + 2);
    if (low < 0xdc00 || low > 0xdfff)
        return REPLACEMENT;
    *at += 6;
    return 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
}

static uint8_t *put_utf8(uint8_t *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (uint8_t)code;
    } else if (code < 0x800) {
        *out++ = (uint8_t)(0xc0 | code >> 6);
        *out++ = (uint8_t)(0x80 | (code & 0x3f));
    } else {
        if (code < 0x10000) {
            *out++ = (uint8_t)(0xe0 | code >> 12);
        } else {
            *out++ = (uint8_t)(0xf0 | code >> 18);
            *out++ = (uint8_t)(0x80 | (code >> 12 & 0x3f));
        }
        *out++ = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        *out++ = (uint8_t)(0x80 | (code & 0x3f));
    }
    return out;
}

static uint8_t unescaped(uint8_t c)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *found = strchr(from, c);
    return found ? (uint8_t)to[found - from] : c;
}

size_t json_scan_unescape(struct json_text text, uint8_t *out)
{
    const uint8_t *at = text.raw.data, *end = at + text.raw.size;
    uint8_t *to = out;
    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
        } else if (at[1] == 'u') {
            at += 2;
            to = put_utf8(to, read_unicode(&at, end));
        } else {
            *to++ = unescaped(at[1]);
            at += 2;
        }
    }
    return (size_t)(to - out);
}

/* ---- numbers and names ---- */

static bool pass_digits(struct json_scan *scan)
{
    const uint8_t *from = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return scan->at > from || json_scan_fail(scan, "expected a digit");
}

bool json_scan_number(struct json_scan *scan, struct json_text *text)
{
    const uint8_t *from = scan->at;
    json_scan_take(scan, '-');
    if (!json_scan_take(scan, '0') && !pass_digits(scan))
        return false;
    if (json_scan_take(scan, '.') && !pass_digits(scan))
        return false;
    if (json_scan_take(scan, 'e') || json_scan_take(scan, 'E')) {
        if (!json_scan_take(scan, '+'))
            json_scan_take(scan, '-');
        if (!pass_digits(scan))
            return false;
    }
    *text = (struct json_text){view_between(from, scan->at), false};
    return true;
}

static bool pass_name(struct json_scan *scan, const char *name, size_t size)
{
    if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, name, size) != 0)
        return json_scan_fail(scan, "expected a value");
    scan->at += size;
    return true;
}

/* ---- objects and arrays ---- */

void json_scan_enter(struct json_scan *scan)
{
    scan->at++;
}

/* Skips the comma before the next member or element. False: the end, or a fault. */
static bool json_scan_next(struct json_scan *scan, bool *first, char close)
{
    pass_blanks(scan);
    if (scan->fault || json_scan_take(scan, close))
        return false;
    if (!*first && !json_scan_take(scan, ','))
        return json_scan_fail(scan, close == '}' ? "expected , or }" : "expected , or ]");
    *first = false;
    return true;
}

bool json_scan_member(struct json_scan *scan, bool *first, struct json_text *key)
{
    if (!json_scan_next(scan, first, '}'))
        return false;
    pass_blanks(scan);
    if (scan->at == scan->end || *scan->at != '"')
        return json_scan_fail(scan, "expected a name in quotes");
    if (!json_scan_string(scan, key))
        return false;
    pass_blanks(scan);
    return json_scan_take(scan, ':') || json_scan_fail(scan, "expected :");
}

bool json_scan_element(struct json_scan *scan, bool *first)
{
    return json_scan_next(scan, first, ']');
}

static bool json_json_scan_skip(struct json_scan *scan, unsigned depth)
{
    struct json_text text;
    bool first = true;
    if (depth > MAX_DEPTH)
        return json_scan_fail(scan, "expected less nesting");
    switch (json_scan_kind(scan)) {
    case JSON_KIND_NONE:
        return false;
    case JSON_KIND_STRING:
        return json_scan_string(scan, &text);
    case JSON_KIND_NUMBER:
        return json_scan_number(scan, &text);
    case JSON_KIND_TRUE:
        return pass_name(scan, "true", 4);
    case JSON_KIND_FALSE:
        return pass_name(scan, "false", 5);
    case JSON_KIND_NULL:
        return pass_name(scan, "null", 4);
    case JSON_KIND_OBJECT:
        for (json_scan_enter(scan); json_scan_member(scan, &first, &text);)
            if (!json_json_scan_skip(scan, depth + 1))
                return false;
        break;
    case JSON_KIND_ARRAY:
        for (json_scan_enter(scan); json_scan_element(scan, &first);)
            if (!json_json_scan_skip(scan, depth + 1))
                return false;
        break;
    }
    return !scan->fault;
}

bool json_scan_skip(struct json_scan *scan)
{
    return json_json_scan_skip(scan, 1);
}

bool json_scan_end(struct json_scan *scan)
{
    pass_blanks(scan);
    if (scan->at == scan->end)
        return true;
    return json_scan_fail(scan, "expected nothing more");
}

void json_scan_position(const struct json_scan *scan, size_t *line, size_t *column)
{
    const uint8_t *from = scan->start;
    *line = 1;
    for (const uint8_t *at = scan->start; at < scan->at; at++)
        if (*at == '\n') {
            ++*line;
            from = at + 1;
        }
    *column = (size_t)(scan->at - from) + 1;
}
