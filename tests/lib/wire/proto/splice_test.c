#include "lib/wire/proto/splice.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static struct arena arena;
static struct splice splice;

static void begin(struct view source)
{
    arena_init(&arena, 1 << 20);
    splice_begin(&splice, source, &arena);
}

/* Whether the edits result in these bytes. */
static bool gives(struct view want)
{
    uint8_t *out = malloc(splice_size(&splice) + 1);
    splice_write(&splice, out);
    bool same = view_eq((struct view){out, splice_size(&splice)}, want);
    free(out);
    arena_release(&arena);
    return same;
}

static struct proto_field first_field(struct view message)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field = {0};
    ck_assert(proto_scan_next(&scan, &field));
    return field;
}

START_TEST(without_edits_the_bytes_stay_and_no_memory_is_used)
{
    struct view message =
        PB_JOIN(PB_MESSAGE(1, PB_TEXT(2, "x")), PB_RAW(0x8a, 0x00, 0x81, 0x00, 'y'));
    begin(message);
    struct proto_field field = first_field(message);
    splice_enter(&splice, &field);
    splice_insert(&splice, field.end, VIEW(""));
    splice_delete(&splice, field.end, field.end);
    splice_leave(&splice);
    ck_assert(!splice_any(&splice));
    ck_assert_uint_eq(arena.used, 0);
    ck_assert(gives(message));
}
END_TEST

START_TEST(an_insert_fixes_every_length_around_it)
{
    struct view text = PB_TEXT(2, "0123456789");
    struct view inner = PB_MESSAGE(1, pb_fill(3, 110, 'a'));
    struct view outer = PB_MESSAGE(1, inner, PB_TEXT(9, "tail"));
    begin(outer);
    struct proto_field a = first_field(outer), b = first_field(a.bytes);
    splice_enter(&splice, &a);
    splice_enter(&splice, &b);
    splice_insert(&splice, b.end, text);
    splice_leave(&splice);
    splice_leave(&splice);
    /* The inner length grows from one byte to two. */
    ck_assert(gives(PB_MESSAGE(1, PB_MESSAGE(1, pb_fill(3, 110, 'a'), text), PB_TEXT(9, "tail"))));
}
END_TEST

START_TEST(deletes_shrink_lengths_and_runs_of_them_are_one_edit)
{
    struct view parts[300];
    for (unsigned i = 0; i < 300; i++)
        parts[i] = pb_varint(2, i);
    struct view message = PB_MESSAGE(1, pb_join(parts, 300), PB_TEXT(5, "stays"));
    begin(message);
    struct proto_field outer = first_field(message), field;
    splice_enter(&splice, &outer);
    struct proto_scan scan = proto_scan_begin(outer.bytes);
    while (proto_scan_next(&scan, &field))
        if (field.number == 2)
            splice_delete(&splice, field.start, field.end);
    splice_leave(&splice);
    ck_assert_uint_eq(splice.count, 2);
    ck_assert(gives(PB_MESSAGE(1, PB_TEXT(5, "stays"))));
}
END_TEST

START_TEST(edits_that_balance_keep_the_lengths_own_bytes)
{
    struct view message = PB_RAW(0x0a, 0x83, 0x00, 0x12, 0x01, 'a');
    begin(message);
    struct proto_field outer = first_field(message);
    splice_enter(&splice, &outer);
    splice_replace(&splice, outer.end - 1, outer.end, VIEW("b"));
    splice_leave(&splice);
    ck_assert(gives(PB_RAW(0x0a, 0x83, 0x00, 0x12, 0x01, 'b')));
}
END_TEST

START_TEST(an_abandoned_message_leaves_no_trace)
{
    struct view keep = PB_MESSAGE(1, PB_TEXT(2, "keep")), drop = PB_MESSAGE(1, PB_TEXT(2, "drop"));
    struct view message = PB_MESSAGE(7, drop, keep, drop);
    begin(message);
    struct proto_field outer = first_field(message), field;
    splice_enter(&splice, &outer);
    struct proto_scan scan = proto_scan_begin(outer.bytes);
    while (proto_scan_next(&scan, &field)) {
        splice_enter(&splice, &field);
        splice_insert(&splice, field.end, VIEW("zz"));
        splice_abandon(&splice);
    }
    splice_leave(&splice);
    ck_assert(!splice_any(&splice));
    ck_assert(gives(message));
}
END_TEST

