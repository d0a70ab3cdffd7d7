#include "processors/correlation/rule/labels.h"

#include "tests/support/suite.h"

#include <string.h>

/* As docs/sdks.md says it. */
START_TEST(each_language_has_its_own_way)
{
    static const char *const words[][2] = {
        {"python", "add PyroscopeSpanProcessor"},
        {"go", "wrap the tracer provider"},
        {"java", "pyroscope-otel.jar"},
        {"nodejs", "Pyroscope.wrapWithLabels({span_id: ...}, work), as Node.js has no span"},
        {"ruby", "Pyroscope.tag_wrapper"},
        {"dotnet", "add PyroscopeSpanProcessor of Pyroscope.OpenTelemetry"},
        {"rust", "tag_wrapper, as Rust has no span processor"},
        {"cobol", "label each sample"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct labels *labels = labels_of(words[i][0]);
        ck_assert_ptr_nonnull(strstr(labels->way, words[i][1]));
        ck_assert_str_eq(labels->no_ids.word, "no_ids");
        ck_assert_ptr_nonnull(strstr(labels->no_ids.fix, words[i][1]));
    }
    ck_assert_ptr_eq(labels_of(NULL), labels_of("cobol"));
}
END_TEST

SUITE_MAIN("correlation labels", each_language_has_its_own_way)
