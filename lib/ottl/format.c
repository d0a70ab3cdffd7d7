/* Format: Go's fmt.Sprintf, with the verbs that configurations use. */
#include "lib/ottl/function.h"

#include "lib/base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH_MOST = 1000, NUMBER_SIZE = 1400, INTEGER_SIZE = 1100, LAST_CHARACTER = 0x10ffff };

/* One verb of a format: "%-8.2f". */
struct verb {
    bool minus, plus, space, zero, sharp;
    int width, precision; /* -1: none */
    char letter;
    const struct regex *shown; /* of %q: what is no escape sequence */
};

static int number_at(struct view *at)
{
    int number = -1;
    for (; at->size && *at->data >= '0' && *at->data <= '9'; at->data++, at->size--)
        if ((number = (number < 0 ? 0 : number) * 10 + (*at->data - '0')) > WIDTH_MOST)
            number = WIDTH_MOST + 1;
    return number;
}

static bool *flag_of(struct verb *verb, char flag)
{
    return flag == '-'   ? &verb->minus
           : flag == '+' ? &verb->plus
           : flag == ' ' ? &verb->space
           : flag == '0' ? &verb->zero
           : flag == '#' ? &verb->sharp
                         : NULL;
}

/* Reads a verb from a text that begins after its "%". False: it is not supported. */
static bool next_verb(struct view *at, struct verb *verb)
{
    *verb = (struct verb){.width = -1, .precision = -1};
    for (bool *flag; at->size && (flag = flag_of(verb, (char)*at->data)); at->data++, at->size--)
        *flag = true;
    verb->width = number_at(at);
    if (at->size && *at->data == '.') {
        *at = (struct view){at->data + 1, at->size - 1};
        verb->precision = number_at(at);
        verb->precision = verb->precision < 0 ? 0 : verb->precision;
    }
    if (!at->size || verb->width > WIDTH_MOST || verb->precision > WIDTH_MOST || verb->sharp)
        return false;
    verb->letter = (char)*at->data;
    *at = (struct view){at->data + 1, at->size - 1};
    return strchr("%svdfFeEgGtxXqobc", verb->letter);
}

static const char *check_format(const struct ottl_node *call)
{
    const struct ottl_node *format = call->items[0], *values = call->items[1];
    size_t verbs = 0;
    if (format->kind != NODE_LITERAL || format->value.type != TYPE_STRING)
        return "the format must be a string literal";
    if (values->kind != NODE_LIST_OF)
        return "expected a list of values";
    struct view at = format->value.bytes;
    for (const uint8_t *sign; at.size && (sign = memchr(at.data, '%', at.size));) {
        struct verb verb;
        at = view_between(sign + 1, at.data + at.size);
        if (!next_verb(&at, &verb))
            return "only the verbs %s %v %q %d %o %b %c %x %X %f %F %e %E %g %G %t and %% are "
                   "supported, without #";
        verbs += verb.letter != '%';
    }
    return verbs == values->count
               ? NULL
               : "the number of verbs in the format differs from the number of values";
}

/* ---- texts ---- */

static size_t characters(struct view text, size_t most, size_t *count)
{
    size_t i = 0;
    for (*count = 0; i < text.size; ++*count) {
        if (*count == most)
            break;
        size_t size = utf8_character((struct view){text.data + i, text.size - i});
        i += size ? size : 1;
    }
    return i;
}

/* Writes a text padded to its width. zeros: on the left, if the verb has them. */
static bool put_padded(struct bytes *out, const struct verb *verb, bool zeros, struct view text)
{
    size_t count;
    (void)characters(text, SIZE_MAX, &count);
    int blanks = verb->width > (int)count ? verb->width - (int)count : 0;
    bool ok = true;
    if (zeros && verb->zero && !verb->minus)
        for (; ok && blanks; blanks--)
            ok = bytes_append(out, "0", 1) == BYTES_OK;
    return ok && (verb->minus || bytes_printf(out, "%*s", blanks, "") == BYTES_OK) &&
           bytes_append_view(out, text) == BYTES_OK &&
           (!verb->minus || bytes_printf(out, "%*s", blanks, "") == BYTES_OK);
}

