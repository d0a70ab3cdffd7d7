#include "processors/correlation/rule/labels.h"

#include <string.h>

#define LABELS(language, way)                                                                      \
    {                                                                                              \
        language, way,                                                                             \
        {                                                                                          \
            "no_ids",                                                                              \
                "Its service sends profiles, but no sample of a kind that confirms names a span.", \
                "So that samples carry span ids, " way "."                                         \
        }                                                                                          \
    }

const struct labels *labels_of(const char *language)
{
    static const struct labels all[] = {
        LABELS("python", "add PyroscopeSpanProcessor of pyroscope-otel to the tracer provider"),
        LABELS("go", "wrap the tracer provider with otelpyroscope of otel-profiling-go"),
        LABELS("java", "load pyroscope-otel.jar with -Dotel.javaagent.extensions, and keep "
                       "PYROSCOPE_FORMAT at jfr"),
        LABELS("nodejs", "wrap a span's synchronous work in Pyroscope.wrapWithLabels({span_id: "
                         "...}, work), as Node.js has no span processor"),
        LABELS("ruby", "add Pyroscope::Otel::SpanProcessor, or use Pyroscope.tag_wrapper"),
        LABELS("dotnet", "add PyroscopeSpanProcessor of Pyroscope.OpenTelemetry"),
        LABELS("rust", "set span_id with the agent's tag_wrapper, as Rust has no span processor"),
        LABELS(NULL, "label each sample with the span_id of its local root (the span processor of "
                     "Pyroscope's OpenTelemetry package does)"),
    };
    const struct labels *each = all;
    while (each->language && !(language && strcmp(language, each->language) == 0))
        each++;
    return each;
}
