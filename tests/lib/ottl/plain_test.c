#include "lib/ottl/plain.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdio.h>

static struct arena arena;
static enum ottl_result result;

static enum edit_verdict step(void *ctx, struct request_edit *at, enum edit_level level)
{
    struct ottl_run run;
    (void)level;
    ottl_run_begin(&run, at, OTTL_SPAN, &clock_system);
    result = ottl_eval(ctx, &run);
    return EDIT_KEEP;
}

static struct view any(const char *key, struct view value)
{
    return PB_MESSAGE(9, pb_message(1, &(struct view){(const uint8_t *)key, strlen(key)}, 1),
                      PB_MESSAGE(2, value));
}

static struct view spans(void)
{
    return PB_MESSAGE(
        1, PB_MESSAGE(1, pb_attribute(1, "s", "resource's")),
        PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "GET"), pb_varint(6, 2), pb_fixed64(7, 5000000000),
                              pb_fixed64(8, 8000000000), any("s", PB_TEXT(1, "text")),
                              any("long", pb_fill(1, 300, 'l')), any("none", PB_TEXT(1, "")),
                              any("i", pb_varint(3, 7)), any("d", pb_fixed64(4, 0)),
                              any("b", pb_varint(2, 1)), any("empty", VIEW("")),
                              any("list", PB_EMPTY(5)), pb_fixed32(16, 257))));
}

static enum ottl_result evaluate(struct ottl *condition)
{
    struct splice splice;
    struct view request = spans();
    struct request_edit edit = {
        .signal = SIGNAL_TRACES, .levels = EDIT_BIT(EDIT_ITEM), .step = step, .ctx = condition};
    arena_init(&arena, 1 << 20);
    splice_begin(&splice, request, &arena);
    ck_assert(request_edit(&edit, request, &splice));
    arena_release(&arena);
    return result;
}

static struct ottl *bound(const char *text)
{
    struct ottl_fault fault;
    struct ottl *condition = ottl_parse(OTTL_CONDITION, view_of(text), &fault);
    ck_assert_msg(condition && ottl_bind(condition, OTTL_SPAN, true, &fault), "%s: %s", text,
                  fault.text);
    return condition;
}

/* Holds or not, and does so without a run as well as with one. */
static void compare(const char *text)
{
    struct ottl *condition = bound(text);
    ck_assert_msg(condition->where->plain, "%s", text);
    enum ottl_result plain = evaluate(condition);
    condition->where->plain = NULL;
    ck_assert_msg(evaluate(condition) == plain && plain != OTTL_ERROR, "%s", text);
    ottl_free(condition);
}

static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">="};
enum { OPERATORS = sizeof operators / sizeof *operators };

static void compare_all(const char *left, const char *right)
{
    char text[200];
    for (int i = 0; i < OPERATORS; i++) {
        snprintf(text, sizeof text, "%s %s %s", left, operators[i], right);
        compare(text);
    }
}

START_TEST(an_attribute_compares_with_any_literal)
{
    static const char *const keys[] = {"s", "long", "none", "i", "d", "b", "empty", "list", "x"};
    static const char *const literals[] = {"\"text\"", "\"\"", "7",     "8",   "0.0",
                                           "7.0",      "true", "false", "nil", "Duration(\"7ns\")"};
    char path[80];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (size_t k = 0; k < sizeof literals / sizeof *literals; k++) {
            snprintf(path, sizeof path, "span.attributes[\"%s\"]", keys[i]);
            compare_all(path, literals[k]);
            snprintf(path, sizeof path, "resource.attributes[\"%s\"]", keys[i]);
            compare_all(path, literals[k]);
        }
}
END_TEST

START_TEST(a_text_is_equal_or_not)
{
    compare("span.name == \"GET\"");
    compare("span.name != \"GET\"");
    compare("span.name == \"\"");
}
END_TEST

START_TEST(sums_of_fields_and_constants_compare)
{
    compare_all("span.end_time - span.start_time", "Duration(\"3s\")");
    compare_all("span.end_time - span.start_time", "Duration(\"2s\")");
    compare_all("Duration(\"4s\")", "span.end_time - span.start_time");
    compare_all("span.start_time + Duration(\"3s\")", "span.end_time");
    compare_all("span.end_time - Duration(\"4s\")", "span.start_time");
    compare_all("span.end_time_unix_nano - span.start_time_unix_nano", "3000000000");
    compare_all("span.end_time_unix_nano - (span.start_time_unix_nano - 1)", "3000000001");
    compare_all("9223372036854775807 + span.kind", "0");
    compare_all("span.kind", "SPAN_KIND_SERVER");
    compare_all("span.flags", "257");
    compare_all("span.dropped_links_count", "0");
}
END_TEST

START_TEST(other_comparisons_need_a_run)
{
    static const char *const texts[] = {
        "span.name < \"GET\"",
        "\"GET\" == span.name",
        "span.attributes[\"i\"] == span.kind",
        "span.attributes[\"list\"][0] == 1",
        "span.attributes[span.name] == 1",
        "span.kind * 2 == 4",
        "span.kind / 0 == 4",
        "span.kind == 2.0",
        "span.start_time == 5",
        "span.kind + span.kind + span.kind + span.kind == 8",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ottl *condition = bound(texts[i]);
        ck_assert_msg(!condition->where->plain, "%s", texts[i]);
        ottl_free(condition);
    }
}
END_TEST

SUITE_MAIN("ottl plain", an_attribute_compares_with_any_literal, a_text_is_equal_or_not,
           sums_of_fields_and_constants_compare, other_comparisons_need_a_run)
