/* Converters that test or change a type, and those of ids. */
#include "lib/ottl/function.h"
#include "lib/ottl/path.h"

#include "lib/base/numeral.h"
#include "lib/wire/proto/text.h"

#include <endian.h>
#include <math.h>

static struct ottl_value is_type(struct ottl_run *run, const struct ottl_node *call,
                                 enum ottl_type type)
{
    struct ottl_value value = ottl_arg(run, call, 0);
    return ottl_bool(value.type == type);
}

static struct ottl_value is_string(struct ottl_run *run, const struct ottl_node *call)
{
    return is_type(run, call, TYPE_STRING);
}

static struct ottl_value is_bool(struct ottl_run *run, const struct ottl_node *call)
{
    return is_type(run, call, TYPE_BOOL);
}

static struct ottl_value is_int(struct ottl_run *run, const struct ottl_node *call)
{
    return is_type(run, call, TYPE_INT);
}

static struct ottl_value is_double(struct ottl_run *run, const struct ottl_node *call)
{
    return is_type(run, call, TYPE_DOUBLE);
}

static struct ottl_value is_map(struct ottl_run *run, const struct ottl_node *call)
{
    return is_type(run, call, TYPE_MAP);
}

static struct ottl_value is_list(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = ottl_arg(run, call, 0);
    return ottl_bool(value.type == TYPE_LIST || value.type == TYPE_MESSAGES);
}

/* Reads a text that is a number. */
static bool number_in(struct view text, bool integer, struct ottl_value *value)
{
    *value = integer ? ottl_int(0) : ottl_double(0);
    return integer ? numeral_int(text, &value->integer) : numeral_double(text, &value->number);
}

static struct ottl_value to_int(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = ottl_arg(run, call, 0), made;
    bool fits = value.type == TYPE_DOUBLE && value.number > -9223372036854775808.0 &&
                value.number < 9223372036854775808.0;
    if (run->failed || value.type == TYPE_NIL || value.type == TYPE_INT)
        return value;
    if (value.type == TYPE_DOUBLE)
        return ottl_int(fits ? (int64_t)value.number : INT64_MIN);
    if (value.type == TYPE_BOOL)
        return ottl_int(value.boolean);
    if (value.type == TYPE_STRING)
        return number_in(value.bytes, true, &made) ? made : ottl_nil();
    return ottl_fail(run, "Int cannot convert %s", ottl_type_name(value.type));
}

static struct ottl_value to_double(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = ottl_arg(run, call, 0), made;
    if (run->failed || value.type == TYPE_NIL || value.type == TYPE_DOUBLE)
        return value;
    if (value.type == TYPE_INT)
        return ottl_double((double)value.integer);
    if (value.type == TYPE_BOOL)
        return ottl_double(value.boolean);
    if (value.type == TYPE_STRING && number_in(value.bytes, false, &made))
        return made;
    return ottl_fail(run,
                     value.type == TYPE_STRING ? "%s takes a string that holds a number"
                                               : "%s takes a number, bool or string",
                     call->function->name);
}

static struct ottl_value logarithm(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = to_double(run, call);
    if (!run->failed && (value.type == TYPE_NIL || value.number <= 0)) /* NaN has one */
        ottl_fail(run, "Log takes a number greater than 0");
    return run->failed ? ottl_nil() : ottl_double(log(value.number));
}

static struct ottl_value to_bool(struct ottl_run *run, const struct ottl_node *call)
{
    static const char *const words[] = {"0", "f", "F", "false", "FALSE", "False",
                                        "1", "t", "T", "true",  "TRUE",  "True"};
    struct ottl_value value = ottl_arg(run, call, 0);
    if (run->failed || value.type == TYPE_NIL || value.type == TYPE_BOOL)
        return value;
    if (value.type == TYPE_INT)
        return ottl_bool(value.integer != 0);
    if (value.type == TYPE_DOUBLE)
        return ottl_bool(value.number != 0);
    for (int i = 0; value.type == TYPE_STRING && i < 12; i++)
        if (view_eq(value.bytes, view_of(words[i])))
            return ottl_bool(i >= 6);
    return ottl_fail(run, "Bool takes a number, or a string such as true");
}

static struct ottl_value to_string(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_text(run, call, 0);
    return text.data ? ottl_string(text) : ottl_nil();
}

