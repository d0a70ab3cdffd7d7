/* Redaction of secrets. Pure functions. */
#ifndef LIB_BASE_REDACT_H
#define LIB_BASE_REDACT_H

#include "lib/base/view.h"

#include <stdbool.h>
#include <stddef.h>

#define REDACTED "[redacted]"

/* Whether a key of this name holds a secret in any section (password, token, headers ...). */
bool redact_name(const char *key);

/* Copies text, truncated to size and NUL-terminated, and redacts in its URLs: `user:password@`,
 * fragments, and the values of query parameters whose names suggest a token, key, secret, password
 * or signature. Also works where the scheme is missing or incomplete (`user:password@host`).
 * Returns the length of the copy. */
size_t redact_copy(const char *text, char *out, size_t size);

/* As redact_copy, into malloc'ed memory. NULL: no memory. */
char *redact_urls(const char *text);

/* For an address that may be malformed: redacts everything before its last '@', and what
 * redact_copy redacts. */
void redact_address(const char *text, char *out, size_t size);

/* Overwrites every occurrence of a known secret in text with '*'; in a text that was cut off, also
 * a part of it at the end. Secrets and parts of fewer than 4 bytes are left: they would hit
 * ordinary words. */
void redact_secret(uint8_t *text, size_t size, bool was_cut, struct view secret);

#endif
