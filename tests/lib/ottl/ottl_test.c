#include "lib/ottl/ottl.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

static struct ottl_fault fault;

static void refused(enum ottl_kind kind, enum ottl_context context, const char *text, size_t line,
                    size_t column, const char *want)
{
    struct ottl *ottl = ottl_parse(kind, view_of(text), &fault);
    bool bound = ottl && ottl_bind(ottl, context, false, &fault);
    ck_assert_msg(!bound, "%.60s was taken", text);
    ck_assert_msg(strstr(fault.text, want), "%.60s: %s", text, fault.text);
    ck_assert_msg(fault.line == line && fault.column == column, "%.60s: %zu:%zu", text, fault.line,
                  fault.column);
    ottl_free(ottl);
}

START_TEST(faults_have_their_place)
{
    refused(OTTL_STATEMENT, OTTL_SPAN, "", 1, 1, "unexpected end, expected an editor");
    refused(OTTL_STATEMENT, OTTL_SPAN, "Set(name, 1)", 1, 1, "begins with a lowercase letter");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, 1", 1, 12, "unexpected end, expected )");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, set(name, 1))", 1, 11,
            "editors are allowed only at the start");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, 1)[\"a\"]", 1, 1, "cannot be indexed");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name,\n  \"a\" +)", 2, 8, "expected a value");
    refused(OTTL_STATEMENT, OTTL_SPAN,
            "set(name, \xe2\x80\x9c"
            "a\xe2\x80\x9d)",
            1, 11, "found \xe2\x80\x9c (U+201C), expected a plain quote");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name,\xc2\xa0 1)", 1, 10,
            "found a no-break space (U+00A0), expected a plain space");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, \xc3\xbc)", 1, 11,
            "found \xc3\xbc, expected a value");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, 1 == 2)", 1, 11,
            "found a condition, expected a value");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name[\"a\"], 1)", 1, 5, "cannot be indexed");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(otelcol.client.addr, \"a\")", 1, 5,
            "otelcol.client.addr cannot be set");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, otelcol.client.addr[0])", 1, 11,
            "otelcol.client.addr cannot be indexed");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, otelcol.grpc.metadata[\"a\"][0])", 1, 11,
            "otelcol.grpc.metadata is not supported, expected otelcol.client.addr or");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(attributes[\"a\"].b, 1)", 1, 20, "no name after a key");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(a=name, 1)", 1, 7,
            "set has no argument a, expected one of target,value");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, 0x1)", 1, 11, "odd number of hex digits");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, 99999999999999999999)", 1, 11, "64 bits");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, \"\\q\")", 1, 12, "unknown escape sequence");
    refused(OTTL_STATEMENT, OTTL_SPAN, "delete_matching_keys(attributes, name)", 1, 34,
            "must be a string literal");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, ExtractPatterns(name, \"a\"))", 1, 11,
            "no named group");
    refused(OTTL_STATEMENT, OTTL_SPAN, "replace_pattern(name, \"a\", \"b\", FNV)", 1, 33,
            "a converter from a string to a string: Base64Decode");
    refused(OTTL_STATEMENT, OTTL_SPAN, "replace_pattern(name, \"a\", \"b\", Sha256)", 1, 33,
            "the name of a converter");
    refused(OTTL_STATEMENT, OTTL_SPAN, "replace_pattern(name, \"a\", \"b\", SHA256(name))", 1, 33,
            "the name of a converter");
    refused(OTTL_STATEMENT, OTTL_SPAN, "replace_pattern(name, \"a\", \"b\", SHA256, \"%d\")", 1, 1,
            "contain %s once and no other %");
    refused(OTTL_STATEMENT, OTTL_SPAN, "replace_all_matches(attributes, \"a\", \"b\", MD5, \"%\")",
            1, 1, "contain %s once and no other %");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name,\n  URL(2.5))", 2, 7,
            "found a double, expected a string");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, Hour(\"12:00\"))", 1, 16,
            "found a string, expected a time");
    refused(OTTL_STATEMENT, OTTL_SPAN, "keep_keys(attributes, [\"a\", 1])", 1, 29,
            "found an int, expected a string");
    refused(OTTL_STATEMENT, OTTL_SPAN, "flatten(attributes, name)", 1, 21,
            "found a value that is no literal, expected a string literal");
    refused(OTTL_STATEMENT, OTTL_SPAN, "flatten(attributes, \"a\", -1)", 1, 26,
            "an int literal without a sign");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, [1] * 2)", 1, 11,
            "found a list, expected a number");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, SHA256)", 1, 11, "expected (...) after SHA256");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, Nope)", 1, 11, "unknown enum Nope");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(kind, SPAN_KIND_SERVR)", 1, 11,
            "unknown enum SPAN_KIND_SERVR, did you mean SPAN_KIND_SERVER?");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, ToLower(name))", 1, 11,
            "unknown function ToLower, did you mean ToLowerCase?");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(attributes.a, 1)", 1, 5,
            ", expected attributes[\"...\"]");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, 'a')", 1, 11, "strings stand in double quotes");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, target=\"a\")", 1, 18,
            "set: argument target is given twice");
    refused(OTTL_STATEMENT, OTTL_METRIC,
            "convert_exponential_histogram_to_histogram(\"upper\", [1])", 1, 1,
            "a list of bounds with a decimal point");
    refused(OTTL_STATEMENT, OTTL_METRIC,
            "convert_exponential_histogram_to_histogram(\"lower\", [1.0])", 1, 1,
            "expected the distribution");
    refused(OTTL_STATEMENT, OTTL_METRIC, "extract_percentile_metric(100.0)", 1, 1,
            "above 0 and below 100");
    refused(OTTL_STATEMENT, OTTL_DATAPOINT, "merge_histogram_buckets(0, \"limit_buckets\")", 1, 1,
            "expected a positive integer");
    refused(OTTL_STATEMENT, OTTL_DATAPOINT, "merge_histogram_buckets(1, \"half\")", 1, 1,
            "\"remove_explicit_bound\" or \"limit_buckets\"");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(cache, ExtractGrokPatterns(name, \"%{NOPE}\"))", 1, 12,
            "unknown pattern NOPE");
    refused(OTTL_STATEMENT, OTTL_SPAN,
            "set(cache, ExtractGrokPatterns(name, \"%{A}\", true, [\"A=%{B}\", \"B=%{A}\"]))", 1,
            12, "refers to itself");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(cache, ExtractGrokPatterns(name, \"%{INT:a:uint}\"))",
            1, 12, "unknown type uint, expected int");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(cache, ExtractGrokPatterns(name, \"%{INT}\", true))", 1,
            12, "no group with a name");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(cache, ExtractGrokPatterns(name, \"(%{INT}\"))", 1, 12,
            "missing closing parenthesis");
    refused(OTTL_STATEMENT, OTTL_SPAN,
            "set(cache, ExtractGrokPatterns(name, \"%{A}\", pattern_definitions=[\"A\"]))", 1, 12,
            "must be NAME=pattern");
    refused(OTTL_CONDITION, OTTL_SPAN, "name == \"a\" and", 1, 16, "expected a value");
    refused(OTTL_CONDITION, OTTL_SPAN, "name and true", 1, 1, "expected a comparison");
    refused(OTTL_CONDITION, OTTL_SPAN, "name == \"a\" == \"b\"", 1, 13,
            "expected and, or, or the end");
    refused(OTTL_CONDITION, OTTL_SPAN, "name == \"a\" && name != \"b\"", 1, 13,
            "found &, expected and, or, or the end");
    refused(OTTL_CONDITION, OTTL_SPAN, "name = \"a\"", 1, 6,
            "found =, expected an operator such as");
    refused(OTTL_CONDITION, OTTL_SPAN, "name != null", 1, 9, "found null, expected nil");
    refused(OTTL_CONDITION, OTTL_SPAN, "IsString(name) == True", 1, 19,
            "found True, expected true");
    refused(OTTL_CONDITION, OTTL_SPAN, "foo(name)", 1, 1, "foo: a condition has no editors");
    refused(OTTL_STATEMENT, OTTL_SPAN, "name == \"a\"", 1, 1, "expected an editor, such as set");
    refused(OTTL_STATEMENT, OTTL_SPAN, "replace_match(name, \"[\", \"a\")", 1, 21,
            "invalid pattern: missing terminating ]");
    refused(OTTL_STATEMENT, OTTL_SPAN, "set(name, Time(\"a\", \"\"))", 1, 11,
            "the format must not be empty");
    refused(OTTL_STATEMENT, OTTL_SPANEVENT, "set(span.cache[\"a\"], 1)", 1, 5,
            "each context has its cache, expected spanevent.cache");
    refused(OTTL_STATEMENT, OTTL_METRIC, "scale_metric(-2.5)", 1, 14, "without a sign");
    refused(OTTL_STATEMENT, OTTL_METRIC,
            "convert_exponential_histogram_to_histogram(\"upper\", [1.0, -0.0])", 1, 59,
            "without a sign");
    refused(OTTL_STATEMENT, OTTL_DATAPOINT, "merge_histogram_buckets(\"x\")", 1, 1,
            "expected a number");
    refused(OTTL_CONDITION, OTTL_SPAN, "not name", 1, 5, "expected a comparison");
    refused(OTTL_CONDITION, OTTL_METRIC, "IsRootSpan()", 1, 1, "not available in context metric");
    refused(OTTL_CONDITION, OTTL_LOG, "span.name == \"a\"", 1, 1, "is not available in");
    refused(OTTL_CONDITION, OTTL_SPAN, "Nope == 1", 1, 1, "expected (...)");
    refused(OTTL_CONDITION, OTTL_SPAN, "name ~ \"a\"", 1, 6, "found ~");
    refused(OTTL_CONDITION, OTTL_SPAN, "1 == Double(\"x\")", 1, 6, "Double: this text cannot");
    refused(OTTL_CONDITION, OTTL_SPAN, "true == Bool(\"yes\")", 1, 9, "Bool: this text cannot");
    refused(OTTL_CONDITION, OTTL_SPAN, "Duration(5) == 1", 1, 1, "expected a string such as");
    refused(OTTL_CONDITION, OTTL_SPAN, "name == \"a\" + \"b\"", 1, 9, "expected a number");
    struct ottl *least = ottl_parse(OTTL_CONDITION, VIEW("1 > -9223372036854775808"), &fault);
    ck_assert_ptr_nonnull(least);
    ottl_free(least);
}
END_TEST

START_TEST(depth_and_size_are_bounded)
{
    char *deep = calloc(1, 40001);
    memset(deep, '(', 40000);
    refused(OTTL_CONDITION, OTTL_SPAN, deep, 1, 40001, "longer than 16384 bytes");
    deep[10000] = '\0';
    ck_assert_ptr_null(ottl_parse(OTTL_CONDITION, view_of(deep), &fault));
    ck_assert_str_eq(fault.text, "nested too deeply");
    for (size_t i = 0; i < 10000; i += 4)
        memcpy(deep + i, "not ", 4);
    ck_assert_ptr_null(ottl_parse(OTTL_CONDITION, view_of(deep), &fault));
    ck_assert_str_eq(fault.text, "nested too deeply");
    for (size_t i = 0; i < 10000; i += 2)
        memcpy(deep + i, "1+", 2);
    ck_assert_ptr_null(ottl_parse(OTTL_CONDITION, view_of(deep), &fault));
    ck_assert_str_eq(fault.text, "the statement is too long");
    free(deep);
}
END_TEST

static void infers(const char *text, enum ottl_context want)
{
    struct ottl *ottl = ottl_parse(OTTL_STATEMENT, view_of(text), &fault);
    ck_assert_msg(ottl, "%s", fault.text);
    ck_assert_int_eq(ottl_inferred(ottl), want);
    ottl_free(ottl);
}

START_TEST(the_innermost_context_is_inferred)
{
    infers("set(resource.attributes[\"a\"], 1)", OTTL_RESOURCE);
    infers("set(resource.attributes[\"a\"], span.name)", OTTL_SPAN);
    infers("set(span.name, spanevent.name) where scope.name == \"a\"", OTTL_SPANEVENT);
    infers("set(attributes[\"a\"], name)", OTTL_NONE);
    infers("set(scope.name, otelcol.client.addr)", OTTL_SCOPE);
}
END_TEST

static bool reads_client(const char *text)
{
    struct ottl *ottl = ottl_parse(OTTL_STATEMENT, view_of(text), &fault);
    ck_assert_msg(ottl && ottl_bind(ottl, OTTL_SPAN, true, &fault), "%s", fault.text);
    bool reads = ottl_reads_client(ottl);
    ottl_free(ottl);
    return reads;
}

START_TEST(who_reads_the_client_is_known)
{
    ck_assert(reads_client("set(span.name, \"a\") where otelcol.client.metadata[\"b\"] != nil"));
    ck_assert(!reads_client("set(span.name, resource.schema_url)"));
}
END_TEST

START_TEST(what_reaches_out_is_known)
{
    struct ottl *ottl =
        ottl_parse(OTTL_STATEMENT, VIEW("set(resource.attributes[\"a\"], name)"), &fault);
    ck_assert(ottl_bind(ottl, OTTL_SPAN, false, &fault));
    ck_assert(ottl_reaches_out(ottl));
    ottl_free(ottl);
    ottl = ottl_parse(OTTL_STATEMENT, VIEW("set(name, resource.attributes[\"a\"])"), &fault);
    ck_assert(ottl_bind(ottl, OTTL_SPAN, false, &fault));
    ck_assert(!ottl_reaches_out(ottl));
    ottl_free(ottl);
}
END_TEST

SUITE_MAIN("ottl", faults_have_their_place, depth_and_size_are_bounded,
           the_innermost_context_is_inferred, what_reaches_out_is_known,
           who_reads_the_client_is_known)