static struct ottl_value len(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = ottl_arg(run, call, 0);
    struct proto_scan scan;
    struct proto_field field;
    int64_t count = 0;
    if (run->failed)
        return ottl_nil();
    if (value.type == TYPE_STRING || value.type == TYPE_BYTES)
        return ottl_int((int64_t)value.bytes.size);
    if (value.type == TYPE_MESSAGES)
        return ottl_int(value.integer);
    if (value.type != TYPE_LIST && value.type != TYPE_MAP)
        return ottl_fail(run, "Len takes a string, bytes, list or map, not %s",
                         ottl_type_name(value.type));
    scan = proto_scan_begin(value.bytes);
    while (proto_scan_next(&scan, &field))
        count += field.number == 1;
    return ottl_int(count);
}

/* ---- ids ---- */

enum { TRACE_ID_SIZE = 16, SPAN_ID_SIZE = 8 };

/* The bytes of an id or its hex digits, in bytes or a string; of a number its bits. False: it is
 * not an id of that size. */
static bool read_id(const struct ottl_value *value, size_t size, uint8_t id[TRACE_ID_SIZE])
{
    uint64_t bits = htobe64((uint64_t)value->integer); /* of a double too */
    struct view bytes = {(uint8_t *)&bits, sizeof bits};
    if (value->type == TYPE_STRING || value->type == TYPE_BYTES)
        bytes = value->bytes;
    else if (value->type != TYPE_INT && value->type != TYPE_DOUBLE)
        return false;
    if (bytes.size != size)
        return text_hex_bytes(bytes, id, size);
    memcpy(id, bytes.data, size);
    return true;
}

static struct ottl_value to_id(struct ottl_run *run, const struct ottl_node *call, size_t size,
                               enum ottl_type type)
{
    struct ottl_value value = ottl_arg(run, call, 0);
    uint8_t id[TRACE_ID_SIZE];
    if (!run->failed && !read_id(&value, size, id))
        ottl_fail(run, "%s takes %zu bytes or %zu hex digits", call->function->name, size,
                  2 * size);
    return run->failed ? ottl_nil() : ottl_bytes(type, ottl_keep(run, (struct view){id, size}));
}

static struct ottl_value trace_id(struct ottl_run *run, const struct ottl_node *call)
{
    return to_id(run, call, TRACE_ID_SIZE, TYPE_TRACE_ID);
}

static const char *check_trace_id(const struct ottl_node *call)
{
    uint8_t id[TRACE_ID_SIZE];
    bool wrong =
        call->items[0]->kind == NODE_LITERAL && !read_id(&call->items[0]->value, TRACE_ID_SIZE, id);
    return wrong ? "expected 16 bytes or 32 hex digits" : NULL;
}

static struct ottl_value span_id(struct ottl_run *run, const struct ottl_node *call)
{
    return to_id(run, call, SPAN_ID_SIZE, TYPE_SPAN_ID);
}

static const char *check_span_id(const struct ottl_node *call)
{
    uint8_t id[TRACE_ID_SIZE];
    bool wrong =
        call->items[0]->kind == NODE_LITERAL && !read_id(&call->items[0]->value, SPAN_ID_SIZE, id);
    return wrong ? "expected 8 bytes or 16 hex digits" : NULL;
}

static struct ottl_value is_root_span(struct ottl_run *run, const struct ottl_node *call)
{
    struct proto_field parent;
    (void)call;
    if (!record_get(&run->at->records[EDIT_ITEM], 4, &parent))
        return ottl_bool(true);
    for (size_t i = 0; i < parent.bytes.size; i++)
        if (parent.bytes.data[i])
            return ottl_bool(false);
    return ottl_bool(true);
}

/* ---- attributes of a metric's data points ---- */

/* Whether any point has the attribute; with a value, whether the first of these points has it with
 * that value, as in the Collector. */
static bool any_point_has(struct ottl_run *run, struct view key, const struct ottl_value *wanted)
{
    static const uint8_t lists[] = {[5] = 7, [7] = 7, [9] = 9, [10] = 1, [11] = 7};
    struct proto_scan scan = proto_scan_begin(run->at->records[EDIT_ITEM].body), points;
    struct proto_field data, point, found;
    if (!ottl_metric_data(&run->at->records[EDIT_ITEM], &data)) {
        ottl_fail(run, "the metric has no data");
        return false;
    }
    while (proto_scan_next(&scan, &data)) {
        uint32_t list = data.number < sizeof lists ? lists[data.number] : 0;
        if (!list || data.type != WIRE_LEN)
            continue;
        points = proto_scan_begin(data.bytes);
        while (proto_scan_next(&points, &point)) {
            struct attributes attributes;
            struct value value;
            if (point.number != 1 || point.type != WIRE_LEN ||
                !otlp_attribute_find(point.bytes, list, key, &found))
                continue;
            if (!wanted)
                return true;
            attributes_read(&attributes, point.bytes, list, ottl_arena(run));
            if (!attributes_get(&attributes, key, &value))
                continue;
            struct view text = value.kind == VALUE_STRING ? value.bytes : VIEW("");
            return view_eq(text, wanted->bytes);
        }
    }
    return false;
}

