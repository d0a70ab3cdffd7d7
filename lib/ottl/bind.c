/* Resolves names: paths, functions, enums and patterns. */
#include "lib/base/nearest.h"
#include "lib/ottl/grok.h"
#include "lib/ottl/path.h"
#include "lib/ottl/plain.h"

#include <ctype.h>

static const struct {
    const char *name;
    int64_t value;
} enums[] = {
    {"SPAN_KIND_UNSPECIFIED", 0},
    {"SPAN_KIND_INTERNAL", 1},
    {"SPAN_KIND_SERVER", 2},
    {"SPAN_KIND_CLIENT", 3},
    {"SPAN_KIND_PRODUCER", 4},
    {"SPAN_KIND_CONSUMER", 5},
    {"STATUS_CODE_UNSET", 0},
    {"STATUS_CODE_OK", 1},
    {"STATUS_CODE_ERROR", 2},
    {"SEVERITY_NUMBER_UNSPECIFIED", 0},
    {"SEVERITY_NUMBER_TRACE", 1},
    {"SEVERITY_NUMBER_TRACE2", 2},
    {"SEVERITY_NUMBER_TRACE3", 3},
    {"SEVERITY_NUMBER_TRACE4", 4},
    {"SEVERITY_NUMBER_DEBUG", 5},
    {"SEVERITY_NUMBER_DEBUG2", 6},
    {"SEVERITY_NUMBER_DEBUG3", 7},
    {"SEVERITY_NUMBER_DEBUG4", 8},
    {"SEVERITY_NUMBER_INFO", 9},
    {"SEVERITY_NUMBER_INFO2", 10},
    {"SEVERITY_NUMBER_INFO3", 11},
    {"SEVERITY_NUMBER_INFO4", 12},
    {"SEVERITY_NUMBER_WARN", 13},
    {"SEVERITY_NUMBER_WARN2", 14},
    {"SEVERITY_NUMBER_WARN3", 15},
    {"SEVERITY_NUMBER_WARN4", 16},
    {"SEVERITY_NUMBER_ERROR", 17},
    {"SEVERITY_NUMBER_ERROR2", 18},
    {"SEVERITY_NUMBER_ERROR3", 19},
    {"SEVERITY_NUMBER_ERROR4", 20},
    {"SEVERITY_NUMBER_FATAL", 21},
    {"SEVERITY_NUMBER_FATAL2", 22},
    {"SEVERITY_NUMBER_FATAL3", 23},
    {"SEVERITY_NUMBER_FATAL4", 24},
    {"AGGREGATION_TEMPORALITY_UNSPECIFIED", 0},
    {"AGGREGATION_TEMPORALITY_DELTA", 1},
    {"AGGREGATION_TEMPORALITY_CUMULATIVE", 2},
    {"METRIC_DATA_TYPE_NONE", 0},
    {"METRIC_DATA_TYPE_GAUGE", 1},
    {"METRIC_DATA_TYPE_SUM", 2},
    {"METRIC_DATA_TYPE_HISTOGRAM", 3},
    {"METRIC_DATA_TYPE_EXPONENTIAL_HISTOGRAM", 4},
    {"METRIC_DATA_TYPE_SUMMARY", 5},
    {"FLAG_NONE", 0},
    {"FLAG_NO_RECORDED_VALUE", 1},
};

struct binder {
    struct ottl *ottl;
    enum ottl_context context;
    bool named;
    struct ottl_fault *fault;
};

static bool bind_node(const struct binder *binder, struct ottl_node *node);

static bool bind_all(const struct binder *binder, struct ottl_node **nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i] && !bind_node(binder, nodes[i]))
            return false;
    return true;
}

