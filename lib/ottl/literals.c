/* Literal arguments of a wrong type, which the Collector refuses when it starts. What is computed
 * has a type only once it is evaluated. */
#include "lib/ottl/function.h"

#include <ctype.h>

/* The types of arguments, a letter for each: one in lower case must be a literal, and [ stands in
 * front of that of a list's items.
 *   S s string, I i int, D d double, B b bool, M map, P list, T time, R duration,
 *   N what can be a number or bool, Y what has bytes, G anything else */
static const struct {
    const char *types, *functions;
} signatures[] = {
    {"S", "Base64Decode Duration FNV MD5 Murmur3Hash Murmur3Hash128 ParseJSON ParseSimplifiedXML "
          "ParseXML SHA1 SHA256 SHA512 ToCamelCase ToLowerCase ToSnakeCase ToUpperCase URL "
          "IsString"},
    {"SS", "Base64Encode ExtractPatterns HasPrefix HasSuffix Split TrimPrefix TrimSuffix"},
    {"Ss", "ConvertCase Trim"},
    {"Sss", "ParseKeyValue"},
    {"Ssss", "Time"},
    {"SSsss", "ParseCSV"},
    {"SSb[s", "ExtractGrokPatterns"},
    {"SI", "ParseInt"},
    {"SIIb", "Substring"},
    {"SISISI", "CommunityID"},
    {"S[S", "IsInCIDR"},
    {"SSS", "copy_metric"},
    {"GS", "IsMatch Decode delete_key delete_matching_keys keep_matching_keys"},
    {"GSSGS", "replace_all_matches replace_match replace_pattern"},
    {"GsSSGS", "replace_all_patterns"},
    {"[GS", "Concat"},
    {"s[G", "Format"},
    {"I", "IsInt"},
    {"II", "Unix"},
    {"D", "IsDouble"},
    {"B", "IsBool"},
    {"N", "Bool Double Int Log"},
    {"Ns", "merge_histogram_buckets"},
    {"Y", "Hex TraceID SpanID"},
    {"M", "IsMap Keys Values"},
    {"Mssb", "ToKeyValueString"},
    {"GMs", "merge_maps"},
    {"GM", "ParseSeverity"},
    {"PG", "ContainsValue"},
    {"P[s[s", "SliceToMap"},
    {"Gs", "Sort"},
    {"T", "Day Hour Minute Month Nanosecond Second UnixMicro UnixMilli UnixNano UnixSeconds "
          "Weekday Year"},
    {"Ts", "FormatTime"},
    {"TR", "TruncateTime"},
    {"R", "Hours Microseconds Milliseconds Minutes Nanoseconds Seconds"},
    {"GII", "delete_index"},
    {"Gsib", "flatten"},
    {"G[S", "keep_keys"},
    {"Gi[s", "limit"},
    {"Gibs", "truncate_all"},
    {"ss", "HasAttrOnDatapoint set_semconv_span_name convert_summary_quantile_val_to_gauge"},
    {"s", "HasAttrKeyOnDatapoint"},
    {"s[s", "aggregate_on_attributes"},
    {"ss[ss", "aggregate_on_attribute_value"},
    {"s[d", "convert_exponential_histogram_to_histogram"},
    {"sb", "convert_gauge_to_sum"},
    {"sbs", "convert_summary_count_val_to_sum convert_summary_sum_val_to_sum"},
    {"ds", "extract_percentile_metric"},
    {"bs", "extract_count_metric extract_sum_metric"},
    {"dS", "scale_metric"},
};

/* "": nothing is known of them. */
static const char *types_of(const struct ottl_function *function)
{
    size_t size = strlen(function->name);
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        for (const char *at = signatures[i].functions; *at; at += *at == ' ') {
            if (strncmp(at, function->name, size) == 0 && (!at[size] || at[size] == ' '))
                return signatures[i].types;
            at += strcspn(at, " ");
        }
    return "";
}

