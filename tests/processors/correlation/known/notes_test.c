#include "processors/correlation/known/notes.h"

#include "tests/support/suite.h"

START_TEST(what_uploads_said_comes_back)
{
    struct span_figures ids[] = {{UINT64_MAX, 3, false, 70}, {1, 0, false, 0}};
    uint64_t wall_ns[] = {50, 0};
    struct upload second = {.service = VIEW("b"), .unread = "why"};
    struct upload first = {.next = &second,
                           .service = VIEW("a"),
                           .from_go = true,
                           .has_samples = true,
                           .tenant = VIEW("t"),
                           .window = {KIND_WALL, 990, 1000, false, 0, 10, 8, 9, true},
                           .ids = ids,
                           .wall_ns = wall_ns,
                           .count = 2,
                           .wide_at = 900,
                           .skew = 11};
    struct bytes note;
    struct arena arena;
    struct notes notes;
    bytes_init(&note, 1 << 20, NULL);
    arena_init(&arena, 1 << 20);
    ck_assert(notes_write(&(struct notes){&first, 77, 88}, &note));
    ck_assert(notes_read(bytes_view(&note), &arena, &notes));
    ck_assert_uint_eq(notes.since, 77);
    ck_assert_uint_eq(notes.arrived, 88);
    const struct upload *read = notes.uploads;
    ck_assert(view_eq(read->service, VIEW("a")) && read->from_go && !read->unread);
    ck_assert_int_eq(read->window.kind, KIND_WALL);
    ck_assert_uint_eq(read->window.end, 1000);
    ck_assert_uint_eq(read->window.start, 990);
    ck_assert_uint_eq(read->window.length, 10);
    ck_assert_uint_eq(read->window.labels, 8);
    ck_assert_uint_eq(read->window.content, 9);
    ck_assert(read->window.wrong && !read->next->window.wrong);
    ck_assert_uint_eq(read->wide_at, 900);
    ck_assert_uint_eq(read->skew, 11);
    ck_assert(read->has_samples && view_eq(read->tenant, VIEW("t")));
    ck_assert_uint_eq(read->count, 2);
    ck_assert_uint_eq(read->ids[0].id, UINT64_MAX);
    ck_assert_uint_eq(read->ids[0].samples, 3);
    ck_assert_uint_eq(read->ids[0].cpu_ns, 70);
    ck_assert_uint_eq(read->ids[1].id, 1);
    ck_assert_uint_eq(read->wall_ns[0], 50);
    ck_assert_uint_eq(read->wall_ns[1], 0);
    ck_assert_ptr_null(read->next->wall_ns);
    ck_assert(view_eq(read->next->service, VIEW("b")) && read->next->unread);
    ck_assert_ptr_null(read->next->next);
    arena_release(&arena);
    bytes_release(&note);
}
END_TEST

START_TEST(a_start_alone_and_foreign_bytes)
{
    struct bytes note;
    struct arena arena;
    struct notes notes;
    bytes_init(&note, 1 << 20, NULL);
    arena_init(&arena, 1 << 20);
    ck_assert(notes_write(&(struct notes){.since = 5}, &note));
    ck_assert(notes_read(bytes_view(&note), &arena, &notes));
    ck_assert_ptr_null(notes.uploads);
    ck_assert_uint_eq(notes.since, 5);
    ck_assert(!notes_read(VIEW("\x12\xff"), &arena, &notes));
    arena_release(&arena);
    bytes_release(&note);
}
END_TEST

SUITE_MAIN("correlation notes", what_uploads_said_comes_back, a_start_alone_and_foreign_bytes)
