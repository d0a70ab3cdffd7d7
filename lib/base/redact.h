/* What must not be shown. Pure. */
#ifndef LIB_BASE_REDACT_H
#define LIB_BASE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#define REDACTED "[redacted]"

/* Whether a key of this name holds a secret wherever it stands (password, token, headers ...). */
bool redact_name(const char *key);

/* Copies a text, cut to size and ended by NUL, with `user:password@` of URLs in it and the values
 * of query parameters whose names speak of a token, key, secret, password or signature blotted out,
 * and their fragments; also where the scheme is missing or not whole (`user:password@host`).
 * Returns the length of the copy. */
size_t redact_copy(const char *text, char *out, size_t size);

/* The same, malloc'ed. NULL: no memory. */
char *redact_urls(const char *text);

/* An address that is no URL, whatever else is wrong with it: all before its last '@' is blotted
 * out, and what redact_copy would. */
void redact_address(const char *text, char *out, size_t size);

#endif
