#include "cli/watch.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/spanlink-watch-XXXXXX";
static char first[64], second[64];
static struct settings_files files;
static struct watch watch;

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void begin(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(first, sizeof first, "%s/first", folder);
    snprintf(second, sizeof second, "%s/second", folder);
    write_file(first, "a");
    write_file(second, "b");
    settings_files_add(&files, first);
    settings_files_add(&files, second);
    watch_take(&watch, &files);
}

static void end(void)
{
    unlink(first);
    unlink(second);
    rmdir(folder);
    settings_files_release(&files);
}

START_TEST(what_stays_has_not_changed)
{
    begin();
    ck_assert(!watch_changed(&watch, &files));
    ck_assert(!watch_changed(&watch, &files));
    ck_assert(watch_same(&watch, &files));
    end();
}
END_TEST

START_TEST(a_change_is_told_when_writing_has_ended)
{
    begin();
    write_file(second, "longer");
    ck_assert(!watch_changed(&watch, &files));
    write_file(second, "longer still");
    ck_assert(!watch_changed(&watch, &files));
    ck_assert(watch_changed(&watch, &files));
    ck_assert(!watch_same(&watch, &files));
    watch_take(&watch, &files);
    ck_assert(!watch_changed(&watch, &files));
    end();
}
END_TEST

START_TEST(a_file_that_goes_or_is_replaced_has_changed)
{
    begin();
    unlink(first);
    ck_assert(!watch_changed(&watch, &files));
    ck_assert(watch_changed(&watch, &files));
    watch_take(&watch, &files);
    rename(second, first);
    ck_assert(!watch_changed(&watch, &files));
    ck_assert(watch_changed(&watch, &files));
    end();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_stays_has_not_changed,
        a_change_is_told_when_writing_has_ended,
        a_file_that_goes_or_is_replaced_has_changed,
        NULL,
    };
    return suite_run("watch", tests);
}