static struct view cut(const struct verb *verb, struct view text)
{
    size_t count, most = verb->precision < 0 ? SIZE_MAX : (size_t)verb->precision;
    return (struct view){text.data, characters(text, most, &count)};
}

static uint32_t code_of(struct view character)
{
    uint32_t code = *character.data & (character.size == 1 ? 0x7fu : 0xffu >> (character.size + 1));
    for (size_t i = 1; i < character.size; i++)
        code = code << 6 | (character.data[i] & 0x3f);
    return code;
}

/* The UTF-8 of a number; of what is no character, that of U+FFFD. */
static struct view character_of(uint64_t number, uint8_t out[4])
{
    bool no = number > LAST_CHARACTER || (number >= 0xd800 && number < 0xe000);
    uint32_t code = no ? 0xfffd : (uint32_t)number;
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; code >>= 6)
        out[i] = (uint8_t)(0x80 | (code & 0x3f));
    out[0] = (uint8_t)(size == 1 ? code : code | (0xf00u >> size & 0xf0));
    return (struct view){out, size};
}

/* One character between quotes, as Go's strconv.Quote. Size 0: an invalid byte. */
static bool quote_one(struct bytes *out, const struct verb *verb, char quote, const uint8_t *at,
                      size_t size)
{
    static const char letters[] = "abtnvfr"; /* of 7 to 13 */
    uint32_t code = size ? code_of((struct view){at, size}) : *at;
    if (!size)
        return bytes_printf(out, "\\x%02x", code) == BYTES_OK;
    if (code == (uint32_t)quote || code == '\\')
        return bytes_printf(out, "\\%c", (char)code) == BYTES_OK;
    bool ascii = code >= ' ' && code < 0x7f;
    if (ascii || (!verb->plus && code > 0x7f &&
                  regex_test(verb->shown, (struct view){at, size}) == REGEX_YES))
        return bytes_append(out, at, size) == BYTES_OK;
    if (code >= 7 && code <= 13)
        return bytes_printf(out, "\\%c", letters[code - 7]) == BYTES_OK;
    int digits = code < 0x80 ? 2 : code < 0x10000 ? 4 : 8;
    char mark = digits == 2 ? 'x' : digits == 4 ? 'u' : 'U';
    return bytes_printf(out, "\\%c%0*x", mark, digits, code) == BYTES_OK;
}

static bool put_quoted(struct bytes *out, const struct verb *verb, char quote, struct view text)
{
    struct bytes quoted;
    bytes_init(&quoted, 10 * text.size + 16, NULL);
    bool ok = bytes_append(&quoted, &quote, 1) == BYTES_OK;
    while (ok && text.size) {
        size_t size = utf8_character(text), taken = size ? size : 1;
        ok = quote_one(&quoted, verb, quote, text.data, size);
        text = (struct view){text.data + taken, text.size - taken};
    }
    ok = ok && bytes_append(&quoted, &quote, 1) == BYTES_OK &&
         put_padded(out, verb, true, bytes_view(&quoted));
    bytes_release(&quoted);
    return ok;
}

static bool put_hex(struct bytes *out, const struct verb *verb, struct view text)
{
    struct bytes hex;
    bool ok = true, upper = verb->letter == 'X';
    if (verb->precision >= 0 && (size_t)verb->precision < text.size)
        text.size = (size_t)verb->precision;
    bytes_init(&hex, 3 * text.size + 1, NULL);
    for (size_t i = 0; ok && i < text.size; i++)
        ok = bytes_printf(&hex, upper ? "%s%02X" : "%s%02x", verb->space && i ? " " : "",
                          text.data[i]) == BYTES_OK;
    ok = ok && put_padded(out, verb, true, bytes_view(&hex));
    bytes_release(&hex);
    return ok;
}

