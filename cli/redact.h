/* What must not be shown. Pure. */
#ifndef CLI_REDACT_H
#define CLI_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#define REDACTED "[redacted]"

/* Whether a key of this name holds a secret wherever it stands (password, token, headers ...). */
bool redact_name(const char *key);

/* The text with `user:password@` of a URL in it blotted out; malloc'ed. NULL: no memory. */
char *redact_urls(const char *text);

#endif