static struct ottl_value has_key_on_point(struct ottl_run *run, const struct ottl_node *call)
{
    struct view key = ottl_arg_string(run, call, 0);
    return ottl_bool(!run->failed && any_point_has(run, key, NULL));
}

static struct ottl_value has_on_point(struct ottl_run *run, const struct ottl_node *call)
{
    struct view key = ottl_arg_string(run, call, 0);
    struct ottl_value wanted = ottl_string(ottl_arg_string(run, call, 1));
    return ottl_bool(!run->failed && any_point_has(run, key, &wanted));
}

/* The first that is not nil. */
static struct ottl_value coalesce(struct ottl_run *run, const struct ottl_node *call)
{
    const struct ottl_node *list = call->items[0];
    struct ottl_value value = ottl_nil();
    for (size_t i = 0; i < list->count && value.type == TYPE_NIL && !run->failed; i++)
        value = ottl_node_eval(list->items[i], run);
    return value;
}

static const char *check_coalesce(const struct ottl_node *call)
{
    bool list = call->items[0]->kind == NODE_LIST_OF && call->items[0]->count;
    return list ? NULL : "expected a list of values";
}

static bool all_zero(struct view bytes)
{
    size_t i = 0;
    while (i < bytes.size && !bytes.data[i])
        i++;
    return i == bytes.size;
}

static struct ottl_value is_empty(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = ottl_arg(run, call, 0);
    switch (value.type) {
    case TYPE_NIL:
        return ottl_bool(!run->failed);
    case TYPE_BOOL:
        return ottl_bool(!value.boolean);
    case TYPE_INT:
    case TYPE_DURATION:
        return ottl_bool(value.integer == 0);
    case TYPE_DOUBLE:
        return ottl_bool(value.number == 0);
    case TYPE_STRING:
    case TYPE_BYTES:
    case TYPE_LIST:
    case TYPE_MAP:
        return ottl_bool(value.bytes.size == 0);
    case TYPE_TRACE_ID:
    case TYPE_SPAN_ID:
        return ottl_bool(all_zero(value.bytes));
    case TYPE_TIME: /* the epoch is a time too */
    case TYPE_MESSAGES:
        break;
    }
    return ottl_bool(false);
}

/* The base by the prefix 0x, 0b, 0o or 0, which is removed. *prefixed: it has one. */
static int64_t base_of(struct view *digits, bool *prefixed)
{
    static const struct {
        const char *prefix;
        int64_t base;
    } prefixes[] = {{"0x", 16}, {"0X", 16}, {"0b", 2}, {"0B", 2}, {"0o", 8}, {"0O", 8}, {"0", 8}};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        struct view prefix = view_of(prefixes[i].prefix);
        if (digits->size <= prefix.size || !view_starts(*digits, prefix))
            continue;
        *digits = (struct view){digits->data + prefix.size, digits->size - prefix.size};
        *prefixed = true;
        return prefixes[i].base;
    }
    *prefixed = false;
    return 10;
}

static int digit_of(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 36;
}

/* after: what may be between digits may stand in front of the first. */
static bool parse_digits(struct view digits, uint64_t base, bool underscores, bool after,
                         uint64_t most, uint64_t *sum)
{
    *sum = 0;
    for (size_t i = 0; i < digits.size; i++) {
        uint64_t digit = (uint64_t)digit_of(digits.data[i]);
        bool between = underscores && digits.data[i] == '_' && after && i + 1 < digits.size;
        after = !between;
        if (between)
            continue;
        if (digit >= base || *sum > (most - digit) / base)
            return false;
        *sum = *sum * base + digit;
    }
    return digits.size;
}