static bool put_string(struct bytes *out, const struct verb *verb, struct view text)
{
    if (verb->letter == 'q')
        return put_quoted(out, verb, '"', cut(verb, text));
    if (verb->letter == 'x' || verb->letter == 'X')
        return put_hex(out, verb, text);
    return put_padded(out, verb, true, cut(verb, text));
}

/* ---- numbers ---- */

static bool put_digits(struct bytes *out, const struct verb *verb, bool minus, uint64_t size,
                       unsigned base)
{
    static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
    const bool sign = minus || verb->plus || verb->space;
    int digits =
        verb->precision < 0 && verb->zero && !verb->minus ? verb->width - sign : verb->precision;
    char text[INTEGER_SIZE], *end = text + sizeof text, *at = end;
    if (verb->precision == 0 && size == 0)
        return put_padded(out, verb, false, VIEW(""));
    do
        *--at = (verb->letter == 'X' ? upper : lower)[size % base];
    while (size /= base);
    while (end - at < digits)
        *--at = '0';
    if (sign)
        *--at = minus ? '-' : verb->plus ? '+' : ' ';
    return put_padded(out, verb, false, (struct view){(const uint8_t *)at, (size_t)(end - at)});
}

static bool put_int(struct bytes *out, const struct verb *verb, int64_t number)
{
    uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    uint8_t character[4];
    switch (verb->letter) {
    case 'q':
        return put_quoted(out, verb, '\'', character_of((uint64_t)number, character));
    case 'c':
        return put_padded(out, verb, true, character_of((uint64_t)number, character));
    case 'b':
        return put_digits(out, verb, number < 0, size, 2);
    case 'o':
        return put_digits(out, verb, number < 0, size, 8);
    case 'x':
    case 'X':
        return put_digits(out, verb, number < 0, size, 16);
    default:
        return put_digits(out, verb, number < 0, size, 10);
    }
}

/* As %v: the shortest that reads back, with an exponent where it is below -4 or above 5. */
static void plain_double(double number, char text[NUMBER_SIZE])
{
    double size = fabs(number);
    if (size == 0 || (size >= 1e-4 && size < 1e6) || !isfinite(number)) {
        text[value_decimal_text(number, text)] = '\0';
        return;
    }
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, NUMBER_SIZE, "%.*e", precision, number);
        if (strtod(text, NULL) == number)
            return;
    }
}

/* Mantissa and exponent, both in decimal: 4503599627370496p-52. */
static void binary_double(double number, char text[NUMBER_SIZE])
{
    int exponent;
    double part = frexp(number, &exponent);
    uint64_t mantissa = (uint64_t)ldexp(fabs(part), 53);
    exponent -= 53;
    for (; exponent < -1074 || number == 0; exponent++, mantissa >>= 1) /* denormal */
        if (number == 0) {
            exponent = -1074;
            break;
        }
    snprintf(text, NUMBER_SIZE, "%s%llup%+d", signbit(number) ? "-" : "",
             (unsigned long long)mantissa, exponent);
}

/* As C's %a, but with two digits of the exponent, and a 1 in front of denormal ones too. */
static void hex_double(double number, int precision, char text[NUMBER_SIZE])
{
    int exponent = 0;
    double part = number == 0 ? number : 2 * frexp(number, &exponent);
    exponent -= number != 0;
    int size = precision < 0 ? snprintf(text, NUMBER_SIZE, "%a", part)
                             : snprintf(text, NUMBER_SIZE, "%.*a", precision, part);
    char *mark = memchr(text, 'p', (size_t)size);
    exponent += atoi(mark + 1);
    char *lead = strchr(text, 'x') + 1;
    exponent += *lead == '2'; /* rounded up */
    *lead = *lead == '2' ? '1' : *lead;
    snprintf(mark, (size_t)(text + NUMBER_SIZE - mark), "p%c%02d", exponent < 0 ? '-' : '+',
             abs(exponent));
}

