/* A password against one hash of an htpasswd file. Any thread. */
#ifndef EXTENSIONS_BASICAUTH_PASSWORD_H
#define EXTENSIONS_BASICAUTH_PASSWORD_H

#include "lib/base/view.h"

enum password_kind {
    PASSWORD_UNKNOWN,
    PASSWORD_PLAIN,
    PASSWORD_SHA,  /* {SHA}, {SSHA} */
    PASSWORD_APR1, /* $apr1$ */
    PASSWORD_CRYPT /* bcrypt $2a$ $2b$ $2y$; SHA-crypt $5$ $6$ */
};

/* By its form; UNKNOWN: one of those that is damaged, or another scheme, DES-crypt among them, or
 * the mark of a user who is locked out. */
enum password_kind password_kind(const char *hash);

/* Why it is of no kind, behind "line 3 ". */
const char *password_fault(const char *hash);

/* Whether its check takes so long that it must not run in a server's thread. */
bool password_slow(enum password_kind kind);

/* Whether the password fits the hash. One with a NUL fits none. */
bool password_fits(enum password_kind kind, const char *hash, struct view password);

#endif