/* Whether the Collector knows the value when it starts. */
static bool is_literal(const struct ottl_node *node)
{
    bool list = node->kind == NODE_LIST_OF, map = node->kind == NODE_MAP_OF;
    for (size_t i = map; (list || map) && i < node->count; i += map ? 2 : 1)
        if (!is_literal(node->items[i]))
            return false;
    return list || map || (node->kind == NODE_LITERAL && node->value.type != TYPE_DURATION);
}

static bool has_map(const struct ottl_node *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->kind == NODE_MAP_OF)
            return true;
    return false;
}

/* Whether a literal has a type. */
static bool fits(const struct ottl_node *node, char type)
{
    enum ottl_type is = node->kind == NODE_LIST_OF  ? TYPE_LIST
                        : node->kind == NODE_MAP_OF ? TYPE_MAP
                                                    : node->value.type;
    switch (toupper(type)) {
    case 'S':
        return is == TYPE_STRING;
    case 'I': /* a sign makes it an expression */
        return is == TYPE_INT && (type == 'I' || !node->sign);
    case 'D':
        return is == TYPE_DOUBLE && (type == 'D' || !node->sign);
    case 'B':
        return is == TYPE_BOOL;
    case 'M':
        return is == TYPE_MAP;
    case 'P':
        return is == TYPE_LIST && !has_map(node);
    case 'N':
        return is != TYPE_LIST && is != TYPE_MAP && is != TYPE_BYTES;
    case 'Y':
        return is != TYPE_LIST && is != TYPE_MAP;
    case 'T':
    case 'R':
        return false;
    default:
        return true;
    }
}

static const char *words_of(char type)
{
    switch (type) {
    case 'S':
        return "a string";
    case 's':
        return "a string literal";
    case 'I':
        return "an int";
    case 'i':
        return "an int literal without a sign";
    case 'D':
        return "a double";
    case 'd':
        return "a literal with a decimal point and without a sign";
    case 'B':
        return "a bool";
    case 'b':
        return "true or false";
    case 'M':
        return "a map";
    case 'P':
        return "a list without maps";
    case 'N':
        return "a number, string or bool";
    case 'Y':
        return "bytes, a number, string or bool";
    case 'T':
        return "a time, such as Time(...)";
    default:
        return "a duration, such as Duration(\"1h\")";
    }
}

/* False: fault says what is wrong. */
static bool check_one(const struct ottl *ottl, const struct ottl_node *call,
                      const struct ottl_node *node, char type, struct ottl_fault *fault)
{
    bool literal = is_literal(node), whole = islower(type) == 0;
    if (literal ? fits(node, type) : whole)
        return true;
    const char *found = node->kind == NODE_LIST_OF  ? "a list"
                        : node->kind == NODE_MAP_OF ? "a map"
                        : !literal                  ? "a value that is no literal"
                                                    : ottl_type_name(node->value.type);
    return ottl_say(ottl, node->at, fault, "%s: found %s, expected %s", call->function->name, found,
                    words_of(type));
}

static bool check_list(const struct ottl *ottl, const struct ottl_node *call,
                       const struct ottl_node *list, char type, struct ottl_fault *fault)
{
    if (list->kind != NODE_LIST_OF)
        return ottl_say(ottl, list->at, fault, "%s: expected a list in brackets",
                        call->function->name);
    for (size_t i = 0; i < list->count; i++)
        if (!check_one(ottl, call, list->items[i], type, fault))
            return false;
    return true;
}

bool ottl_check_literals(const struct ottl *ottl, const struct ottl_node *call,
                         struct ottl_fault *fault)
{
    const char *type = types_of(call->function);
    for (size_t i = 0; i < call->count && *type; i++, type++) {
        bool list = *type == '[';
        type += list;
        if (call->items[i] &&
            !(list ? check_list : check_one)(ottl, call, call->items[i], *type, fault))
            return false;
    }
    return true;
}
