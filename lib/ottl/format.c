/* Format: Go's fmt.Sprintf, with the verbs that configurations use. */
#include "lib/ottl/function.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH_MOST = 1000, NUMBER_SIZE = 1400 };

/* One verb of a format: "%-8.2f". */
struct verb {
    bool minus, plus, space, zero, sharp;
    int width, precision; /* -1: none */
    char letter;
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
    return strchr("%svdfetxX", verb->letter);
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
            return "only the verbs %s, %v, %d, %f, %e, %t, %x, %X and %% are supported";
        verbs += verb.letter != '%';
    }
    return verbs == values->count
               ? NULL
               : "the number of verbs in the format differs from the number of values";
}

static size_t characters(struct view text, size_t most, size_t *count)
{
    size_t i = 0;
    for (*count = 0; i < text.size; i++) {
        bool starts = (text.data[i] & 0xc0) != 0x80;
        if (starts && *count == most)
            break;
        *count += starts;
    }
    return i;
}

/* Writes a text padded to its width. */
static bool put_text(struct bytes *out, const struct verb *verb, struct view text)
{
    size_t count, most = verb->precision < 0 ? SIZE_MAX : (size_t)verb->precision;
    bool number = verb->letter != 's' && verb->letter != 'v';
    text.size = characters(text, number ? SIZE_MAX : most, &count);
    int blanks = verb->width > (int)count ? verb->width - (int)count : 0;
    return (verb->minus || bytes_printf(out, "%*s", blanks, "") == BYTES_OK) &&
           bytes_append_view(out, text) == BYTES_OK &&
           (!verb->minus || bytes_printf(out, "%*s", blanks, "") == BYTES_OK);
}

/* The conversion of printf, which is the same as Go's. */
static const char *conversion(const struct verb *verb, const char *type, char text[32])
{
    snprintf(text, 32, "%%%s%s%s%s*.*%s", verb->minus ? "-" : "", verb->plus ? "+" : "",
             verb->space ? " " : "", verb->zero && !verb->minus ? "0" : "", type);
    return text;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static bool put_int(struct bytes *out, const struct verb *verb, int64_t number)
{
    char form[32];
    int width = verb->width < 0 ? 0 : verb->width;
    return bytes_printf(out, conversion(verb, "lld", form), width, verb->precision,
                        (long long)number) == BYTES_OK;
}

static bool put_double(struct bytes *out, const struct verb *verb, double number)
{
    char form[32], type[2] = {verb->letter, '\0'};
    int width = verb->width < 0 ? 0 : verb->width;
    return bytes_printf(out, conversion(verb, type, form), width,
                        verb->precision < 0 ? 6 : verb->precision, number) == BYTES_OK;
}
#pragma GCC diagnostic pop

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

static bool put_hex(struct bytes *out, const struct verb *verb, const struct ottl_value *value)
{
    bool upper = verb->letter == 'X', ok = true;
    char text[40];
    if (value->type == TYPE_INT) {
        uint64_t size =
            value->integer < 0 ? 0 - (uint64_t)value->integer : (uint64_t)value->integer;
        snprintf(text, sizeof text, upper ? "%s%llX" : "%s%llx", value->integer < 0 ? "-" : "",
                 (unsigned long long)size);
        return put_text(out, verb, view_of(text));
    }
    for (size_t i = 0; ok && i < value->bytes.size; i++)
        ok = bytes_printf(out, upper ? "%02X" : "%02x", value->bytes.data[i]) == BYTES_OK;
    return ok;
}

/* Ids and times have a text of their own, whatever the verb; durations too, or they are shown as
 * nanoseconds. */
static struct ottl_value as_shown(struct ottl_run *run, const struct verb *verb,
                                  const struct ottl_value *value)
{
    char text[64];
    if (value->type == TYPE_TRACE_ID || value->type == TYPE_SPAN_ID)
        return ottl_string(ottl_hex_text(run, value->bytes));
    if (value->type == TYPE_DURATION && strchr("svxX", verb->letter)) {
        ottl_duration_text(value->integer, text);
        return ottl_string(ottl_keep_text(run, text));
    }
    if (value->type == TYPE_DURATION && verb->letter == 'd')
        return ottl_int(value->integer);
    if (value->type != TYPE_TIME)
        return *value;
    return ottl_string(ottl_time_text(run, value, VIEW("%F %T.%s %~ %Z")));
}

static bool put_value(struct ottl_run *run, struct bytes *out, const struct verb *verb,
                      const struct ottl_value *given)
{
    const struct ottl_value shown_value = as_shown(run, verb, given), *value = &shown_value;
    char text[NUMBER_SIZE];
    const char *type;
    bool number = verb->letter == 'f' || verb->letter == 'e';
    bool hex = verb->letter == 'x' || verb->letter == 'X';
    struct view shown = plain(run, value, text, &type);
    if (!shown.data)
        return false;
    if (value->type == TYPE_INT && (verb->letter == 'd' || verb->letter == 'v'))
        return put_int(out, verb, value->integer);
    if (value->type == TYPE_DOUBLE && number)
        return put_double(out, verb, value->number);
    if (hex && (value->type == TYPE_INT || value->type == TYPE_STRING))
        return put_hex(out, verb, value);
    if (verb->letter == 'v' || (verb->letter == 's' && value->type == TYPE_STRING) ||
        (verb->letter == 't' && value->type == TYPE_BOOL))
        return put_text(out, verb, shown);
    return bytes_printf(out, "%%!%c(%s%.*s)", verb->letter, type, VIEW_ARG(shown)) == BYTES_OK;
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
        if (verb.letter == '%') {
            ok = ok && bytes_append(&out, "%", 1) == BYTES_OK;
            continue;
        }
        struct ottl_value value = ottl_node_eval(values->items[next++], run);
        ok = ok && !run->failed && put_value(run, &out, &verb, &value);
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