/* The digits of a finite number, with a minus in front of a negative one. */
static void double_text(const struct verb *verb, double number, char text[NUMBER_SIZE])
{
    switch (verb->letter) {
    case 'b':
        binary_double(number, text);
        break;
    case 'x':
    case 'X':
        hex_double(number, verb->precision, text);
        break;
    case 'e':
    case 'E':
        snprintf(text, NUMBER_SIZE, "%.*e", verb->precision < 0 ? 6 : verb->precision, number);
        break;
    case 'f':
    case 'F':
        snprintf(text, NUMBER_SIZE, "%.*f", verb->precision < 0 ? 6 : verb->precision, number);
        break;
    default:
        if (verb->precision < 0)
            plain_double(number, text);
        else
            snprintf(text, NUMBER_SIZE, "%.*g", verb->precision, number);
    }
    for (char *at = text; strchr("EGX", verb->letter) && *at; at++)
        *at = (char)toupper((unsigned char)*at);
}

static bool put_double(struct bytes *out, const struct verb *verb, double number)
{
    char text[NUMBER_SIZE + 1];
    bool plus = verb->plus, space = verb->space;
    if (isfinite(number))
        double_text(verb, number, text + 1);
    else
        snprintf(text + 1, NUMBER_SIZE, isnan(number) ? "NaN" : number < 0 ? "-Inf" : "+Inf");
    char *at = text + 1;
    bool sign = *at == '-' || *at == '+' || plus || space;
    if (*at != '-' && *at != '+')
        *--at = '+';
    if (*at == '+')
        *at = space && !plus ? ' ' : '+';
    if (!isfinite(number))
        return put_padded(out, verb, false, view_of(at + !sign));
    if (sign && verb->zero && !verb->minus && verb->width > (int)strlen(at)) {
        struct verb rest = *verb;
        rest.width--;
        return bytes_append(out, at, 1) == BYTES_OK &&
               put_padded(out, &rest, true, view_of(at + 1));
    }
    return put_padded(out, verb, true, view_of(at + !sign));
}

/* As %v. Data NULL: the run has failed. */
static struct view plain(struct ottl_run *run, const struct ottl_value *value,
                         char text[NUMBER_SIZE], const char **type)
{
    switch ((int)value->type) {
    case TYPE_STRING:
        *type = "string=";
        return value->bytes;
    case TYPE_INT:
        *type = "int64=";
        snprintf(text, NUMBER_SIZE, "%lld", (long long)value->integer);
        return view_of(text);
    case TYPE_DOUBLE:
        *type = "float64=";
        plain_double(value->number, text);
        return view_of(text);
    case TYPE_BOOL:
        *type = "bool=";
        return view_of(value->boolean ? "true" : "false");
    case TYPE_NIL:
        *type = "";
        return VIEW("<nil>");
    default:
        ottl_fail(run, "Format cannot show %s", ottl_type_name(value->type));
        return (struct view){0};
    }
}

/* Ids and times have a text of their own, whatever the verb; durations too, or they are shown as
 * nanoseconds. */
static struct ottl_value as_shown(struct ottl_run *run, const struct verb *verb,
                                  const struct ottl_value *value)
{
    char text[64];
    if (value->type == TYPE_TRACE_ID || value->type == TYPE_SPAN_ID)
        return ottl_string(ottl_hex_text(run, value->bytes));
    if (value->type == TYPE_DURATION && strchr("svxXq", verb->letter)) {
        ottl_duration_text(value->integer, text);
        return ottl_string(ottl_keep_text(run, text));
    }
    if (value->type == TYPE_DURATION)
        return ottl_int(value->integer);
    if (value->type != TYPE_TIME)
        return *value;
    return ottl_string(ottl_time_text(run, value, VIEW("%F %T.%s %~ %Z")));
}

static bool put_bytes(struct ottl_run *run, struct bytes *out, const struct verb *verb,
                      struct view bytes);

