#include "tests/support/processor_rig.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#define KV(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define LOG                                                                                        \
    "{\"resourceLogs\":[{\"resource\":{\"attributes\":[" KV(                                       \
        "team",                                                                                    \
        "old") "]},\"scopeLogs\":[{\"logRecords\":[{\"body\":{\"stringValue\":\"x\"}}]}]}]}"

static void makes(const char *yaml, const char *want)
{
    const char *made = rig_run("resourcedetection", yaml, SIGNAL_LOGS, LOG);
    if (!strstr(made, want))
        ck_abort_msg("%s not in %s", want, made);
}

START_TEST(the_environment_is_read)
{
    setenv("OTEL_RESOURCE_ATTRIBUTES", " team = new , a=b%20c+d", 1);
    makes("{override: true}", KV("team", "new"));
    makes("{override: true}", KV("a", "b c d"));
    makes("{override: false}", KV("team", "old"));
    setenv("OTEL_RESOURCE_ATTRIBUTES", "team=new,a=b,team=newer", 1);
    makes("{override: true}", KV("team", "newer"));
    setenv("OTEL_RESOURCE_ATTRIBUTES", "team=new,a=%zz", 1);
    makes("{override: true}", KV("team", "old"));
}
END_TEST

START_TEST(the_downward_api_is_read)
{
    setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.pod.name=first", 1);
    setenv("K8S_POD_NAME", "shop-1", 1);
    setenv("POD_NAMESPACE", "web", 1);
    makes("{detectors: [k8s]}", KV("k8s.pod.name", "shop-1"));
    makes("{detectors: [k8s]}", KV("k8s.namespace.name", "web"));
    makes("{detectors: [env, k8s]}", KV("k8s.pod.name", "first"));
}
END_TEST

START_TEST(the_system_is_asked)
{
    makes("{detectors: [system]}", KV("os.type", "linux"));
    makes("{detectors: [system]}", "\"key\":\"host.name\"");
    makes("{detectors: [system]}", "\"schemaUrl\":\"https://opentelemetry.io/schemas/");
}
END_TEST

SUITE_MAIN("resourcedetection", the_environment_is_read, the_downward_api_is_read,
           the_system_is_asked)
