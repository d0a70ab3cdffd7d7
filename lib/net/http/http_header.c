#include "lib/net/http/http_header.h"

#include <stdio.h>
#include <string.h>

enum { COUNT_MAX = 32 };

bool http_header_name_fits(const char *name)
{
    static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "!#$%&'*+-.^_`|~";
    return *name && name[strspn(name, token)] == '\0';
}

bool http_header_value_fits(const char *value)
{
    for (; *value; value++)
        if (((unsigned char)*value < 0x20 && *value != '\t') || *value == 0x7f)
            return false;
    return true;
}

void http_headers_check(const struct key_map *headers, const char *path, struct key_report *report)
{
    char below[256];
    if (headers->count > COUNT_MAX)
        key_report_add(report, path, "has %zu headers, at most %d allowed", headers->count,
                       COUNT_MAX);
    for (size_t i = 0; i < headers->count; i++) {
        const struct key_pair *pair = &headers->pairs[i];
        snprintf(below, sizeof below, "%.100s.%.140s", path, pair->name);
        if (!http_header_name_fits(pair->name))
            key_report_add(report, below, "is not a valid header name");
        if (!http_header_value_fits(pair->value))
            key_report_add(report, below,
                           "has a value with a line break or another control "
                           "character in it");
    }
}
