#include "receivers/kafka/commit_metadata.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static struct offsets offsets;
static struct commit_metadata metadata;
static char text[COMMIT_METADATA_SIZE];

/* Adds count offsets and settles every one that `settles` says, then reads the text back. */
static void write_and_read(int64_t from, int64_t count, bool (*settles)(int64_t offset))
{
    uint64_t number;
    offsets_init(&offsets, from, NULL);
    for (int64_t offset = from; offset < from + count; offset++) {
        ck_assert(offsets_add(&offsets, offset, 5000 + offset, &number));
        if (settles(offset))
            offsets_settle(&offsets, number);
    }
    commit_metadata_write(&offsets, 1234, text);
    ck_assert(commit_metadata_read(&metadata, offsets_to_commit(&offsets), text, strlen(text)));
}

static void release(void)
{
    commit_metadata_release(&metadata);
    offsets_release(&offsets);
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
        ck_assert_msg(commit_metadata_has(&metadata, offset) == odd(offset), "%d", (int)offset);
    ck_assert(!commit_metadata_has(&metadata, 999));
    ck_assert(!commit_metadata_has(&metadata, 1300));
    ck_assert_int_eq(metadata.time_ms, 6000);
    release();
}
END_TEST

START_TEST(with_nothing_open_they_say_the_time)
{
    write_and_read(1000, 300, all);
    ck_assert_str_eq(text, "spanlink 1 1234 ");
    ck_assert_int_eq(metadata.time_ms, 1234);
    ck_assert(!commit_metadata_has(&metadata, 1300));
    release();
}
END_TEST

START_TEST(they_fit_whatever_is_open)
{
    write_and_read(1, OFFSETS_MAX, odd);
    ck_assert_uint_lt(strlen(text), COMMIT_METADATA_SIZE);
    ck_assert(commit_metadata_has(&metadata, 16383));
    ck_assert(!commit_metadata_has(&metadata, 16384));
    release();
    /* Offsets far apart: what does not fit is read again. */
    uint64_t number;
    offsets_init(&offsets, 0, NULL);
    for (int64_t i = 0; i < 100; i++) {
        ck_assert(offsets_add(&offsets, i * 1000, 1, &number));
        if (i)
            offsets_settle(&offsets, number);
    }
    commit_metadata_write(&offsets, 0, text);
    ck_assert_uint_lt(strlen(text), COMMIT_METADATA_SIZE);
    ck_assert(commit_metadata_read(&metadata, 0, text, strlen(text)));
    ck_assert(commit_metadata_has(&metadata, 1000) && commit_metadata_has(&metadata, 20000) &&
              !commit_metadata_has(&metadata, 99000));
    release();
}
END_TEST

START_TEST(texts_of_others_say_nothing)
{
    static const char *const texts[] = {
        "",           "a", "spanlink 2 5 /w==", "spanlink 1 ", "spanlink 1 x /w==", "spanlink 1 5",
        "{\"lag\":1}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ck_assert(commit_metadata_read(&metadata, 3, texts[i], strlen(texts[i])));
        ck_assert_int_eq(metadata.time_ms, -1);
        ck_assert(!commit_metadata_has(&metadata, 3));
        commit_metadata_release(&metadata);
    }
    ck_assert(commit_metadata_read(&metadata, 3, "spanlink 1 5 %%%", 16)); /* no Base64 */
    ck_assert_int_eq(metadata.time_ms, 5);
    ck_assert(!commit_metadata_has(&metadata, 3));
    commit_metadata_release(&metadata);
    ck_assert(commit_metadata_read(&metadata, 3, "spanlink 1 5 /w==", 17));
    ck_assert(commit_metadata_has(&metadata, 3) && commit_metadata_has(&metadata, 10) &&
              !commit_metadata_has(&metadata, 11));
    commit_metadata_release(&metadata);
}
END_TEST

SUITE_MAIN("commit_metadata", they_say_what_settled_beyond_the_commit,
           with_nothing_open_they_say_the_time, they_fit_whatever_is_open,
           texts_of_others_say_nothing)
