#include "lib/wire/pprof/pprof.h"

#include "tests/support/pprof_build.h"
#include "tests/support/pprof_random.h"
#include "tests/support/pprof_text.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define ID    "00f067aa0ba902b7"
#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"

static const struct pprof_rewrite keep = {.strip_trace_id = false};
static const struct pprof_rewrite strip = {.strip_trace_id = true};

/* Rewrites a profile; without edits it is returned unchanged. */
static struct bytes rewritten(struct view raw, const struct pprof_rewrite *rewrite)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    struct splice splice;
    struct bytes out;
    arena_init(&arena, 1 << 20);
    ck_assert(pprof_open(&pprof, raw, &arena, &fault));
    splice_begin(&splice, raw, &arena);
    pprof_rewrite_labels(&pprof, rewrite, &splice);
    ck_assert(!splice.failed);
    bytes_init(&out, 1 << 20, NULL);
    ck_assert_int_eq(bytes_reserve(&out, splice_size(&splice) + 1), BYTES_OK);
    splice_write(&splice, out.data);
    out.size = splice_size(&splice);
    ck_assert(pprof_open(&pprof, bytes_view(&out), &arena, &fault));
    arena_release(&arena);
    return out;
}

/* One sample with these labels, keys and values alternating, NULL-terminated. */
static struct bytes labelled(const char *const *labels)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_sample(build, (const int64_t[]){7}, (const char *const[]){"main", NULL});
    for (; *labels; labels += 2)
        pprof_build_label(build, labels[0], labels[1]);
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return raw;
}

/* Rewriting a sample with the labels `from` must give the labels `to`. */
static void expect(const struct pprof_rewrite *rewrite, const char *const *from,
                   const char *const *to)
{
    struct bytes raw = labelled(from), wanted = labelled(to);
    struct bytes out = rewritten(bytes_view(&raw), rewrite);
    struct bytes got = pprof_text(bytes_view(&out), true);
    struct bytes want = pprof_text(bytes_view(&wanted), true);
    ck_assert_msg(view_eq(bytes_view(&got), bytes_view(&want)), "%.*s\n%.*s",
                  VIEW_ARG(bytes_view(&got)), VIEW_ARG(bytes_view(&want)));
    bytes_release(&raw);
    bytes_release(&wanted);
    bytes_release(&out);
    bytes_release(&got);
    bytes_release(&want);
}

#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL})

START_TEST(the_alias_of_a_span_id_gets_its_name)
{
    expect(&keep, LABELS("a", "b", "profile_id", ID, "c", "d"),
           LABELS("a", "b", "span_id", ID, "c", "d"));
}
END_TEST

START_TEST(rubys_span_becomes_span_name_beside_an_id_only)
{
    expect(&keep, LABELS("profile_id", ID, "span", "GET /"),
           LABELS("span_id", ID, "span_name", "GET /"));
    expect(&keep, LABELS("span", "GET /", "span_id", ID),
           LABELS("span_name", "GET /", "span_id", ID));
    expect(&keep, LABELS("span", "of a bridge", "x", "y"), LABELS("span", "of a bridge", "x", "y"));
}
END_TEST

START_TEST(an_alias_beside_its_name_goes)
{
    expect(&keep, LABELS("profile_id", "00000000000000aa", "span_id", ID), LABELS("span_id", ID));
    expect(&keep, LABELS("span_id", ID, "span", "x", "span_name", "y"),
           LABELS("span_id", ID, "span_name", "y"));
    expect(&keep, LABELS("profile_id", ID, "profile_id", "00000000000000aa"),
           LABELS("span_id", ID));
}
END_TEST

START_TEST(trace_ids_are_kept_or_stripped_as_asked)
{
    expect(&keep, LABELS("span_id", ID, "trace_id", TRACE),
           LABELS("span_id", ID, "trace_id", TRACE));
    expect(&strip, LABELS("span_id", ID, "trace_id", TRACE), LABELS("span_id", ID));
    expect(&strip, LABELS("trace_id", TRACE, "profile_id", ID, "trace_id", TRACE),
           LABELS("span_id", ID));
}
END_TEST

START_TEST(without_anything_to_do_there_is_no_edit)
{
    struct bytes raw = labelled(LABELS("span_id", ID, "span_name", "x", "trace_id", TRACE));
    struct bytes out = rewritten(bytes_view(&raw), &keep);
    ck_assert(view_eq(bytes_view(&raw), bytes_view(&out)));
    bytes_release(&raw);
    bytes_release(&out);
}
END_TEST

START_TEST(labels_without_a_string_are_left_alone)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_sample(build, (const int64_t[]){7}, (const char *const[]){"main", NULL});
    pprof_build_num_label(build, "profile_id", 5, "");
    pprof_build_num_label(build, "trace_id", 5, "");
    struct bytes raw = pprof_build_raw(build), out = rewritten(bytes_view(&raw), &strip);
    ck_assert(view_eq(bytes_view(&raw), bytes_view(&out)));
    pprof_build_free(build);
    bytes_release(&raw);
    bytes_release(&out);
}
END_TEST

