#include "receivers/kafka/marks.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static struct ledger ledger;
static struct marks marks;
static char text[MARKS_TEXT];

/* Adds count offsets and settles every one that `settles` says, then reads the text back. */
static void write_and_read(int64_t from, int64_t count, bool (*settles)(int64_t offset))
{
    uint64_t number;
    ledger_init(&ledger, from, NULL);
    for (int64_t offset = from; offset < from + count; offset++) {
        ck_assert(ledger_add(&ledger, offset, 5000 + offset, &number));
        if (settles(offset))
            ledger_settle(&ledger, number);
    }
    marks_write(&ledger, 1234, text);
    ck_assert(marks_read(&marks, ledger_commit(&ledger), text, strlen(text)));
}

static void release(void)
{
    marks_release(&marks);
    ledger_release(&ledger);
}

static bool odd(int64_t offset)
{
    return offset % 2;
}

static bool all(int64_t offset)
{
    (void)offset;
    return true;
}

START_TEST(they_say_what_settled_beyond_the_commit)
{
    write_and_read(1000, 300, odd);
    for (int64_t offset = 1000; offset < 1300; offset++)
        ck_assert_msg(marks_has(&marks, offset) == odd(offset), "%d", (int)offset);
    ck_assert(!marks_has(&marks, 999));
    ck_assert(!marks_has(&marks, 1300));
    ck_assert_int_eq(marks.time_ms, 6000);
    release();
}
END_TEST

START_TEST(with_nothing_open_they_say_the_time)
{
    write_and_read(1000, 300, all);
    ck_assert_str_eq(text, "spanlink 1 1234 ");
    ck_assert_int_eq(marks.time_ms, 1234);
    ck_assert(!marks_has(&marks, 1300));
    release();
}
END_TEST

START_TEST(they_fit_whatever_is_open)
{
    write_and_read(1, LEDGER_MAX, odd);
    ck_assert_uint_lt(strlen(text), MARKS_TEXT);
    ck_assert(marks_has(&marks, 16383));
    ck_assert(!marks_has(&marks, 16384));
    release();
    /* Offsets far apart: what does not fit is read again. */
    uint64_t number;
    ledger_init(&ledger, 0, NULL);
    for (int64_t i = 0; i < 100; i++) {
        ck_assert(ledger_add(&ledger, i * 1000, 1, &number));
        if (i)
            ledger_settle(&ledger, number);
    }
    marks_write(&ledger, 0, text);
    ck_assert_uint_lt(strlen(text), MARKS_TEXT);
    ck_assert(marks_read(&marks, 0, text, strlen(text)));
    ck_assert(marks_has(&marks, 1000) && marks_has(&marks, 20000) && !marks_has(&marks, 99000));
    release();
}
END_TEST

START_TEST(texts_of_others_say_nothing)
{
    static const char *const texts[] = {
        "",           "a", "spanlink 2 5 /w==", "spanlink 1 ", "spanlink 1 x /w==", "spanlink 1 5",
        "{\"lag\":1}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert(marks_read(&marks, 3, texts[i], strlen(texts[i])));
        ck_assert_int_eq(marks.time_ms, -1);
        ck_assert(!marks_has(&marks, 3));
        marks_release(&marks);
    }
    ck_assert(marks_read(&marks, 3, "spanlink 1 5 %%%", 16)); /* no Base64 */
    ck_assert_int_eq(marks.time_ms, 5);
    ck_assert(!marks_has(&marks, 3));
    marks_release(&marks);
    ck_assert(marks_read(&marks, 3, "spanlink 1 5 /w==", 17));
    ck_assert(marks_has(&marks, 3) && marks_has(&marks, 10) && !marks_has(&marks, 11));
    marks_release(&marks);
}
END_TEST

SUITE_MAIN("marks", they_say_what_settled_beyond_the_commit, with_nothing_open_they_say_the_time,
           they_fit_whatever_is_open, texts_of_others_say_nothing)
