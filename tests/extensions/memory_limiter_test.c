#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

extern const struct component extension_memory_limiter, processor_memory_limiter;
const struct component *const component_table[] = {
    &scripted_source, &scripted_sink, &extension_memory_limiter, &processor_memory_limiter, NULL};

#define MIB ((size_t)1 << 20)
#define PARTS                                                                                      \
    "receivers: {source: }\nexporters: {sink: }\n"                                                 \
    "extensions: {memory_limiter: {limit_mib: 300, check_interval: 1s, spike_limit_mib: 20}}\n"    \
    "processors: {memory_limiter: {limit_mib: 200}}\n"

static size_t limit_of(const char *service)
{
    struct given_runtime given;
    char *yaml;
    ck_assert_int_gt(asprintf(&yaml, "%sservice:\n%s", PARTS, service), 0);
    given_start(&given, yaml);
    size_t limit = given.runtime->budget.limit;
    given_stop(&given);
    free(yaml);
    return limit;
}

START_TEST(the_extension_sets_the_budget_when_in_use)
{
    ck_assert_uint_eq(limit_of("  extensions: [memory_limiter]\n"
                               "  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n"),
                      300 * MIB);
    ck_assert_uint_le(limit_of("  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n"),
                      128 * MIB);
}
END_TEST

START_TEST(the_smallest_limit_in_use_counts)
{
    ck_assert_uint_eq(limit_of("  extensions: [memory_limiter]\n"
                               "  pipelines: {traces: {receivers: [source], processors: "
                               "[memory_limiter], exporters: [sink]}}\n"),
                      200 * MIB);
}
END_TEST

START_TEST(one_of_the_two_limits_is_required)
{
    char *faults = given_faults("receivers: {source: }\nexporters: {sink: }\n"
                                "extensions: {memory_limiter: {check_interval: 1s}}\n"
                                "service:\n  pipelines: {traces: {receivers: [source], "
                                "exporters: [sink]}}\n");
    ck_assert_ptr_nonnull(strstr(faults, "limit_mib or limit_percentage"));
    free(faults);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_extension_sets_the_budget_when_in_use,
        the_smallest_limit_in_use_counts,
        one_of_the_two_limits_is_required,
        NULL,
    };
    return suite_run("memory_limiter extension", tests);
}
