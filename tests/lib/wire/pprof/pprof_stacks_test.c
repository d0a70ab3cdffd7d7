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
            struct view name = pprof_string(&opened->pprof, names[i]);
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

START_TEST(a_location_without_lines_has_no_frame)
{
    struct pprof_build *build = begin();
    struct opened opened;
    char text[256];
    pprof_build_sample(build, (const int64_t[]){1}, (const char *const[]){"main", NULL});
    pprof_build_lines(build, false);
    pprof_build_sample(build, (const int64_t[]){1}, (const char *const[]){"native", "main", NULL});
    open_raw(&opened, build);
    ck_assert(!stacks_of(&opened, MAX, text, sizeof text));
    ck_assert_str_eq(text, "main;main");
    release(&opened);
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
           a_location_without_lines_has_no_frame, without_memory_it_is_not_opened)