static bool bind_enum(const struct binder *binder, struct ottl_node *node)
{
    for (size_t i = 0; i < sizeof enums / sizeof *enums; i++)
        if (view_eq(node->name, view_of(enums[i].name))) {
            node->kind = NODE_LITERAL;
            node->value = ottl_int(enums[i].value);
            return true;
        }
    int size = (int)(node->name.size < 80 ? node->name.size : 80);
    if (ottl_function_find(node->name))
        return ottl_say(binder->ottl, node->at, binder->fault, "expected (...) after %.*s", size,
                        node->name.data);
    struct nearest nearest = nearest_begin(node->name);
    char hint[120];
    for (size_t i = 0; i < sizeof enums / sizeof *enums; i++)
        nearest_offer(&nearest, enums[i].name);
    nearest_hint(&nearest, hint);
    return ottl_say(binder->ottl, node->at, binder->fault, "unknown enum %.*s%s", size,
                    node->name.data, hint);
}

/* Finds the converter that is an argument. The Collector takes those of one string, and needs a
 * string from them. */
static bool bind_converter(const struct binder *binder, struct ottl_node *node)
{
    static const char *const names[] = {
        "Base64Decode", "MD5",         "Murmur3Hash", "Murmur3Hash128", "SHA1",       "SHA256",
        "SHA512",       "ToCamelCase", "ToLowerCase", "ToSnakeCase",    "ToUpperCase"};
    node->function = node->kind == NODE_ENUM ? ottl_function_find(node->name) : NULL;
    node->kind = NODE_FUNCTION;
    for (size_t i = 0; node->function && i < sizeof names / sizeof *names; i++)
        if (strcmp(node->function->name, names[i]) == 0)
            return true;
    return ottl_say(binder->ottl, node->at, binder->fault,
                    "expected the name of a converter from a string to a string: Base64Decode, "
                    "MD5, Murmur3Hash, Murmur3Hash128, SHA1, SHA256, SHA512, ToCamelCase, "
                    "ToLowerCase, ToSnakeCase or ToUpperCase");
}

/* The i-th of "target,pattern?": its name, and whether it may be left out. Size 0: no more. */
static struct view parameter(const struct ottl_function *function, size_t i, bool *optional)
{
    const char *at = function->parameters;
    for (; i > 0 && *at; i--) {
        at += strcspn(at, ",");
        at += *at == ',';
    }
    size_t size = strcspn(at, ",");
    *optional = size > 0 && at[size - 1] == '?';
    return (struct view){(const uint8_t *)at, size - *optional};
}

static bool is_lower_of(uint8_t lower, uint8_t letter)
{
    return lower == tolower(letter);
}

/* Whether an argument is named as a parameter, in snake or camel case. */
static bool same_name(struct view parameter, struct view argument)
{
    size_t i = 0, j = 0;
    while (i < parameter.size && j < argument.size) {
        i += parameter.data[i] == '_';
        j += argument.data[j] == '_';
        if (i == parameter.size || j == argument.size ||
            !is_lower_of(parameter.data[i++], argument.data[j++]))
            return false;
    }
    return i == parameter.size && j == argument.size;
}

/* Puts the arguments in the order of the parameters; named ones follow the others. */
static bool place_arguments(const struct binder *binder, struct ottl_node *call)
{
    struct ottl_node **placed =
        arena_array(&binder->ottl->arena, OTTL_ARGUMENTS_MAX, sizeof *placed);
    const char *name = call->function->name;
    bool optional;
    if (!placed)
        return ottl_say(binder->ottl, call->at, binder->fault, "out of memory");
    for (size_t i = 0; i < call->count; i++) {
        struct ottl_node *item = call->items[i];
        size_t place = item->argument.size ? 0 : i;
        if (i > 0 && !item->argument.size && call->items[i - 1]->argument.size)
            return ottl_say(binder->ottl, item->at, binder->fault,
                            "an argument without a name behind one with a name");
        for (; item->argument.size; place++) {
            struct view each = parameter(call->function, place, &optional);
            if (!each.size || same_name(each, item->argument))
                break;
        }
        bool known = parameter(call->function, place, &optional).size;
        if (!known && item->argument.size)
            return ottl_say(binder->ottl, item->at, binder->fault,
                            "%s has no argument %.*s, expected one of %s", name,
                            (int)(item->argument.size < 40 ? item->argument.size : 40),
                            item->argument.data, call->function->parameters);
        if (!known)
            return ottl_say(binder->ottl, item->at, binder->fault, "too many arguments for %s",
                            name);
        if (placed[place])
            return ottl_say(binder->ottl, item->at, binder->fault,
                            "%s: argument %.*s is given twice", name,
                            VIEW_ARG(parameter(call->function, place, &optional)));
        placed[place] = item;
    }
    size_t count = 0;
    for (struct view each; (each = parameter(call->function, count, &optional)).size; count++)
        if (!placed[count] && !optional)
            return ottl_say(binder->ottl, call->at, binder->fault, "%s: missing argument %.*s",
                            name, VIEW_ARG(each));
    call->items = placed;
    call->count = count;
    return true;
}

