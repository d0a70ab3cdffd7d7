#include "lib/wire/jfr/jfr_stacks.h"

#include "tests/support/jfr_build.h"
#include "tests/support/suite.h"

#include <stdio.h>

enum { SYMBOL = 201, CLASS, METHOD, MAX = 8, POOL_SIZE = 512 };

/* Constants of one pool: bytes are numbers below 128 and so are written as they are. */
struct pool {
    uint8_t data[POOL_SIZE];
    size_t size;
};

static void put(struct pool *pool, const uint8_t *bytes, size_t size)
{
    ck_assert_uint_le(pool->size + size, sizeof pool->data);
    memcpy(pool->data + pool->size, bytes, size);
    pool->size += size;
}

#define PUT(pool, ...) put(pool, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

static void put_symbol(struct pool *pool, uint8_t key, const char *text)
{
    PUT(pool, key, 3, (uint8_t)strlen(text));
    put(pool, (const uint8_t *)text, strlen(text));
}

static struct view pool_view(const struct pool *pool)
{
    return (struct view){pool->data, pool->size};
}

/* Stack 1: work of shop/Car, run of java/lang/Thread; stack 2: run; stack 3: an unknown method. */
static struct bytes chunk(const char *leaf, const uint64_t *stacks, size_t count)
{
    struct jfr_build *build = jfr_build_new(INT64_C(1800000000000000000), 1000);
    struct pool symbols = {.size = 0}, classes = {.size = 0}, methods = {.size = 0},
                traces = {.size = 0};
    jfr_build_field(build, "method", METHOD, JFR_BUILD_CONSTANT); /* of a StackFrame */
    jfr_build_class(build, "jdk.types.Symbol", SYMBOL);
    jfr_build_field(build, "string", JFR_BUILD_STRING, 0);
    jfr_build_class(build, "java.lang.Class", CLASS);
    jfr_build_field(build, "name", SYMBOL, JFR_BUILD_CONSTANT);
    jfr_build_class(build, "jdk.types.Method", METHOD);
    jfr_build_field(build, "type", CLASS, JFR_BUILD_CONSTANT);
    jfr_build_field(build, "name", SYMBOL, JFR_BUILD_CONSTANT);
    jfr_build_agent_classes(build);
    put_symbol(&symbols, 4, "run");
    put_symbol(&symbols, 1, "shop/Car");
    put_symbol(&symbols, 3, leaf);
    put_symbol(&symbols, 2, "java/lang/Thread");
    PUT(&classes, 6, 2, 5, 1);
    PUT(&methods, 7, 5, 3, 8, 6, 4);
    PUT(&traces, 1, 0, 2, 10, 7, 20, 8, 2, 0, 1, 20, 8, 3, 1, 1, 0, 99);
    jfr_build_pool(build, SYMBOL, 4, pool_view(&symbols));
    jfr_build_pool(build, CLASS, 2, pool_view(&classes));
    jfr_build_pool(build, METHOD, 2, pool_view(&methods));
    jfr_build_pool(build, JFR_BUILD_STACK, 3, pool_view(&traces));
    for (size_t i = 0; i < count; i++)
        jfr_build_sample(build, "jdk.ExecutionSample",
                         &(struct jfr_build_sample){.after_nanos = (int64_t)i,
                                                    .stack = stacks[i],
                                                    .state = JFR_BUILD_RUNNABLE});
    struct bytes made = jfr_build_chunk(build);
    jfr_build_free(build);
    return made;
}

/* The stacks of all events, such as "shop/Car.work,java/lang/Thread.run;". */
static void stacks_of(struct view raw, size_t max, char *out, size_t size)
{
    struct arena arena;
    struct jfr jfr;
    struct jfr_fault fault;
    struct jfr_stacks stacks;
    struct jfr_event event;
    struct jfr_stack_frame frames[MAX];
    size_t used = 0;
    arena_init(&arena, 1 << 20);
    ck_assert_msg(jfr_open(&jfr, raw, &arena, &fault), "%s", fault.reason);
    ck_assert(jfr_stacks_open(&stacks, &jfr, &arena));
    struct jfr_scan scan = jfr_scan_begin(&jfr);
    while (jfr_next_event(&jfr, &scan, &event)) {
        size_t count = jfr_stacks_read(&stacks, &event, frames, max);
        ck_assert_uint_le(count, max);
        for (size_t i = 0; i < count; i++)
            used += (size_t)snprintf(out + used, size - used, "%s%.*s.%.*s", i ? "," : "",
                                     VIEW_ARG(frames[i].class), VIEW_ARG(frames[i].method));
        used += (size_t)snprintf(out + used, size - used, ";");
    }
    arena_release(&arena);
}

START_TEST(stacks_begin_with_the_leaf)
{
    struct bytes raw = chunk("work", (const uint64_t[]){2, 1}, 2);
    char text[256] = "";
    stacks_of(bytes_view(&raw), MAX, text, sizeof text);
    ck_assert_str_eq(text, "java/lang/Thread.run;shop/Car.work,java/lang/Thread.run;");
    bytes_release(&raw);
}
END_TEST

START_TEST(a_stack_that_is_too_deep_keeps_its_leaf)
{
    struct bytes raw = chunk("work", (const uint64_t[]){1}, 1);
    char text[256] = "";
    stacks_of(bytes_view(&raw), 1, text, sizeof text);
    ck_assert_str_eq(text, "shop/Car.work;");
    bytes_release(&raw);
}
END_TEST

START_TEST(what_no_pool_has_is_empty)
{
    struct bytes raw = chunk("work", (const uint64_t[]){3, 77}, 2);
    char text[256] = "";
    stacks_of(bytes_view(&raw), MAX, text, sizeof text);
    ck_assert_str_eq(text, ".;;");
    bytes_release(&raw);
}
END_TEST

START_TEST(each_chunk_has_its_own_pools)
{
    struct bytes one = chunk("work", (const uint64_t[]){1}, 1);
    struct bytes two = chunk("rest", (const uint64_t[]){1}, 1);
    char text[256] = "";
    ck_assert_int_eq(bytes_append_view(&one, bytes_view(&two)), BYTES_OK);
    stacks_of(bytes_view(&one), MAX, text, sizeof text);
    ck_assert_str_eq(text, "shop/Car.work,java/lang/Thread.run;"
                           "shop/Car.rest,java/lang/Thread.run;");
    bytes_release(&one);
    bytes_release(&two);
}
END_TEST

START_TEST(without_memory_they_are_not_opened)
{
    struct bytes raw = chunk("work", (const uint64_t[]){1}, 1);
    struct arena arena;
    struct jfr jfr;
    struct jfr_fault fault;
    arena_init(&arena, 1 << 20);
    ck_assert(jfr_open(&jfr, bytes_view(&raw), &arena, &fault));
    bool opened = false;
    for (size_t room = 0; room < 1 << 14 && !opened; room += 64) {
        struct jfr_stacks stacks;
        struct arena small;
        arena_init(&small, room);
        opened = jfr_stacks_open(&stacks, &jfr, &small);
        ck_assert(!opened || room > 0);
        arena_release(&small);
    }
    ck_assert(opened);
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

SUITE_MAIN("jfr_stacks", stacks_begin_with_the_leaf, a_stack_that_is_too_deep_keeps_its_leaf,
           what_no_pool_has_is_empty, each_chunk_has_its_own_pools,
           without_memory_they_are_not_opened)