/* integer: the type that Go shows of it; NULL: int64. */
static bool put_value(struct ottl_run *run, struct bytes *out, const struct verb *verb,
                      const struct ottl_value *given, const char *integer)
{
    const struct ottl_value shown_value = as_shown(run, verb, given), *value = &shown_value;
    char text[NUMBER_SIZE];
    const char *type;
    if (!run->failed && value->type == TYPE_BYTES)
        return put_bytes(run, out, verb, value->bytes);
    struct view shown = plain(run, value, text, &type);
    if (!shown.data)
        return false;
    if (value->type == TYPE_INT && strchr("dvxXobcq", verb->letter))
        return put_int(out, verb, value->integer);
    if (value->type == TYPE_DOUBLE && strchr("veEfFgGbxX", verb->letter))
        return put_double(out, verb, value->number);
    if (value->type == TYPE_STRING && strchr("vsxXq", verb->letter))
        return put_string(out, verb, shown);
    if (value->type == TYPE_BOOL && strchr("vt", verb->letter))
        return put_padded(out, verb, true, shown);
    if (value->type == TYPE_NIL && verb->letter == 'v')
        return put_padded(out, verb, true, shown);
    struct verb in = *verb; /* as Go shows a value whose verb does not fit */
    in.letter = 'v';
    if (integer)
        type = integer;
    return bytes_printf(out, "%%!%c(%s", verb->letter, type) == BYTES_OK &&
           (value->type == TYPE_INT      ? put_int(out, &in, value->integer)
            : value->type == TYPE_DOUBLE ? put_double(out, &in, value->number)
            : value->type == TYPE_NIL    ? bytes_append_view(out, shown) == BYTES_OK
            : value->type == TYPE_STRING ? put_string(out, &in, shown)
                                         : put_padded(out, &in, true, shown)) &&
           bytes_append(out, ")", 1) == BYTES_OK;
}

/* As a string, or one by one: [0 1 255]. */
static bool put_bytes(struct ottl_run *run, struct bytes *out, const struct verb *verb,
                      struct view bytes)
{
    if (strchr("sxXq", verb->letter))
        return put_string(out, verb, bytes);
    bool ok = bytes_append(out, "[", 1) == BYTES_OK;
    for (size_t i = 0; ok && i < bytes.size; i++) {
        struct ottl_value each = ottl_int(bytes.data[i]);
        ok = (!i || bytes_append(out, " ", 1) == BYTES_OK) &&
             put_value(run, out, verb, &each, "uint8=");
    }
    return ok && bytes_append(out, "]", 1) == BYTES_OK;
}

static struct ottl_value format(struct ottl_run *run, const struct ottl_node *call)
{
    struct view at = call->items[0]->value.bytes;
    const struct ottl_node *values = call->items[1];
    struct ottl_value made = ottl_nil();
    struct bytes out;
    bool ok = true;
    size_t next = 0;
    bytes_init(&out, (size_t)4 << 20, NULL);
    while (ok && at.size) {
        const uint8_t *sign = memchr(at.data, '%', at.size), *end = at.data + at.size;
        struct verb verb;
        ok = bytes_append_view(&out, view_between(at.data, sign ? sign : end)) == BYTES_OK;
        if (!sign)
            break;
        at = view_between(sign + 1, end);
        (void)next_verb(&at, &verb);
        verb.shown = call->regex;
        verb.plus = verb.plus && verb.letter != 'v'; /* %+v is for structs */
        if (verb.letter == '%') {
            ok = ok && bytes_append(&out, "%", 1) == BYTES_OK;
            continue;
        }
        struct ottl_value value = ottl_node_eval(values->items[next++], run);
        ok = ok && !run->failed &&
             put_value(run, &out, &verb, &value,
                       value.type == TYPE_DURATION ? "time.Duration=" : NULL);
    }
    if (ok)
        made = ottl_string(ottl_keep(run, bytes_view(&out)));
    else if (!run->failed)
        ottl_fail(run, "Format: the result is too large");
    bytes_release(&out);
    return made;
}

const struct ottl_function ottl_format_functions[] = {
    {"Format", "format,vals", format, FN_NO_PATTERN, false, 0, check_format},
    {0},
};
