/*
 * Slow password checks, on one thread that is started when there is work. Results are cached under
 * keyed digests of user, password and hash; correct and wrong ones are kept apart, so that wrong
 * ones do not evict correct ones, and a changed hash is checked again. All functions: any thread.
 */
#ifndef EXTENSIONS_BASICAUTH_VERIFIER_H
#define EXTENSIONS_BASICAUTH_VERIFIER_H

#include "extensions/basicauth/password.h"
#include "lib/base/authenticator.h"

enum {
    VERIFIER_PER_USER = 4,  /* waiting checks of one user; all unknown users count as one */
    VERIFIER_JOBS = 64,     /* waiting checks in total */
    VERIFIER_WAITERS = 1024 /* requests waiting for these */
};

struct verifier;

/* What to check. */
struct verify {
    struct view user, password;
    const char *hash;
    enum password_kind kind;
    bool known; /* the user exists; if not, the answer is DENIED after the same work */
};

/* NULL: no memory, or no random key. */
struct verifier *verifier_new(void);

/* Returns the cached result; PENDING: none. */
enum auth_result verifier_look(struct verifier *verifier, const struct verify *verify);

/* Calls done once: at once if the result is cached or too many wait (AUTH_LATER), else from the
 * thread. Copies what it keeps. */
void verifier_check(struct verifier *verifier, const struct verify *verify, auth_done_fn *done,
                    void *ctx);

/* Ends the thread; requests that still wait are answered AUTH_LATER. May be NULL. */
void verifier_free(struct verifier *verifier);

#endif
