#include "pipeline/memory_limit.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MIB ((size_t)1 << 20)

static char root[64];

static void begin(void)
{
    strcpy(root, "/tmp/spanlink-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

/* Writes root/path, making the folders above it. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(full, 0700);
        *at = '/';
    }
    FILE *out = fopen(full, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

static void end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(the_second_version_gives_the_least_limit_on_the_way_up)
{
    begin();
    put("/proc/self/cgroup", "0::/pod/app\n");
    put("/sys/fs/cgroup/pod/app/memory.max", "max\n");
    put("/sys/fs/cgroup/pod/memory.max", "209715200\n");
    put("/sys/fs/cgroup/memory.max", "419430400\n");
    ck_assert_uint_eq(memory_limit_cgroup(root), 200 * MIB);
    end();
}
END_TEST

START_TEST(in_a_container_the_root_group_holds_the_limit)
{
    begin();
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/memory.max", "104857600\n");
    ck_assert_uint_eq(memory_limit_cgroup(root), 100 * MIB);
    end();
}
END_TEST

START_TEST(the_first_version_is_read_too)
{
    begin();
    put("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "52428800\n");
    ck_assert_uint_eq(memory_limit_cgroup(root), 50 * MIB);
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    ck_assert_uint_eq(memory_limit_cgroup(root), 0);
    end();
}
END_TEST

START_TEST(no_group_is_no_limit)
{
    begin();
    ck_assert_uint_eq(memory_limit_cgroup(root), 0);
    put("/proc/self/cgroup", "nonsense\n0::/\n");
    ck_assert_uint_eq(memory_limit_cgroup(root), 0);
    end();
}
END_TEST

START_TEST(the_default_is_a_quarter_of_a_small_group)
{
    ck_assert_uint_eq(memory_limit_default(0), 128 * MIB);
    ck_assert_uint_eq(memory_limit_default(100 * MIB), 25 * MIB);
    ck_assert_uint_eq(memory_limit_default(4096 * MIB), 128 * MIB);
}
END_TEST

START_TEST(the_limit_is_given_in_mebibytes_or_percent)
{
    struct memory_limit_settings mib = {.limit_mib = 64, .limit_percentage = 50};
    struct memory_limit_settings percent = {.limit_percentage = 50};
    ck_assert_uint_eq(memory_limit_of(&mib, 1000 * MIB), 64 * MIB);
    ck_assert_uint_eq(memory_limit_of(&percent, 1000 * MIB), 500 * MIB);
    ck_assert_uint_gt(memory_limit_total(), MIB);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_second_version_gives_the_least_limit_on_the_way_up,
        in_a_container_the_root_group_holds_the_limit,
        the_first_version_is_read_too,
        no_group_is_no_limit,
        the_default_is_a_quarter_of_a_small_group,
        the_limit_is_given_in_mebibytes_or_percent,
        NULL,
    };
    return suite_run("memory_limit", tests);
}