static struct ottl_value parse_int(struct ottl_run *run, const struct ottl_node *call)
{
    struct view digits = ottl_arg_string(run, call, 0);
    int64_t base = run->failed ? 0 : ottl_arg_int(run, call, 1);
    uint64_t sum;
    if (run->failed)
        return ottl_nil();
    if (base < 0 || base == 1 || base > 36)
        return ottl_fail(run, "ParseInt: base %lld, expected 0 or 2 to 36", (long long)base);
    bool minus = digits.size && *digits.data == '-', sign = minus || view_starts(digits, VIEW("+"));
    digits = (struct view){digits.data + sign, digits.size - sign};
    bool any = base == 0, prefixed = false;
    if (any)
        base = base_of(&digits, &prefixed);
    if (!parse_digits(digits, (uint64_t)base, any, prefixed, (uint64_t)INT64_MAX + minus, &sum))
        return ottl_fail(run, "ParseInt: not an integer in base %lld", (long long)base);
    return ottl_int((int64_t)(minus ? 0 - sum : sum));
}

/* Whether the last digit is the check digit of the others (ISO/IEC 7812-1, annex B). */
static struct ottl_value is_luhn(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_text(run, call, 0);
    unsigned sum = 0, digits = 0;
    if (!run->failed && !text.data)
        ottl_fail(run, "IsValidLuhn takes a string or a number, not nil");
    for (size_t i = text.size; !run->failed && i-- > 0;) {
        unsigned digit = (unsigned)text.data[i] - '0';
        if (text.data[i] == ' ')
            continue;
        if (digit > 9)
            return ottl_fail(run, "IsValidLuhn takes digits and spaces");
        digit *= 1 + digits++ % 2;
        sum += digit > 9 ? digit - 9 : digit;
    }
    return run->failed ? ottl_nil() : ottl_bool(digits && sum % 10 == 0);
}

/* A literal text that cannot be converted. */
static const char *check_text(const struct ottl_node *call)
{
    struct ottl_run run = {0};
    if (!ottl_is_text(call->items[0]))
        return NULL;
    call->function->fn(&run, call);
    return run.failed ? "this text cannot be converted" : NULL;
}

#define ON_METRICS (1u << OTTL_METRIC)
#define ON_SPANS   (1u << OTTL_SPAN)

const struct ottl_function ottl_type_functions[] = {
    {"IsString", "target", is_string, FN_NO_PATTERN, false, 0, NULL},
    {"IsBool", "target", is_bool, FN_NO_PATTERN, false, 0, NULL},
    {"IsInt", "target", is_int, FN_NO_PATTERN, false, 0, NULL},
    {"IsDouble", "target", is_double, FN_NO_PATTERN, false, 0, NULL},
    {"IsMap", "target", is_map, FN_NO_PATTERN, false, 0, NULL},
    {"IsList", "target", is_list, FN_NO_PATTERN, false, 0, NULL},
    {"Int", "target", to_int, FN_NO_PATTERN, false, 0, NULL},
    {"Double", "target", to_double, FN_NO_PATTERN, false, 0, check_text},
    {"Log", "target", logarithm, FN_NO_PATTERN, false, 0, check_text},
    {"Bool", "target", to_bool, FN_NO_PATTERN, false, 0, check_text},
    {"String", "target", to_string, FN_NO_PATTERN, false, 0, NULL},
    {"IsEmpty", "target", is_empty, FN_NO_PATTERN, false, 0, NULL},
    {"Coalesce", "values", coalesce, FN_NO_PATTERN, false, 0, check_coalesce},
    {"ParseInt", "target,base", parse_int, FN_NO_PATTERN, false, 0, NULL},
    {"Len", "target", len, FN_NO_PATTERN, false, 0, NULL},
    {"IsValidLuhn", "target", is_luhn, FN_NO_PATTERN, false, 0, NULL},
    {"TraceID", "target", trace_id, FN_NO_PATTERN, false, 0, check_trace_id},
    {"SpanID", "target", span_id, FN_NO_PATTERN, false, 0, check_span_id},
    {"IsRootSpan", "", is_root_span, FN_NO_PATTERN, false, ON_SPANS, NULL},
    {"HasAttrKeyOnDatapoint", "key", has_key_on_point, FN_NO_PATTERN, false,
     ON_METRICS | FN_CONDITIONS, NULL},
    {"HasAttrOnDatapoint", "key,expected_val", has_on_point, FN_NO_PATTERN, false,
     ON_METRICS | FN_CONDITIONS, NULL},
    {0},
};
