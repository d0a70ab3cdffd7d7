/* Validity of header names and values (RFC 9110, 5.1 and 5.5). */
#ifndef LIB_NET_HTTP_HTTP_HEADER_H
#define LIB_NET_HTTP_HTTP_HEADER_H

#include "lib/settings/key.h"

#include <stdbool.h>

/* Whether name is a token of at least one character. */
bool http_header_name_fits(const char *name);

/* Whether value has no control character except tab. */
bool http_header_value_fits(const char *value);

/* Reports names and values that could never be sent, and too many headers. path is the map's. */
void http_headers_check(const struct key_map *headers, const char *path, struct key_report *report);

#endif
