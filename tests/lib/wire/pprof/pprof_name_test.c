#include "lib/wire/pprof/pprof.h"

#include "tests/support/suite.h"

static struct arena arena;

static struct view name_of(const char *const *types, const char *config)
{
    struct pprof pprof = {0};
    for (; *types; types++)
        pprof.types[pprof.type_count++].type = view_of(*types);
    return pprof_series_name(&pprof, view_of(config), &arena);
}

#define TYPES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void expect(const char *const *types, const char *config, const char *name)
{
    arena_init(&arena, 1 << 16);
    struct view got = name_of(types, config);
    ck_assert_msg(got.data && view_eq(got, view_of(name)), "%.*s, not %s", VIEW_ARG(got), name);
    arena_release(&arena);
}

START_TEST(profiles_of_real_sdks_without_a_configuration)
{
    expect(TYPES("samples", "cpu"), NULL, "process_cpu");
    expect(TYPES("cpu"), NULL, "process_cpu");
    expect(TYPES("samples", "wall"), NULL, "wall");
    expect(TYPES("samples", "wall", "cpu"), NULL, "wall");
    expect(TYPES("inuse_objects", "inuse_space"), NULL, "memory");
    expect(TYPES("alloc_objects", "alloc_space", "inuse_objects", "inuse_space"), NULL, "memory");
    expect(TYPES("objects", "space"), NULL, "memory");
    expect(TYPES("goroutine"), NULL, "goroutines");
    expect(TYPES("contentions", "delay"), NULL, "mutex");
    expect(TYPES("samples"), NULL, "process_cpu");
}
END_TEST

START_TEST(a_configuration_tells_block_from_mutex)
{
    expect(TYPES("contentions", "delay"),
           "{\"contentions\":{\"units\":\"lock_samples\",\"display-name\":\"block_count\","
           "\"cumulative\":false},\"delay\":{\"display-name\":\"block_duration\"}}",
           "block");
    expect(TYPES("contentions", "delay"), "{\"contentions\":{\"display-name\":\"mutex_count\"}}",
           "mutex");
    expect(TYPES("goroutine"), "{\"goroutine\":{\"display-name\":\"goroutines\"}}", "goroutines");
}
END_TEST

START_TEST(with_a_configuration_the_defaults_do_not_hold)
{
    expect(TYPES("samples"), "{}", "samples");
    expect(TYPES("contentions", "delay"), "{\"other\":{}}", "delay");
    expect(TYPES("samples"), "null", "process_cpu");
}
END_TEST

START_TEST(the_last_type_names_what_nothing_else_does)
{
    expect(TYPES("exceptions", "live"), NULL, "live");
    expect(TYPES("x"), "{\"x\":{\"display-name\":\"shown\"}}", "shown");
    expect(TYPES("x"), "{\"x\":{\"display-name\":\"\"}}", "x");
    expect(TYPES("x"), "{\"x\":null}", "x");
    expect(TYPES("spaces"), NULL, "spaces");
}
END_TEST

START_TEST(wall_is_known_by_the_type_and_not_by_what_it_shows_as)
{
    expect(TYPES("a", "wall"), "{\"a\":{\"display-name\":\"cpu\"}}", "wall");
    expect(TYPES("a"), "{\"a\":{\"display-name\":\"wall\"}}", "wall");
    expect(TYPES("wallclock"), NULL, "wallclock");
}
END_TEST

START_TEST(what_is_no_configuration_is_refused)
{
    static const char *const bad[] = {"{",
                                      "[]",
                                      "\"text\"",
                                      "12",
                                      "{\"a\":1}",
                                      "{\"a\":{\"display-name\":1}}",
                                      "{\"a\":{\"units\":true}}",
                                      "{\"a\":{\"cumulative\":\"yes\"}}",
                                      "{\"a\":{\"display-name\":\"\xff\"}}",
                                      "{} x"};
    arena_init(&arena, 1 << 16);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(!name_of(TYPES("a"), bad[i]).data, "%s", bad[i]);
        ck_assert_msg(!pprof_config_valid(view_of(bad[i])), "%s", bad[i]);
    }
    ck_assert(pprof_config_valid((struct view){0}));
    ck_assert(pprof_config_valid(VIEW("{\"a\":{\"sampled\":true,\"else\":1}}")));
    arena_release(&arena);
}
END_TEST

START_TEST(a_full_arena_is_a_clean_failure)
{
    bool named = false;
    for (size_t cap = 0; !named; cap++) {
        arena_init(&arena, cap);
        named = name_of(TYPES("x"), "{\"x\":{\"display-name\":\"something\"}}").data != NULL;
        arena_release(&arena);
        ck_assert_uint_lt(cap, 1000);
    }
}
END_TEST

SUITE_MAIN("pprof_name", profiles_of_real_sdks_without_a_configuration,
           a_configuration_tells_block_from_mutex, with_a_configuration_the_defaults_do_not_hold,
           the_last_type_names_what_nothing_else_does,
           wall_is_known_by_the_type_and_not_by_what_it_shows_as,
           what_is_no_configuration_is_refused, a_full_arena_is_a_clean_failure)
