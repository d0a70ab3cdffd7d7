#include "lib/wire/jfr/jfr_metadata.h"

#include "tests/support/jfr_build.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#define BIG ((size_t)1 << 26)

static struct jfr_fault fault;

static bool opens(struct jfr_build *build)
{
    struct bytes raw = jfr_build_chunk(build);
    struct arena arena;
    struct jfr jfr;
    arena_init(&arena, BIG);
    bool good = jfr_open(&jfr, bytes_view(&raw), &arena, &fault);
    arena_release(&arena);
    bytes_release(&raw);
    jfr_build_free(build);
    return good;
}

/* Seven strings, by index: root, metadata, class, name, id, 7, x. */
#define STRINGS                                                                                    \
    "\x07\x03\x04root\x03\x08metadata\x03\x05"                                                     \
    "class\x03\x04name\x03\x02id\x03\x01"                                                          \
    "7\x03\x01x"
#define CONTENT(tree) VIEW(STRINGS tree)

/* An element: its name, no attributes, number of children. */
#define ELEMENT(name, children) name "\x00" children
/* A class without fields. */
#define CLASS "\x02\x02\x03\x06\x04\x05\x00"

static const struct tree_case {
    const char *label;
    struct view content;
    const char *reason;
} trees[] = {
    {"no bytes", {(const uint8_t *)"", 0}, "truncated"},
    {"too many strings", {(const uint8_t *)"\xff\xff\x7f\x01", 4}, "truncated"},
    {"a string of no encoding", {(const uint8_t *)"\x02\x09xxx", 5}, "malformed"},
    {"no root", CONTENT(""), "malformed"},
    {"a name past the strings", CONTENT(ELEMENT("\x07", "\x00")), "malformed"},
    {"more attributes than bytes", CONTENT("\x00\x7f\x00"), "malformed"},
    {"an attribute past the strings", CONTENT("\x00\x01\x00\x07\x00"), "malformed"},
    {"more children than bytes", CONTENT(ELEMENT("\x00", "\x7f")), "malformed"},
    {"a child missing", CONTENT(ELEMENT("\x00", "\x01") ELEMENT("\x06", "\x01")), "malformed"},
    {"no class", CONTENT(ELEMENT("\x00", "\x01") ELEMENT("\x01", "\x00")), "declares no class"},
    {"classes of one id", CONTENT(ELEMENT("\x00", "\x01") ELEMENT("\x01", "\x02") CLASS CLASS),
     "two classes have one id"},
};

START_TEST(metadata_that_cannot_be_is_refused_with_its_reason)
{
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        struct jfr_build *build = jfr_build_new(1, 1);
        jfr_build_metadata(build, trees[i].content);
        ck_assert_msg(!opens(build), "%s", trees[i].label);
        ck_assert_str_eq(fault.part, "metadata");
        ck_assert_msg(strcmp(fault.reason, trees[i].reason) == 0, "%s: %s", trees[i].label,
                      fault.reason);
    }
}
END_TEST

START_TEST(an_element_of_no_meaning_is_passed_over_however_deep_it_is)
{
    enum { DEPTH = 200000 };
    static const char head[] = STRINGS ELEMENT("\x00", "\x02");
    static const char tail[] = ELEMENT("\x01", "\x01") CLASS;
    struct bytes content;
    bytes_init(&content, BIG, NULL);
    bytes_append(&content, head, sizeof head - 1);
    for (int i = 0; i < DEPTH; i++)
        bytes_append(&content, "\x06\x00\x01", 3);
    bytes_append(&content, "\x06\x00\x00", 3);
    bytes_append(&content, tail, sizeof tail - 1);
    struct jfr_build *build = jfr_build_new(1, 1);
    jfr_build_metadata(build, bytes_view(&content));
    ck_assert_msg(opens(build), "%s", fault.reason);
    bytes_release(&content);
}
END_TEST

START_TEST(an_id_that_is_no_number_is_refused)
{
    static const char *const ids[] = {"\x03\x00", "\x03\x02-1",
                                      "\x03\x02"
                                      "0x",
                                      "\x03\x13"
                                      "1234567890123456789"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct bytes content;
        bytes_init(&content, BIG, NULL);
        bytes_printf(&content, "\x06\x03\x04root\x03\x08metadata\x03\x05"
                               "class\x03\x04name\x03\x02id");
        bytes_append(&content, ids[i], i == 0 ? 2 : strlen(ids[i]));
        bytes_append_view(&content, VIEW(ELEMENT("\x00", "\x01") ELEMENT(
                                        "\x01", "\x01") "\x02\x02\x03\x03\x04\x05\x00"));
        struct jfr_build *build = jfr_build_new(1, 1);
        jfr_build_metadata(build, bytes_view(&content));
        ck_assert(!opens(build));
        ck_assert_str_eq(fault.reason, "malformed");
        bytes_release(&content);
    }
}
END_TEST

START_TEST(metadata_is_read_in_every_encoding_of_its_strings)
{
    for (uint8_t encoding = 3; encoding <= 5; encoding++) {
        struct jfr_build *build = jfr_build_new(1, 1);
        struct arena arena;
        struct jfr jfr;
        jfr_build_encoding(build, encoding);
        jfr_build_agent_classes(build);
        jfr_build_setting(build, "event", "wall");
        jfr_build_sample(build, "jdk.ExecutionSample",
                         &(struct jfr_build_sample){.state = JFR_BUILD_RUNNABLE, .span_id = 3});
        struct bytes raw = jfr_build_chunk(build);
        arena_init(&arena, BIG);
        ck_assert(jfr_open(&jfr, bytes_view(&raw), &arena, &fault));
        struct jfr_scan scan = jfr_scan_begin(&jfr);
        struct jfr_event event;
        ck_assert(jfr_next_event(&jfr, &scan, &event));
        ck_assert(event.span_id == 3 && event.counts_cpu && event.counts_wall);
        arena_release(&arena);
        bytes_release(&raw);
        jfr_build_free(build);
    }
}
END_TEST

SUITE_MAIN("jfr metadata", metadata_that_cannot_be_is_refused_with_its_reason,
           an_element_of_no_meaning_is_passed_over_however_deep_it_is,
           an_id_that_is_no_number_is_refused, metadata_is_read_in_every_encoding_of_its_strings)
