#include "lib/net/tls/tls_version.h"

#include <stdio.h>

const char *const tls_min_versions[] = {"1.2", "1.3", NULL};
const char *const tls_max_versions[] = {"", "1.2", "1.3", NULL};

enum { MIN_1_2 = 0, MAX_1_2 = 1 };

void tls_version_check(int min, int max, const char *key, struct key_report *report)
{
    char path[128];
    snprintf(path, sizeof path, "%s.max_version", key);
    if (min != MIN_1_2 && max == MAX_1_2)
        key_report_add(report, path, "%s is below min_version, which is %s", tls_max_versions[max],
                       tls_min_versions[min]);
}

bool tls_version_has_12(int min)
{
    return min == MIN_1_2;
}

bool tls_version_has_13(int max)
{
    return max != MAX_1_2;
}
