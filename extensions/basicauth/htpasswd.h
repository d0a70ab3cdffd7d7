/* The users of an htpasswd file, and the credentials of an Authorization header. */
#ifndef EXTENSIONS_BASICAUTH_HTPASSWD_H
#define EXTENSIONS_BASICAUTH_HTPASSWD_H

#include "extensions/basicauth/password.h"
#include "lib/base/bytes.h"

struct htpasswd_user {
    struct view name;
    const char *hash;
    enum password_kind kind;
};

struct htpasswd {
    char *text; /* what the users' views are of */
    struct htpasswd_user *users;
    size_t count;
    const struct htpasswd_user *slow; /* one whose check takes long; NULL: there is none */
};

/* Reads lines "user:hash"; empty ones and those that begin with '#' do not count; of a user that
 * comes twice the last line holds. False: why is a sentence with the line's number and nothing of
 * its content; there is nothing to release. */
bool htpasswd_read(struct htpasswd *htpasswd, struct view text, char *why, size_t why_size);
void htpasswd_release(struct htpasswd *htpasswd); /* legal for a zeroed one, and twice */

const struct htpasswd_user *htpasswd_find(const struct htpasswd *htpasswd, struct view name);

/* User and password of "Basic BASE64", both of bytes in out, which the caller releases in any case.
 * False: it is none. */
bool basic_credentials(const char *value, struct bytes *out, struct view *user,
                       struct view *password);

#endif