static bool bind_converters(const struct binder *binder, struct ottl_node *call)
{
    bool optional;
    for (size_t i = 0; i < call->count; i++)
        if (call->items[i] && view_eq(parameter(call->function, i, &optional), VIEW("function")) &&
            !bind_converter(binder, call->items[i]))
            return false;
    return true;
}

/* What a backslash of a glob stands in front of: that character as it is. */
static struct view glob_quoted(struct view rest)
{
    bool punctuation = rest.size > 1 && rest.data[1] < 0x80 && ispunct(rest.data[1]);
    return punctuation ? (struct view){rest.data, 2}
                       : (struct view){rest.data + 1, rest.size > 1 ? 1 : 0};
}

/* "a*b?" as a regular expression over the whole text. A brace that is not closed is closed at the
 * end, as in the Collector. */
static bool of_glob(struct view glob, struct bytes *out)
{
    unsigned braces = 0;
    bool ok = bytes_append_view(out, VIEW("(?s)^(?:")) == BYTES_OK;
    for (size_t i = 0; ok && i < glob.size; i++) {
        char c = (char)glob.data[i];
        struct view to = {glob.data + i, 1};
        if (c == '\\')
            to = glob_quoted((struct view){glob.data + i, glob.size - i});
        else if (c == '*' || c == '?')
            to = c == '*' ? VIEW(".*") : VIEW(".");
        else if (c == '{' || (c == '}' && braces))
            to = c == '{' ? VIEW("(?:") : VIEW(")");
        else if (c == ',' && braces)
            to = VIEW("|");
        else if (c == '!' && i > 0 && glob.data[i - 1] == '[')
            to = VIEW("^");
        else if (strchr(".+()|^$", c))
            ok = bytes_append_view(out, VIEW("\\")) == BYTES_OK;
        i += c == '\\';
        braces = c == '{' ? braces + 1 : c == '}' && braces ? braces - 1 : braces;
        ok = ok && bytes_append_view(out, to) == BYTES_OK;
    }
    for (; ok && braces; braces--)
        ok = bytes_append_view(out, VIEW(")")) == BYTES_OK;
    return ok && bytes_append_view(out, VIEW(")$")) == BYTES_OK;
}

static struct regex *compile(const struct ottl_function *function, struct view text, char *error,
                             size_t error_size)
{
    struct bytes translated;
    if (!function->glob)
        return regex_new(text, error, error_size);
    bytes_init(&translated, 4 * text.size + 64, NULL);
    struct regex *regex = NULL;
    if (of_glob(text, &translated))
        regex = regex_new(bytes_view(&translated), error, error_size);
    bytes_release(&translated);
    return regex;
}

static bool bind_pattern(const struct binder *binder, struct ottl_node *call)
{
    char error[200] = "out of memory";
    size_t i = (size_t)call->function->pattern;
    const struct ottl_node *pattern = call->items[i];
    if (view_eq(call->name, VIEW("ExtractGrokPatterns"))) {
        call->regex = grok_compile(call, &binder->ottl->arena, error, sizeof error);
        return call->regex || ottl_say(binder->ottl, call->at, binder->fault, "%s: %s",
                                       call->function->name, error);
    }
    if (!ottl_is_text(pattern))
        return ottl_say(binder->ottl, pattern->at, binder->fault,
                        "the pattern of %s must be a string literal", call->function->name);
    call->regex = compile(call->function, pattern->value.bytes, error, sizeof error);
    char *place = call->function->glob ? strstr(error, ", at character") : NULL;
    if (place) /* of what the glob was translated to */
        *place = '\0';
    return call->regex || ottl_say(binder->ottl, pattern->at, binder->fault, "invalid %s: %s",
                                   call->function->glob ? "pattern" : "regular expression", error);
}

