/* Checks a password against one hash of an htpasswd file. Any thread. */
#ifndef EXTENSIONS_BASICAUTH_PASSWORD_H
#define EXTENSIONS_BASICAUTH_PASSWORD_H

#include "lib/base/view.h"

enum { PASSWORD_MAX = 4096 }; /* bytes; a longer one never matches */

enum password_kind {
    PASSWORD_UNKNOWN,
    PASSWORD_PLAIN,
    PASSWORD_SHA,  /* {SHA}, {SSHA} */
    PASSWORD_APR1, /* $apr1$ */
    PASSWORD_CRYPT /* bcrypt $2a$ $2b$ $2y$; SHA-crypt $5$ $6$ */
};

/* Returns the kind by the hash's form. UNKNOWN: a damaged hash, another scheme (such as DES-crypt),
 * or the mark of a locked user. */
enum password_kind password_kind(const char *hash);

/* Says why the hash is of no kind, to follow "line 3 ". */
const char *password_fault(const char *hash);

/* Whether its check takes too long for a server's thread. */
bool password_slow(enum password_kind kind);

/* Whether the password matches the hash. One with a NUL never does. */
bool password_fits(enum password_kind kind, const char *hash, struct view password);

#endif
