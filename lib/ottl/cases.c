/* Converters that change the case of letters. */
#include "lib/ottl/function.h"

#include "lib/base/utf8.h"

#include <ctype.h>
#include <locale.h>
#include <pthread.h>
#include <wctype.h>

enum { TEXT_MOST = 4 << 20 };

static locale_t letters;

static void load_letters(void)
{
    letters = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* Bytes of a character and its code; an invalid byte becomes U+FFFD, as in Go. */
static size_t decode(struct view text, uint32_t *code)
{
    const size_t size = utf8_character(text);
    *code = size ? *text.data & (size == 1 ? 0x7fu : 0xffu >> (size + 1)) : 0xfffd;
    for (size_t i = 1; i < size; i++)
        *code = *code << 6 | (text.data[i] & 63);
    return size ? size : 1;
}

static bool put_code(struct bytes *out, uint32_t code)
{
    uint8_t text[4];
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        text[i] = (uint8_t)(0x80 | (code & 63));
    text[0] = (uint8_t)(size == 1 ? code : (0xf00u >> size) | code);
    return bytes_append(out, text, size) == BYTES_OK;
}

static struct ottl_value with_case(struct ottl_run *run, struct view text, bool upper)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct bytes out;
    bool ok = !run->failed;
    pthread_once(&once, load_letters);
    bytes_init(&out, TEXT_MOST, NULL);
    for (size_t at = 0, size; ok && at < text.size; at += size) {
        uint32_t code;
        struct view rest = {text.data + at, text.size - at};
        size = decode(rest, &code);
        if (letters)
            code = upper ? towupper_l((wint_t)code, letters) : towlower_l((wint_t)code, letters);
        ok = put_code(&out, code);
    }
    return ottl_made_text(run, &out, ok);
}

static struct ottl_value to_lower(struct ottl_run *run, const struct ottl_node *call)
{
    return with_case(run, ottl_arg_string(run, call, 0), false);
}

static struct ottl_value to_upper(struct ottl_run *run, const struct ottl_node *call)
{
    return with_case(run, ottl_arg_string(run, call, 0), true);
}

/* ---- snake and camel ---- */

/* Only ASCII letters have a case here, and only ASCII digits are digits. */
static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(uint8_t c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(uint8_t c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_separator(uint8_t c)
{
    return c == ' ' || c == '_' || c == '-' || c == '.';
}

/* Whether a word ends between the i-th character and the next one. */
static bool ends_word(struct view text, size_t i)
{
    uint8_t c = text.data[i];
    if (i + 1 == text.size)
        return false;
    uint8_t next = text.data[i + 1];
    if (is_lower(c))
        return is_upper(next) || is_digit(next);
    if (is_digit(c))
        return is_upper(next) || is_lower(next);
    return is_upper(c) && is_digit(next);
}

/* Whether the last letter of an acronym begins the next word, as S in HTTPServer. */
static bool ends_acronym(struct view text, size_t i)
{
    return i > 0 && i + 1 < text.size && is_upper(text.data[i - 1]) && is_upper(text.data[i]) &&
           is_lower(text.data[i + 1]);
}

/* HTTPServer2Name to http_server_2_name */
static struct ottl_value in_snake(struct ottl_run *run, struct view given)
{
    struct view text = utf8_trim(given);
    struct bytes out;
    bool ok = !run->failed;
    bytes_init(&out, TEXT_MOST, NULL);
    for (size_t i = 0; ok && i < text.size; i++) {
        uint8_t c = text.data[i];
        char put = is_separator(c) ? '_' : (char)(is_upper(c) ? c - 'A' + 'a' : c);
        if (ends_acronym(text, i))
            ok = bytes_append(&out, "_", 1) == BYTES_OK;
        ok = ok && bytes_append(&out, &put, 1) == BYTES_OK;
        if (ok && ends_word(text, i))
            ok = bytes_append(&out, "_", 1) == BYTES_OK;
    }
    return ottl_made_text(run, &out, ok);
}

/* http_server-name to HttpServerName; other characters are removed. */
static struct ottl_value in_camel(struct ottl_run *run, struct view given)
{
    struct view text = utf8_trim(given);
    struct bytes out;
    bool ok = !run->failed, first = true, after_upper = false;
    bytes_init(&out, TEXT_MOST, NULL);
    for (size_t i = 0; ok && i < text.size; i++) {
        uint8_t c = text.data[i];
        bool upper = is_upper(c), letter = upper || is_lower(c);
        char put = (char)(first && is_lower(c)             ? c - 'a' + 'A'
                          : !first && after_upper && upper ? c - 'A' + 'a'
                                                           : c);
        if (letter || is_digit(c))
            ok = bytes_append(&out, &put, 1) == BYTES_OK;
        first = !letter && (is_digit(c) || is_separator(c));
        after_upper = upper;
    }
    return ottl_made_text(run, &out, ok);
}

static struct ottl_value to_snake(struct ottl_run *run, const struct ottl_node *call)
{
    return in_snake(run, ottl_arg_string(run, call, 0));
}

static struct ottl_value to_camel(struct ottl_run *run, const struct ottl_node *call)
{
    return in_camel(run, ottl_arg_string(run, call, 0));
}

static const char *check_case(const struct ottl_node *call)
{
    static const char *const cases[] = {"lower", "upper", "snake", "camel", NULL};
    return ottl_is_one_of(call->items[1], cases)
               ? NULL
               : "expected the case \"lower\", \"upper\", \"snake\" or \"camel\"";
}

static struct ottl_value convert_case(struct ottl_run *run, const struct ottl_node *call)
{
    struct view to = call->items[1]->value.bytes;
    if (view_eq(to, VIEW("snake")))
        return to_snake(run, call);
    if (view_eq(to, VIEW("camel")))
        return to_camel(run, call);
    return view_eq(to, VIEW("upper")) ? to_upper(run, call) : to_lower(run, call);
}

const struct ottl_function ottl_case_functions[] = {
    {"ToLowerCase", "target", to_lower, FN_NO_PATTERN, false, 0, NULL},
    {"ToUpperCase", "target", to_upper, FN_NO_PATTERN, false, 0, NULL},
    {"ToSnakeCase", "target", to_snake, FN_NO_PATTERN, false, 0, NULL},
    {"ToCamelCase", "target", to_camel, FN_NO_PATTERN, false, 0, NULL},
    {"ConvertCase", "target,to_case", convert_case, FN_NO_PATTERN, false, 0, check_case},
    {0},
};
