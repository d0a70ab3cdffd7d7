/*
 * Checks of passwords that take long, on one thread, made when there is work. What it found is
 * remembered under keyed digests of user, password and hash, right and wrong apart, so that wrong
 * ones push out no right one, and a changed hash is checked anew. All functions: any thread.
 */
#ifndef EXTENSIONS_BASICAUTH_VERIFIER_H
#define EXTENSIONS_BASICAUTH_VERIFIER_H

#include "extensions/basicauth/password.h"
#include "lib/base/authenticator.h"

enum {
    VERIFIER_PER_USER = 4,  /* checks of one user that may wait; unknown users are one together */
    VERIFIER_JOBS = 64,     /* checks that may wait in all */
    VERIFIER_WAITERS = 1024 /* requests that may wait for them */
};

struct verifier;

/* What is checked. */
struct verify {
    struct view user, password;
    const char *hash;
    enum password_kind kind;
    bool known; /* the user is one; else the answer is DENIED, after the same work */
};

/* NULL: no memory, or no random key. */
struct verifier *verifier_new(void);

/* What is remembered; PENDING: nothing. */
enum auth_result verifier_look(struct verifier *verifier, const struct verify *verify);

/* Calls done once: at once for what is remembered or when too many wait (AUTH_LATER), else from the
 * thread. Copies what it keeps. */
void verifier_check(struct verifier *verifier, const struct verify *verify, auth_done_fn *done,
                    void *ctx);

/* Ends the thread; who still waits is told AUTH_LATER. NULL is legal. */
void verifier_free(struct verifier *verifier);

#endif