START_TEST(an_abandoned_message_can_be_deleted)
{
    struct view keep = PB_MESSAGE(1, PB_TEXT(2, "keep")), drop = PB_MESSAGE(1, PB_TEXT(2, "drop"));
    struct view message = PB_MESSAGE(7, drop, keep, drop);
    begin(message);
    struct proto_field outer = first_field(message), field;
    splice_enter(&splice, &outer);
    struct proto_scan scan = proto_scan_begin(outer.bytes);
    while (proto_scan_next(&scan, &field)) {
        splice_enter(&splice, &field);
        splice_delete(&splice, field.bytes.data, field.end);
        if (view_eq(view_between(field.start, field.end), keep)) {
            splice_leave(&splice);
        } else {
            splice_abandon(&splice);
            splice_delete(&splice, field.start, field.end);
        }
    }
    splice_leave(&splice);
    ck_assert(gives(PB_MESSAGE(7, PB_EMPTY(1))));
}
END_TEST

/* Random edits: deletes repeated fields, inserts new ones, and builds the expected result. */
struct edit_walk {
    struct random random;
    struct splice splice;
};

static const uint8_t extra_bytes[] = {0xfa, 0x3f, 0x03, 'n', 'e', 'w'}; /* field 1023 */

static void edit_message(struct edit_walk *walk, struct view body, unsigned depth,
                         struct bytes *want)
{
    const struct view extra = {extra_bytes, sizeof extra_bytes};
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        uint32_t choice = random_below(&walk->random, 8);
        if (choice == 0) {
            splice_delete(&walk->splice, field.start, field.end);
            continue;
        }
        if (choice == 1) {
            splice_insert(&walk->splice, field.start, extra);
            bytes_append_view(want, extra);
        }
        /* Field 2 leads from the resource to its scopes and to their spans. */
        if (choice < 6 && depth < 3 && field.number == (depth ? 2 : 1) && field.type == WIRE_LEN) {
            struct bytes inner;
            bytes_init(&inner, SIZE_MAX / 2, NULL);
            splice_enter(&walk->splice, &field);
            edit_message(walk, field.bytes, depth + 1, &inner);
            splice_leave(&walk->splice);
            bytes_append_view(want,
                              pb_message(field.number, &(struct view){inner.data, inner.size}, 1));
            bytes_release(&inner);
        } else {
            bytes_append(want, field.start, (size_t)(field.end - field.start));
        }
    }
}

START_TEST(random_edits_decode_to_what_was_meant)
{
    for (unsigned seed = 0; seed < 1500; seed++) {
        struct edit_walk walk = {.random = random_seeded(seed)};
        struct bytes message, want;
        bytes_init(&message, SIZE_MAX / 2, NULL);
        bytes_init(&want, SIZE_MAX / 2, NULL);
        proto_random(&walk.random, &shape_trace_request, RANDOM_UNKNOWN | RANDOM_PADDED, 8,
                     &message);
        arena_init(&arena, SIZE_MAX / 2);
        splice_begin(&walk.splice, bytes_view(&message), &arena);
        edit_message(&walk, bytes_view(&message), 0, &want);
        size_t size = splice_size(&walk.splice);
        uint8_t *out = malloc(size + 1);
        splice_write(&walk.splice, out);
        struct view got = {out, size};
        if (!splice_any(&walk.splice))
            ck_assert(view_eq(got, bytes_view(&message)));
        ck_assert_msg(otlp_reference_same(SIGNAL_TRACES, got, bytes_view(&want)), "seed %u", seed);
        free(out);
        arena_release(&arena);
        bytes_release(&message);
        bytes_release(&want);
    }
}
END_TEST

