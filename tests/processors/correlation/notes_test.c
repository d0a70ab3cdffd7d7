#include "processors/correlation/notes.h"

#include "tests/support/suite.h"

START_TEST(what_uploads_said_comes_back)
{
    struct span_figures ids[] = {{UINT64_MAX, 3, 70}, {1, 0, 0}};
    struct upload second = {.service = VIEW("b"), .unread = "why"};
    struct upload first = {.next = &second,
                           .service = VIEW("a"),
                           .from_go = true,
                           .window = {KIND_WALL, 1000, 10},
                           .ids = ids,
                           .count = 2};
    struct bytes note;
    struct arena arena;
    struct upload *read;
    uint64_t since;
    bytes_init(&note, 1 << 20, NULL);
    arena_init(&arena, 1 << 20);
    ck_assert(notes_write(&first, 77, &note));
    ck_assert(notes_read(bytes_view(&note), &arena, &read, &since));
    ck_assert_uint_eq(since, 77);
    ck_assert(view_eq(read->service, VIEW("a")) && read->from_go && !read->unread);
    ck_assert_int_eq(read->window.kind, KIND_WALL);
    ck_assert_uint_eq(read->window.end, 1000);
    ck_assert_uint_eq(read->window.length, 10);
    ck_assert_uint_eq(read->count, 2);
    ck_assert_uint_eq(read->ids[0].id, UINT64_MAX);
    ck_assert_uint_eq(read->ids[0].samples, 3);
    ck_assert_uint_eq(read->ids[0].cpu_ns, 70);
    ck_assert_uint_eq(read->ids[1].id, 1);
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
    struct upload *read;
    uint64_t since;
    bytes_init(&note, 1 << 20, NULL);
    arena_init(&arena, 1 << 20);
    ck_assert(notes_write(NULL, 5, &note));
    ck_assert(notes_read(bytes_view(&note), &arena, &read, &since));
    ck_assert_ptr_null(read);
    ck_assert_uint_eq(since, 5);
    ck_assert(!notes_read(VIEW("\x12\xff"), &arena, &read, &since));
    arena_release(&arena);
    bytes_release(&note);
}
END_TEST

SUITE_MAIN("correlation notes", what_uploads_said_comes_back, a_start_alone_and_foreign_bytes)
