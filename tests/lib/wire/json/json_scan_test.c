/* The scan accepts the same texts as jansson, and decodes strings alike. */
#include "lib/wire/json/json_scan.h"

#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#include <jansson.h>

static const char *const documents[] = {
    "{\"a\":[1,-2.5e+3,0,-0,1E9,{\"b\":null}],\"c\":true,\"d\":false,\"\":\"\"}",
    " [ \"\\u00e9\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\" , \"caf\xc3\xa9 and more text\" ] \n",
    "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"5b8e\",\"kind\":2}]}]}]}",
    "\"a text that is longer than a word of the machine\"",
    "[[[[[]]]],{\"x\":{\"y\":{}}}]",
};
enum { DOCUMENTS = sizeof documents / sizeof documents[0] };

static bool taken(struct view text)
{
    struct json_scan scan = json_scan_begin(text);
    bool good =
        json_scan_kind(&scan) != JSON_KIND_NONE && json_scan_skip(&scan) && json_scan_end(&scan);
    ck_assert(good == !scan.fault);
    return good;
}

/* Unlike jansson, the scan accepts numbers of any size and unpaired surrogates. */
static bool may_differ(const json_error_t *error)
{
    return strstr(error->text, "too big") || strstr(error->text, "overflow") ||
           strstr(error->text, "invalid Unicode") || strstr(error->text, "unpaired surrogate");
}

static void compare(struct view text)
{
    json_error_t error;
    json_t *json =
        json_loadb((const char *)text.data, text.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    bool got = taken(text);
    if (json || !may_differ(&error))
        ck_assert_msg(got == (json != NULL), "%.*s: %s", VIEW_ARG(text), json ? "" : error.text);
    json_decref(json);
}

START_TEST(it_takes_what_jansson_takes)
{
    static const char signs[] = "{}[]\",:\\u0d8c1-+.eEtrufalsn \t\n\x01\x80\xc3\xed";
    struct random random = random_seeded(1);
    for (unsigned i = 0; i < 60000; i++) {
        char text[256];
        const char *document = documents[i % DOCUMENTS];
        size_t size = strlen(document);
        memcpy(text, document, size + 1);
        for (uint32_t changes = random_below(&random, 4); changes > 0; changes--) {
            size_t at = random_below(&random, (uint32_t)size);
            char sign = signs[random_below(&random, sizeof signs - 1)];
            switch (random_below(&random, 3)) {
            case 0:
                text[at] = sign;
                break;
            case 1:
                memmove(text + at + 1, text + at, size++ - at);
                text[at] = sign;
                break;
            default:
                size -= size > 1;
                memmove(text + at, text + at + 1, size - at);
            }
        }
        compare((struct view){(const uint8_t *)text, size});
    }
}
END_TEST

START_TEST(strings_read_as_jansson_reads_them)
{
    struct view text = view_of(documents[1]);
    struct json_scan scan = json_scan_begin(text);
    json_t *list = json_loadb((const char *)text.data, text.size, 0, NULL);
    bool first = true;
    size_t count = 0;
    ck_assert_int_eq(json_scan_kind(&scan), JSON_KIND_ARRAY);
    for (json_scan_enter(&scan); json_scan_element(&scan, &first); count++) {
        struct json_text string;
        uint8_t out[128];
        const json_t *want = json_array_get(list, count);
        ck_assert_int_eq(json_scan_kind(&scan), JSON_KIND_STRING);
        ck_assert(json_scan_string(&scan, &string));
        struct view got = {out, json_scan_unescape(string, out)};
        ck_assert(view_eq(got, view_of(json_string_value(want))));
        ck_assert(string.escaped == (count == 0));
    }
    ck_assert_uint_eq(count, json_array_size(list));
    ck_assert(json_scan_end(&scan));
    json_decref(list);
}
END_TEST

/* Wherever the character is in a machine word. */
START_TEST(a_string_ends_at_its_first_quote_and_nowhere_else)
{
    static const char ends[] = "\"\\\x1f\n";
    for (size_t at = 0; at < 20; at++)
        for (size_t i = 0; i < sizeof ends; i++) {
            char text[32];
            struct json_text string;
            memset(text, '!', sizeof text);
            text[0] = text[31] = '"';
            text[1 + at] = ends[i];
            struct json_scan scan = json_scan_begin((struct view){(uint8_t *)text, sizeof text});
            ck_assert_int_eq(json_scan_kind(&scan), JSON_KIND_STRING);
            ck_assert(json_scan_string(&scan, &string) == (i == 0));
            if (i == 0)
                ck_assert_uint_eq(string.raw.size, at);
        }
}
END_TEST

START_TEST(nesting_ends_somewhere)
{
    static char text[2 * 600];
    for (size_t depth = 500; depth <= 600; depth += 100) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        ck_assert(taken((struct view){(uint8_t *)text, 2 * depth}) == (depth == 500));
    }
}
END_TEST

START_TEST(a_fault_has_a_line_and_a_column)
{
    struct json_scan scan = json_scan_begin(VIEW("{\n  \"a\": 1,\n  b\n}"));
    size_t line, column;
    ck_assert_int_eq(json_scan_kind(&scan), JSON_KIND_OBJECT);
    ck_assert(!json_scan_skip(&scan));
    ck_assert_str_eq(scan.fault, "expected a name in quotes");
    json_scan_position(&scan, &line, &column);
    ck_assert_uint_eq(line, 3);
    ck_assert_uint_eq(column, 3);
}
END_TEST

SUITE_MAIN("json_scan", it_takes_what_jansson_takes, strings_read_as_jansson_reads_them,
           a_string_ends_at_its_first_quote_and_nowhere_else, nesting_ends_somewhere,
           a_fault_has_a_line_and_a_column)
