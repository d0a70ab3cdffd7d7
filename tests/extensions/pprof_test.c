#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

extern const struct component extension_pprof;
const struct component *const component_table[] = {&scripted_source, &scripted_sink,
                                                   &extension_pprof, NULL};

START_TEST(the_collectors_keys_are_accepted_and_it_starts)
{
    struct given_runtime given;
    given_start(&given, "receivers: {source: }\nexporters: {sink: }\n"
                        "extensions: {pprof: {endpoint: 'localhost:1777', save_to_file: /x, "
                        "block_profile_fraction: 3, mutex_profile_fraction: -1}}\n"
                        "service:\n  extensions: [pprof]\n"
                        "  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n");
    ck_assert(runtime_ready(given.runtime));
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {the_collectors_keys_are_accepted_and_it_starts, NULL};
    return suite_run("pprof", tests);
}