START_TEST(unknown_fields_and_other_strings_survive)
{
    struct view raw = PB_JOIN(
        PB_MESSAGE(1, pb_varint(1, 1)), PB_EMPTY(6), PB_TEXT(6, "profile_id"),
        PB_MESSAGE(2, pb_varint(2, 1), PB_TEXT(77, "in the sample"),
                   PB_MESSAGE(3, PB_TEXT(78, "in the label"), pb_varint(1, 1), pb_varint(2, 2))),
        PB_TEXT(6, "value"), PB_TEXT(79, "in the profile"));
    struct view want = PB_JOIN(
        PB_MESSAGE(1, pb_varint(1, 1)), PB_EMPTY(6), PB_TEXT(6, "profile_id"),
        PB_MESSAGE(2, pb_varint(2, 1), PB_TEXT(77, "in the sample"),
                   PB_MESSAGE(3, PB_TEXT(78, "in the label"), pb_varint(1, 3), pb_varint(2, 2))),
        PB_TEXT(6, "value"), PB_TEXT(79, "in the profile"), PB_TEXT(6, "span_id"));
    struct bytes out = rewritten(raw, &keep);
    ck_assert(view_eq(bytes_view(&out), want));
    bytes_release(&out);
}
END_TEST

/* Applies the expected rewrite to the text of a profile, label by label. */
static bool label_is(struct view line, const char *key)
{
    char mark[32];
    snprintf(mark, sizeof mark, "label %s = ", key);
    return memmem(line.data, line.size, mark, strlen(mark)) != NULL;
}

START_TEST(random_profiles_keep_everything_but_the_aliases)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct view raw = pprof_random(seed);
        struct bytes out = rewritten(raw, &keep);
        struct bytes before = pprof_text(raw, true), after = pprof_text(bytes_view(&out), true);
        struct view from = pprof_text_samples(&before), to = pprof_text_samples(&after);
        while (from.size) {
            struct view old = {from.data,
                               (size_t)((uint8_t *)memchr(from.data, '\n', from.size) - from.data)};
            struct view new = {to.data,
                               (size_t)((uint8_t *)memchr(to.data, '\n', to.size) - to.data)};
            bool id = label_is(old, "span_id") || label_is(old, "profile_id");
            if (!label_is(old, "profile_id") && !(label_is(old, "span") && id))
                ck_assert(view_eq(old, new));
            from = view_between(old.data + old.size + 1, from.data + from.size);
            to = view_between(new.data + new.size + 1, to.data + to.size);
        }
        ck_assert_uint_eq(to.size, 0);
        struct bytes again = rewritten(bytes_view(&out), &keep);
        ck_assert(view_eq(bytes_view(&again), bytes_view(&out)));
        bytes_release(&again);
        bytes_release(&out);
        bytes_release(&before);
        bytes_release(&after);
    }
}
END_TEST

START_TEST(a_time_is_set_behind_the_rewriting)
{
    struct bytes raw = labelled(LABELS("profile_id", ID));
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    struct splice splice;
    arena_init(&arena, 1 << 20);
    ck_assert(pprof_open(&pprof, bytes_view(&raw), &arena, &fault));
    splice_begin(&splice, pprof.raw, &arena);
    pprof_rewrite_labels(&pprof, &keep, &splice);
    pprof_set_time(&pprof, 1700000000123456789, &splice);
    uint8_t out[1000];
    ck_assert_uint_le(splice_size(&splice), sizeof out);
    splice_write(&splice, out);
    struct view view = {out, splice_size(&splice)};
    ck_assert(pprof_open(&pprof, view, &arena, &fault));
    ck_assert_int_eq(pprof.time_nanos, 1700000000123456789);
    ck_assert(view_eq(pprof_string_at(&pprof, pprof.string_count - 1), VIEW("span_id")));
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

static size_t count_times(struct view raw)
{
    struct proto_scan scan = proto_scan_begin(raw);
    struct proto_field field;
    size_t count = 0;
    while (proto_scan_next(&scan, &field))
        count += field.number == 9;
    return count;
}

START_TEST(a_time_that_is_dropped_leaves_nothing_else)
{
    static const struct pprof_rewrite drop = {.drop_time = true};
    struct bytes raw = labelled(LABELS("profile_id", ID));
    struct bytes timed = labelled(LABELS("profile_id", ID));
    for (int i = 0; i < 2; i++)
        bytes_append_view(&timed, VIEW("\x48\x07"));
    ck_assert_uint_eq(count_times(bytes_view(&timed)), 2);
    struct bytes out = rewritten(bytes_view(&timed), &drop);
    struct bytes want = rewritten(bytes_view(&raw), &keep);
    ck_assert(view_eq(bytes_view(&out), bytes_view(&want)));
    bytes_release(&out);
    bytes_release(&want);
    bytes_release(&timed);
    bytes_release(&raw);
}
END_TEST

START_TEST(a_full_arena_is_a_clean_failure)
{
    struct bytes raw = labelled(LABELS("profile_id", ID, "span", "x"));
    struct arena arena, small;
    struct pprof pprof;
    struct proto_fault fault;
    struct splice splice;
    bool done = false;
    arena_init(&arena, 1 << 20);
    ck_assert(pprof_open(&pprof, bytes_view(&raw), &arena, &fault));
    for (size_t cap = 0; !done; cap++) {
        arena_init(&small, cap);
        splice_begin(&splice, pprof.raw, &small);
        pprof_rewrite_labels(&pprof, &keep, &splice);
        pprof_set_time(&pprof, 1, &splice);
        done = !splice.failed;
        arena_release(&small);
        ck_assert_uint_lt(cap, 1 << 16);
    }
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

SUITE_MAIN("pprof_rewrite", the_alias_of_a_span_id_gets_its_name,
           rubys_span_becomes_span_name_beside_an_id_only, an_alias_beside_its_name_goes,
           trace_ids_are_kept_or_stripped_as_asked, without_anything_to_do_there_is_no_edit,
           labels_without_a_string_are_left_alone, unknown_fields_and_other_strings_survive,
           random_profiles_keep_everything_but_the_aliases, a_time_is_set_behind_the_rewriting,
           a_time_that_is_dropped_leaves_nothing_else, a_full_arena_is_a_clean_failure)