/* A literal duration is parsed once. One that is invalid fails when it is evaluated. */
static void fold(struct ottl_node *call)
{
    struct ottl_run run = {0};
    if (!view_eq(call->name, VIEW("Duration")) || call->key_count || !ottl_is_text(call->items[0]))
        return;
    struct ottl_value value = call->function->fn(&run, call);
    if (run.failed)
        return;
    call->kind = NODE_LITERAL;
    call->value = value;
}

static bool is_available(const struct ottl_function *function, enum ottl_context context)
{
    return !function->contexts || (function->contexts >> context & 1);
}

static bool bind_call(const struct binder *binder, struct ottl_node *call)
{
    struct ottl *ottl = binder->ottl;
    int size = (int)(call->name.size < 80 ? call->name.size : 80);
    char hint[120];
    call->function = ottl_function_find(call->name);
    if (!call->function) {
        ottl_function_hint(call->name, hint);
        return ottl_say(ottl, call->at, binder->fault, "unknown function %.*s%s", size,
                        call->name.data, hint);
    }
    if (!is_available(call->function, binder->context))
        return ottl_say(ottl, call->at, binder->fault,
                        "function %.*s is not available in context %s", size, call->name.data,
                        ottl_context_name(binder->context));
    if ((call->function->contexts & FN_CONDITIONS) && ottl->editor)
        return ottl_say(
            ottl, call->at, binder->fault,
            "function %.*s is available in conditions only, not in the where of a statement", size,
            call->name.data);
    if (!place_arguments(binder, call) || !bind_converters(binder, call) ||
        !bind_all(binder, call->items, call->count))
        return false;
    if (call->function->pattern >= 0 && !bind_pattern(binder, call))
        return false;
    const char *wrong = call->function->check ? call->function->check(call) : NULL;
    if (wrong)
        return ottl_say(ottl, call->at, binder->fault, "%s: %s", call->function->name, wrong);
    if (!ottl_check_literals(ottl, call, binder->fault))
        return false;
    if (view_eq(call->name, VIEW("Format")) &&
        memchr(call->items[0]->value.bytes.data, 'q', call->items[0]->value.bytes.size)) {
        char error[200];
        call->regex = regex_new(VIEW("^[\\pL\\pM\\pN\\pP\\pS]"), error, sizeof error);
        if (!call->regex)
            return ottl_say(ottl, call->at, binder->fault, "%s", error);
    }
    fold(call);
    return true;
}

/* A literal that is no operand of the Collector's either. */
static const struct ottl_node *no_operand(const struct ottl_node *node)
{
    bool math = node->kind == NODE_MATH || node->kind == NODE_NEGATE;
    for (size_t i = 0; math && i < node->count; i++) {
        const struct ottl_node *item = node->items[i];
        bool number = item->value.type == TYPE_INT || item->value.type == TYPE_DOUBLE;
        if (item->kind == NODE_LIST_OF || item->kind == NODE_MAP_OF ||
            (item->kind == NODE_LITERAL && !number))
            return item;
    }
    return NULL;
}

static bool is_constant(const struct ottl_node *node, bool truth)
{
    return node->kind == NODE_LITERAL && node->value.type == TYPE_BOOL &&
           node->value.boolean == truth;
}

/* As in the Collector, what is constant is decided here: in `x or true` nothing fails. */
static void fold_condition(struct ottl_node *node)
{
    struct ottl_node *const *items = node->items;
    const bool decides = node->kind == NODE_OR;
    struct ottl_value made;
    if (node->kind == NODE_COMPARE && items[0]->kind == NODE_LITERAL &&
        items[1]->kind == NODE_LITERAL) {
        made = ottl_bool(ottl_compare(&items[0]->value, &items[1]->value, node->op));
    } else if (node->kind == NODE_NOT &&
               (is_constant(items[0], true) || is_constant(items[0], false))) {
        made = ottl_bool(!items[0]->value.boolean);
    } else if (node->kind == NODE_AND || node->kind == NODE_OR) {
        if (is_constant(items[0], !decides) || is_constant(items[1], !decides)) {
            *node = *items[is_constant(items[0], !decides)];
            return;
        }
        if (!is_constant(items[0], decides) && !is_constant(items[1], decides))
            return;
        made = ottl_bool(decides);
    } else {
        return;
    }
    node->kind = NODE_LITERAL;
    node->value = made;
}

