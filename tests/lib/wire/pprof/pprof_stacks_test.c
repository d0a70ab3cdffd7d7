#include "lib/wire/pprof/pprof_stacks.h"

#include "tests/support/pprof_build.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdio.h>

enum { MAX = 8 };

struct opened {
    struct bytes raw;
    struct arena arena;
    struct pprof pprof;
    struct pprof_stacks stacks;
};

static void open_raw(struct opened *opened, struct pprof_build *build)
{
    struct proto_fault fault;
    opened->raw = pprof_build_raw(build);
    pprof_build_free(build);
    arena_init(&opened->arena, 1 << 20);
    ck_assert(pprof_open(&opened->pprof, bytes_view(&opened->raw), &opened->arena, &fault));
    ck_assert(pprof_stacks_open(&opened->stacks, &opened->pprof, &opened->arena));
}

static void release(struct opened *opened)
{
    arena_release(&opened->arena);
    bytes_release(&opened->raw);
}

static struct pprof_build *begin(void)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    return build;
}

/* The stacks of all samples, such as "leaf,main;work,main". Returns whether one was cut. */
static bool stacks_of(const struct opened *opened, size_t max, char *out, size_t size)
{
    struct proto_scan scan = proto_scan_begin(opened->pprof.raw);
    struct pprof_sample sample;
    uint32_t names[MAX];
    bool cut = false;
    size_t used = 0;
    out[0] = '\0';
    for (bool first = true; pprof_next_sample(&opened->pprof, &scan, &sample); first = false) {
        size_t count = pprof_stacks_read(&opened->stacks, &sample, names, max, &cut);
        ck_assert_uint_le(count, max);
        used += (size_t)snprintf(out + used, size - used, "%s", first ? "" : ";");
        for (size_t i = 0; i < count; i++) {
            struct view name = pprof_stacks_text(&opened->stacks, names[i]);
            used +=
                (size_t)snprintf(out + used, size - used, "%s%.*s", i ? "," : "", VIEW_ARG(name));
        }
    }
    return cut;
}

START_TEST(stacks_begin_with_the_leaf)
{
    for (int packed = 0; packed < 2; packed++) {
        struct pprof_build *build = begin();
        struct opened opened;
        char text[256];
        pprof_build_packed(build, packed);
        pprof_build_sample(build, (const int64_t[]){1},
                           (const char *const[]){"leaf", "work", "main", NULL});
        pprof_build_sample(build, (const int64_t[]){1},
                           (const char *const[]){"work", "main", NULL});
        pprof_build_sample(build, (const int64_t[]){1}, (const char *const[]){NULL});
        open_raw(&opened, build);
        ck_assert(!stacks_of(&opened, MAX, text, sizeof text));
        ck_assert_str_eq(text, "leaf,work,main;work,main;");
        release(&opened);
    }
}
END_TEST

START_TEST(a_stack_that_is_too_deep_keeps_its_root)
{
    struct pprof_build *build = begin();
    struct opened opened;
    char text[256];
    pprof_build_sample(
        build, (const int64_t[]){1},
        (const char *const[]){"a", "b", "c", "d", "e", "f", "g", "h", "i", "main", NULL});
    open_raw(&opened, build);
    ck_assert(stacks_of(&opened, 4, text, sizeof text));
    ck_assert_str_eq(text + strlen(text) - 6, "i,main");
    ck_assert(stacks_of(&opened, 1, text, sizeof text));
    ck_assert_str_eq(text, "main");
    release(&opened);
}
END_TEST

/* What the stack of location 1, which has an address but no line, and then of 2, which has a line,
 * is named with these fields of location 1 and these mappings. */
static void names_of(struct view location, struct view mappings, char *out, size_t size)
{
    struct opened opened = {0};
    struct proto_fault fault;
    struct view raw =
        PB_JOIN(PB_MESSAGE(1, pb_varint(1, 1), pb_varint(2, 2)),
                PB_MESSAGE(2, PB_MESSAGE(1, PB_RAW(1, 2)), pb_varint(2, 1)), mappings,
                PB_MESSAGE(4, pb_varint(1, 1), location),
                PB_MESSAGE(4, pb_varint(1, 2), PB_MESSAGE(4, pb_varint(1, 1))),
                PB_MESSAGE(5, pb_varint(1, 1), pb_varint(2, 3)), PB_TEXT(6, ""), PB_TEXT(6, "cpu"),
                PB_TEXT(6, "nanoseconds"), PB_TEXT(6, "main"), PB_TEXT(6, "/usr/lib/libc.so.6"),
                PB_TEXT(6, "[kernel.kallsyms]"), PB_TEXT(6, "/"));
    arena_init(&opened.arena, 1 << 20);
    ck_assert_msg(pprof_open(&opened.pprof, raw, &opened.arena, &fault), "%s", fault.reason);
    ck_assert(pprof_stacks_open(&opened.stacks, &opened.pprof, &opened.arena));
    ck_assert(!stacks_of(&opened, MAX, out, size));
    arena_release(&opened.arena);
}

