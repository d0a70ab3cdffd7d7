#include "lib/base/watched_file.h"

#include "lib/base/clock.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64], path[96], error[256];
static struct watched_file file;
static struct bytes content;
static uint64_t now;

static void set_up(void)
{
    strcpy(folder, "/tmp/spanlink-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    file = (struct watched_file){.path = path};
    bytes_init(&content, 100, NULL);
    now = 5 * NS_PER_S;
}

static void tear_down(void)
{
    bytes_release(&content);
    unlink(path);
    rmdir(folder);
}

static void put(const char *text)
{
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

static enum watched_result look(void)
{
    return watched_file_look(&file, now, &content, error, sizeof error);
}

static void expect_read(const char *text)
{
    ck_assert_int_eq(look(), WATCHED_READ);
    ck_assert(view_eq(bytes_view(&content), view_of(text)));
    now += NS_PER_S;
}

START_TEST(it_is_looked_at_once_a_second_and_read_when_it_changed)
{
    set_up();
    put("one");
    ck_assert_int_eq(look(), WATCHED_READ);
    put("two");
    ck_assert_int_eq(look(), WATCHED_SAME);
    ck_assert_uint_eq(content.size, 0);
    now += NS_PER_S;
    expect_read("two");
    expect_read("two"); /* read again, as a tick of the file system's clock may hide a change */
    ck_assert_int_eq(look(), WATCHED_SAME);
    now += NS_PER_S;
    ck_assert_int_eq(look(), WATCHED_SAME);
    tear_down();
}
END_TEST

START_TEST(one_that_takes_its_place_is_read)
{
    char other[104];
    set_up();
    put("one");
    expect_read("one");
    expect_read("one");
    snprintf(other, sizeof other, "%s.new", path);
    rename(path, other);
    put("two");
    rename(other, path);
    put("six");
    expect_read("six");
    tear_down();
}
END_TEST

START_TEST(what_cannot_be_read_is_told_once)
{
    set_up();
    ck_assert_int_eq(look(), WATCHED_FAILED);
    ck_assert_ptr_nonnull(strstr(error, "cannot read"));
    ck_assert_ptr_nonnull(strstr(error, path));
    now += NS_PER_S;
    ck_assert_int_eq(look(), WATCHED_SAME);
    put("one");
    now += NS_PER_S;
    expect_read("one");
    unlink(path);
    ck_assert_int_eq(look(), WATCHED_FAILED);
    tear_down();
}
END_TEST

START_TEST(one_past_the_limit_is_not_read)
{
    char text[102];
    set_up();
    memset(text, 'x', 101);
    text[101] = '\0';
    put(text);
    ck_assert_int_eq(look(), WATCHED_FAILED);
    ck_assert_uint_eq(content.size, 0);
    text[100] = '\0';
    put(text);
    now += NS_PER_S;
    expect_read(text);
    file.path = folder;
    ck_assert_int_eq(look(), WATCHED_FAILED);
    tear_down();
}
END_TEST

SUITE_MAIN("watched_file", it_is_looked_at_once_a_second_and_read_when_it_changed,
           one_that_takes_its_place_is_read, what_cannot_be_read_is_told_once,
           one_past_the_limit_is_not_read)