static bool bind_node(const struct binder *binder, struct ottl_node *node)
{
    const struct ottl_node *wrong = no_operand(node);
    if (wrong)
        return ottl_say(binder->ottl, wrong->at, binder->fault,
                        "found %s, expected a number, a time or a duration",
                        wrong->kind == NODE_LIST_OF  ? "a list"
                        : wrong->kind == NODE_MAP_OF ? "a map"
                                                     : ottl_type_name(wrong->value.type));
    if (node->kind == NODE_ENUM)
        return bind_enum(binder, node);
    if (!bind_all(binder, node->keys, node->key_count))
        return false;
    if (node->kind == NODE_PATH)
        return ottl_path_bind(binder->ottl, node, binder->context, binder->named, binder->fault);
    if (node->kind == NODE_CALL)
        return bind_call(binder, node);
    if (!bind_all(binder, node->items, node->count))
        return false;
    fold_condition(node);
    struct ottl_plain plain;
    if (node->kind == NODE_COMPARE && ottl_plain_bind(node, &plain)) {
        struct ottl_plain *kept = arena_alloc(&binder->ottl->arena, sizeof *kept);
        if (kept)
            *kept = plain;
        node->plain = kept; /* without memory it is evaluated as any other */
    }
    return true;
}

/* The first argument of an editor is what it changes. */
static bool bind_editor(const struct binder *binder, struct ottl_node *editor)
{
    struct ottl *ottl = binder->ottl;
    if (!bind_node(binder, editor))
        return false;
    ottl->adds_items = editor->function->contexts & FN_ADDS_ITEMS;
    bool path = ottl_has(editor, 0) && editor->items[0]->kind == NODE_PATH;
    ottl->edited = ottl_level(path ? editor->items[0]->context : binder->context);
    if (!ottl_has_target(editor->function))
        return true;
    const struct ottl_node *target = editor->count ? editor->items[0] : NULL;
    if (!target || target->kind != NODE_PATH)
        return ottl_say(ottl, target ? target->at : editor->at, binder->fault,
                        "the first argument of %s must be a path", editor->function->name);
    if (!ottl_path_settable(target, binder->context))
        return ottl_say(ottl, target->at, binder->fault, "%.*s cannot be set",
                        (int)(target->name.size < 80 ? target->name.size : 80), target->name.data);
    ottl->reaches_out = target->context != binder->context;
    return true;
}

bool ottl_bind(struct ottl *ottl, enum ottl_context context, bool named, struct ottl_fault *fault)
{
    struct binder binder = {ottl, context, named, fault};
    if ((ottl->editor && !bind_editor(&binder, ottl->editor)) ||
        (ottl->where && !bind_node(&binder, ottl->where)))
        return false;
    ottl_sieve_bind(ottl);
    return true;
}

bool ottl_has_functions(const struct ottl *ottl, enum ottl_context context)
{
    for (size_t i = 0; i < ottl->call_count; i++) {
        const struct ottl_function *function = ottl_function_find(ottl->calls[i]->name);
        if (function && !is_available(function, context))
            return false;
    }
    return true;
}

enum ottl_context ottl_only_context(const struct ottl *ottl)
{
    const struct ottl_function *editor =
        ottl->editor ? ottl_function_find(ottl->editor->name) : NULL;
    unsigned contexts = editor ? editor->contexts & ~FN_ADDS_ITEMS : 0;
    for (int context = 0; context < OTTL_CONTEXTS; context++)
        if (contexts == 1u << context)
            return (enum ottl_context)context;
    return OTTL_NONE;
}