START_TEST(a_frame_without_symbols_is_named_by_its_address)
{
    struct view address = pb_varint(3, 0x401a2b);
    struct view at = PB_JOIN(pb_varint(2, 7), address);
    char text[256];
    names_of(at, PB_MESSAGE(3, pb_varint(1, 7), pb_varint(5, 4)), text, sizeof text);
    ck_assert_str_eq(text, "libc.so.6!0x401a2b,main");
    names_of(at, PB_MESSAGE(3, pb_varint(1, 7), pb_varint(5, 5)), text, sizeof text);
    ck_assert_str_eq(text, "[kernel.kallsyms]!0x401a2b,main");
    names_of(at, PB_MESSAGE(3, pb_varint(1, 7)), text, sizeof text);
    ck_assert_str_eq(text, "unknown!0x401a2b,main");
    names_of(at, PB_MESSAGE(3, pb_varint(1, 7), pb_varint(5, 6)), text, sizeof text);
    ck_assert_str_eq(text, "unknown!0x401a2b,main");
    names_of(address, VIEW(""), text, sizeof text);
    ck_assert_str_eq(text, "unknown!0x401a2b,main");
    names_of(pb_varint(3, UINT64_MAX), VIEW(""), text, sizeof text);
    ck_assert_str_eq(text, "unknown!0xffffffffffffffff,main");
}
END_TEST

START_TEST(a_location_with_neither_line_nor_address_has_no_frame)
{
    char text[256];
    names_of(VIEW(""), VIEW(""), text, sizeof text);
    ck_assert_str_eq(text, "main");
}
END_TEST

START_TEST(of_a_long_file_name_the_beginning_is_shown)
{
    static char path[600];
    char text[512];
    struct opened opened = {0};
    struct proto_fault fault;
    /* A character of two bytes lies across the limit of 255. */
    memset(path, 'a', sizeof path - 1);
    memcpy(path + 254, "\xc3\xa9", 2);
    struct view raw =
        PB_JOIN(PB_MESSAGE(1, pb_varint(1, 1)), PB_MESSAGE(2, pb_varint(1, 1), pb_varint(2, 1)),
                PB_MESSAGE(3, pb_varint(1, 1), pb_varint(5, 2)),
                PB_MESSAGE(4, pb_varint(1, 1), pb_varint(2, 1), pb_varint(3, 16)), PB_TEXT(6, ""),
                PB_TEXT(6, "cpu"), PB_MESSAGE(6, view_of(path)));
    arena_init(&opened.arena, 1 << 20);
    ck_assert_msg(pprof_open(&opened.pprof, raw, &opened.arena, &fault), "%s", fault.reason);
    ck_assert(pprof_stacks_open(&opened.stacks, &opened.pprof, &opened.arena));
    ck_assert(!stacks_of(&opened, MAX, text, sizeof text));
    ck_assert_uint_eq(strlen(text), 254 + strlen("!0x10"));
    ck_assert_str_eq(text + 254, "!0x10");
    arena_release(&opened.arena);
}
END_TEST

START_TEST(without_memory_it_is_not_opened)
{
    struct pprof_build *build = begin();
    struct opened opened;
    struct arena none;
    pprof_build_sample(build, (const int64_t[]){1}, (const char *const[]){"main", NULL});
    open_raw(&opened, build);
    arena_init(&none, 8);
    ck_assert(!pprof_stacks_open(&opened.stacks, &opened.pprof, &none));
    arena_release(&none);
    release(&opened);
}
END_TEST

SUITE_MAIN("pprof_stacks", stacks_begin_with_the_leaf, a_stack_that_is_too_deep_keeps_its_root,
           a_frame_without_symbols_is_named_by_its_address,
           a_location_with_neither_line_nor_address_has_no_frame,
           of_a_long_file_name_the_beginning_is_shown, without_memory_it_is_not_opened)
