#include "lib/wire/pprof/pprof_identity.h"

#include "tests/support/pprof_build.h"
#include "tests/support/suite.h"

/* The identity of a sample with one stack and up to two labels; `first` is a function that an
 * earlier sample adds to the tables. */
static uint64_t identity(const char *first, const char *leaf, const char *caller, const char *label,
                         int64_t bytes, int64_t value)
{
    struct pprof_build *build = pprof_build_new();
    struct pprof_identity of;
    struct pprof_sample sample;
    struct proto_fault fault;
    struct arena arena;
    struct pprof pprof;
    pprof_build_line(build, 7);
    pprof_build_type(build, "contentions", "count");
    if (first)
        pprof_build_sample(build, &value, (const char *const[]){first, NULL});
    pprof_build_sample(build, &value, (const char *const[]){leaf, caller, NULL});
    if (label)
        pprof_build_label(build, "route", label);
    pprof_build_num_label(build, "bytes", bytes, "bytes");
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    arena_init(&arena, 1 << 20);
    ck_assert(pprof_open(&pprof, bytes_view(&raw), &arena, &fault));
    ck_assert(pprof_identity_open(&of, &pprof, &arena));
    struct proto_scan scan = proto_scan_begin(pprof.raw);
    uint64_t sum = 0;
    while (pprof_next_sample(&pprof, &scan, &sample))
        sum = pprof_identity_of(&of, &sample.field);
    arena_release(&arena);
    bytes_release(&raw);
    return sum;
}

START_TEST(equal_stacks_are_equal_whatever_their_numbers)
{
    uint64_t plain = identity(NULL, "lock", "main", "/a", 48, 1);
    ck_assert_uint_eq(identity("other", "lock", "main", "/a", 48, 1), plain);
    ck_assert_uint_eq(identity("main", "lock", "main", "/a", 48, 7), plain);
}
END_TEST

START_TEST(stack_order_and_labels_tell_samples_apart)
{
    const uint64_t all[] = {
        identity(NULL, "lock", "main", "/a", 48, 1), identity(NULL, "lock", "main", "/b", 48, 1),
        identity(NULL, "lock", "main", "/a", 64, 1), identity(NULL, "lock", "main", NULL, 48, 1),
        identity(NULL, "main", "lock", "/a", 48, 1), identity(NULL, "lock", "work", "/a", 48, 1),
        identity(NULL, "lock", "lock", "/a", 48, 1),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_uint_ne(all[i], all[j]);
}
END_TEST

SUITE_MAIN("pprof_identity", equal_stacks_are_equal_whatever_their_numbers,
           stack_order_and_labels_tell_samples_apart)
