#include "net/http_header.h"

#include <string.h>

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
