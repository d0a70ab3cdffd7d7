/* Parses htpasswd files, and the credentials of an Authorization header. */
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
    char *text; /* backs the users' views */
    struct htpasswd_user *users;
    size_t count;
    const struct htpasswd_user *slow; /* a user whose check takes long; NULL: there is none */
};

/* Reads lines "user:hash"; empty lines and those that begin with '#' are skipped, and the last line
 * of a user wins. False: why is a sentence with the line's number, without its content; nothing
 * needs to be released. */
bool htpasswd_read(struct htpasswd *htpasswd, struct view text, char *why, size_t why_size);
void htpasswd_release(struct htpasswd *htpasswd); /* allowed for a zeroed one, and twice */

const struct htpasswd_user *htpasswd_find(const struct htpasswd *htpasswd, struct view name);

/* Parses "Basic BASE64" into user and password, both backed by out, which the caller releases in
 * either case. False: not of that form. */
bool basic_credentials(const char *value, struct bytes *out, struct view *user,
                       struct view *password);

#endif
