#include "lib/wire/jfr/jfr_labels.h"

#include "jfr_labels.pb-c.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#define BIG ((size_t)1 << 26)

/* Entries of the maps in wire format. */
#define STRING(key, text) PB_MESSAGE(2, pb_varint(1, key), PB_TEXT(2, text))
#define LABEL(key, value) PB_MESSAGE(1, pb_varint(1, key), pb_varint(2, value))
#define CONTEXT(key, ...) PB_MESSAGE(1, pb_varint(1, key), PB_MESSAGE(2, __VA_ARGS__))

static struct arena arena;
static struct jfr_labels labels;
static struct proto_fault fault;

static bool open(struct view raw)
{
    arena_init(&arena, BIG);
    return jfr_labels_open(&labels, raw, &arena, &fault);
}

static void expect(struct view found, const char *text)
{
    if (!text)
        ck_assert_ptr_null(found.data);
    else
        ck_assert_msg(found.data && view_eq(found, view_of(text)), "%.*s", VIEW_ARG(found));
}

START_TEST(a_name_is_found_by_its_number)
{
    /* As sent by agent 2.9.2: unordered. */
    ck_assert(open(PB_JOIN(STRING(3, "GET /bike"), STRING(1, "GET /scooter"), STRING(2, "GET /car"),
                           STRING(UINT64_MAX, "last"))));
    expect(jfr_labels_string(&labels, 1), "GET /scooter");
    expect(jfr_labels_string(&labels, 2), "GET /car");
    expect(jfr_labels_string(&labels, 3), "GET /bike");
    expect(jfr_labels_string(&labels, UINT64_MAX), "last");
    expect(jfr_labels_string(&labels, 0), NULL);
    expect(jfr_labels_string(&labels, 4), NULL);
    arena_release(&arena);
}
END_TEST

START_TEST(labels_of_a_context_are_found_by_name)
{
    ck_assert(open(PB_JOIN(CONTEXT(9, LABEL(1, 2), LABEL(3, 4)), CONTEXT(8, LABEL(1, 4)),
                           STRING(1, "profile_id"), STRING(2, "00f067aa0ba902b7"),
                           STRING(3, "region"), STRING(4, "eu"))));
    expect(jfr_labels_of_context(&labels, 9, VIEW("profile_id")), "00f067aa0ba902b7");
    expect(jfr_labels_of_context(&labels, 9, VIEW("region")), "eu");
    expect(jfr_labels_of_context(&labels, 8, VIEW("profile_id")), "eu");
    expect(jfr_labels_of_context(&labels, 8, VIEW("region")), NULL);
    expect(jfr_labels_of_context(&labels, 7, VIEW("region")), NULL);
    arena_release(&arena);
}
END_TEST

START_TEST(the_last_entry_of_a_key_counts_and_what_is_missing_is_zero_or_empty)
{
    ck_assert(open(PB_JOIN(STRING(1, "zz"), STRING(1, "a"), PB_MESSAGE(2, PB_TEXT(2, "of zero")),
                           STRING(5, "x"), PB_MESSAGE(2, pb_varint(1, 5)))));
    expect(jfr_labels_string(&labels, 1), "a");
    expect(jfr_labels_string(&labels, 0), "of zero");
    expect(jfr_labels_string(&labels, 5), "");
    arena_release(&arena);
    ck_assert(open(VIEW("")));
    expect(jfr_labels_string(&labels, 0), NULL);
    expect(jfr_labels_of_context(&labels, 0, VIEW("")), NULL);
    arena_release(&arena);
}
END_TEST

START_TEST(malformed_labels_are_refused)
{
    struct view bad[] = {
        PB_RAW(0x12, 0x05, 0x08),                  /* cut off */
        PB_MESSAGE(2, PB_TEXT(1, "k")),            /* a key of the wrong type */
        pb_varint(1, 5),                           /* a context that is a number */
        STRING(1, "\xff\xfe"),                     /* not UTF-8 */
        CONTEXT(1, PB_MESSAGE(1, PB_TEXT(2, ""))), /* a label that is text */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fault = (struct proto_fault){0};
        ck_assert(!open(bad[i]));
        ck_assert_ptr_nonnull(fault.message);
        ck_assert_ptr_nonnull(fault.reason);
        ck_assert_uint_le(fault.offset, bad[i].size);
        arena_release(&arena);
    }
}
END_TEST

/* The last string of a key, according to an independent decoder. */
static const char *reference_string(const JfrLabels__LabelsSnapshot *snapshot, int64_t key)
{
    for (size_t i = snapshot->n_strings; i-- > 0;)
        if (snapshot->strings[i]->key == key)
            return snapshot->strings[i]->value;
    return NULL;
}

START_TEST(what_is_read_agrees_with_an_independent_decoder)
{
    size_t strings = 0, contexts = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random random = random_seeded(seed);
        struct bytes raw;
        bytes_init(&raw, BIG, NULL);
        proto_random(&random, &shape_jfr_labels, RANDOM_UNKNOWN, 4, &raw);
        JfrLabels__LabelsSnapshot *snapshot =
            jfr_labels__labels_snapshot__unpack(NULL, raw.size, raw.data);
        ck_assert_ptr_nonnull(snapshot);
        ck_assert_msg(open(bytes_view(&raw)), "%s", fault.reason);
        ck_assert_uint_eq(labels.strings.count, snapshot->n_strings);
        ck_assert_uint_eq(labels.contexts.count, snapshot->n_contexts);
        for (size_t i = 0; i < snapshot->n_strings; i++) {
            int64_t key = snapshot->strings[i]->key;
            expect(jfr_labels_string(&labels, (uint64_t)key), reference_string(snapshot, key));
        }
        strings += snapshot->n_strings;
        contexts += snapshot->n_contexts;
        jfr_labels__labels_snapshot__free_unpacked(snapshot, NULL);
        arena_release(&arena);
        bytes_release(&raw);
    }
    ck_assert_uint_gt(strings, 100);
    ck_assert_uint_gt(contexts, 100);
}
END_TEST

START_TEST(an_arena_without_room_is_a_refusal_whatever_its_size)
{
    struct view raw = PB_JOIN(STRING(1, "a"), STRING(2, "b"), CONTEXT(1, LABEL(1, 2)));
    size_t cap = 0;
    for (;; cap++) {
        arena_init(&arena, cap);
        bool good = jfr_labels_open(&labels, raw, &arena, &fault);
        arena_release(&arena);
        if (good)
            break;
        ck_assert_str_eq(fault.reason, "too large");
    }
    ck_assert_uint_gt(cap, 64);
}
END_TEST

SUITE_MAIN("jfr labels", a_name_is_found_by_its_number, labels_of_a_context_are_found_by_name,
           the_last_entry_of_a_key_counts_and_what_is_missing_is_zero_or_empty,
           malformed_labels_are_refused, what_is_read_agrees_with_an_independent_decoder,
           an_arena_without_room_is_a_refusal_whatever_its_size)
