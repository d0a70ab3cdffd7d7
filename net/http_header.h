/* What a header may be (RFC 9110, 5.1 and 5.5). Pure. */
#ifndef NET_HTTP_HEADER_H
#define NET_HTTP_HEADER_H

#include <stdbool.h>

/* A token of at least one character. */
bool http_header_name_fits(const char *name);

/* No control character but the tab. */
bool http_header_value_fits(const char *value);

#endif