START_TEST(a_full_arena_is_a_clean_failure)
{
    struct view message = PB_MESSAGE(1, PB_MESSAGE(2, PB_TEXT(3, "x")));
    struct proto_field outer = first_field(message), inner = first_field(outer.bytes);
    size_t cap = 0;
    for (bool done = false; !done; cap += 64) {
        arena_init(&arena, cap);
        splice_begin(&splice, message, &arena);
        splice_enter(&splice, &outer);
        splice_enter(&splice, &inner);
        for (unsigned i = 0; i < 40; i++)
            splice_insert(&splice, inner.end, VIEW("yy"));
        splice_leave(&splice);
        splice_leave(&splice);
        done = !splice.failed;
        arena_release(&arena);
        ck_assert_uint_lt(cap, 1 << 20);
    }
    ck_assert_uint_gt(cap, 64);
}
END_TEST

/* Replaces, deletes or inserts at each field of a message in a message, `at_once` or one by one. */
static struct view many_edits(struct view message, bool at_once, uint8_t *out)
{
    struct proto_field outer = first_field(message), inner = first_field(outer.bytes), field;
    struct proto_scan scan = proto_scan_begin(inner.bytes);
    struct splice_edit *next = NULL;
    int64_t growth = 0;
    begin(message);
    splice_enter(&splice, &outer);
    if (!at_once)
        splice_enter(&splice, &inner);
    else
        ck_assert_ptr_nonnull(next = splice_room(&splice, 300));
    for (unsigned i = 0; proto_scan_next(&scan, &field); i++) {
        struct view text = i % 3 ? VIEW("") : VIEW("\x1a\x03new");
        const uint8_t *from = i % 2 ? field.start : field.end, *to = field.end;
        if (from == to && !text.size)
            continue;
        if (!at_once)
            splice_replace(&splice, from, to, text);
        else
            *next++ =
                (struct splice_edit){(size_t)(from - message.data), (size_t)(to - from), text};
        growth += (int64_t)text.size - (to - from);
    }
    if (at_once)
        splice_take(&splice, &inner, next, growth);
    else
        splice_leave(&splice);
    splice_insert(&splice, outer.end, VIEW("\x1a\x03new"));
    splice_leave(&splice);
    ck_assert(!splice.failed);
    splice_write(&splice, out);
    return (struct view){out, splice_size(&splice)};
}

START_TEST(many_edits_at_once_are_as_one_by_one)
{
    static uint8_t once[1 << 15], each[1 << 15];
    static const size_t counts[] = {1, 2, 15, 16, 17, 63, 64, 65, 300};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct view inner = VIEW("");
        for (size_t field = 0; field < counts[i]; field++)
            inner = PB_JOIN(inner, pb_fill(2, field % 90, 'f'));
        struct view message = PB_MESSAGE(1, PB_MESSAGE(1, inner), PB_TEXT(9, "tail"));
        ck_assert_uint_le(message.size + 5 * counts[i], sizeof once);
        struct view made = many_edits(message, true, once);
        arena_release(&arena);
        ck_assert(view_eq(made, many_edits(message, false, each)));
        arena_release(&arena);
    }
}
END_TEST

START_TEST(room_that_nobody_fills_leaves_no_trace)
{
    struct view message = PB_MESSAGE(1, PB_MESSAGE(2, PB_TEXT(3, "x")));
    struct proto_field outer = first_field(message), inner = first_field(outer.bytes);
    begin(message);
    splice_enter(&splice, &outer);
    struct splice_edit *room = splice_room(&splice, 100);
    ck_assert_ptr_nonnull(room);
    splice_take(&splice, &inner, room, 0);
    splice_leave(&splice);
    ck_assert(!splice_any(&splice));
    ck_assert(gives(message));
    arena_init(&arena, 256);
    splice_begin(&splice, message, &arena);
    splice_enter(&splice, &outer);
    ck_assert_ptr_null(splice_room(&splice, 100));
    ck_assert(splice.failed);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        without_edits_the_bytes_stay_and_no_memory_is_used,
        an_insert_fixes_every_length_around_it,
        deletes_shrink_lengths_and_runs_of_them_are_one_edit,
        edits_that_balance_keep_the_lengths_own_bytes,
        an_abandoned_message_leaves_no_trace,
        an_abandoned_message_can_be_deleted,
        random_edits_decode_to_what_was_meant,
        a_full_arena_is_a_clean_failure,
        many_edits_at_once_are_as_one_by_one,
        room_that_nobody_fills_leaves_no_trace,
        NULL,
    };
    return suite_run("splice", tests);
}
