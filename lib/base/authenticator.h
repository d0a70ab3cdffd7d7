/*
 * What an extension that authenticates offers to servers and clients, and how a component's `auth`
 * section names one. An authenticator is usable while its extension is open: longer than any
 * receiver or exporter. All its functions: any thread.
 */
#ifndef LIB_BASE_AUTHENTICATOR_H
#define LIB_BASE_AUTHENTICATOR_H

#include "lib/base/bytes.h"

enum auth_result {
    AUTH_GRANTED,
    AUTH_DENIED,
    AUTH_LATER,  /* too much to check at the moment: the client may come again */
    AUTH_PENDING /* of `look` only: ask `check` */
};

typedef void auth_done_fn(void *ctx, enum auth_result result);

struct authenticator {
    void *self;
    const char *header;    /* that carries the credentials: "Authorization" */
    const char *challenge; /* value of WWW-Authenticate; NULL: none */

    /* For servers; NULL: it checks nobody. What can be told without work of the header's value
     * (NULL: absent). Never blocks. */
    enum auth_result (*look)(void *self, const char *value);

    /* The same with the work done; calls done once, at once or later from another thread. NULL:
     * look always knows. */
    void (*check)(void *self, const char *value, auth_done_fn *done, void *ctx);

    /* For clients; NULL: it gives no credentials. Appends the header's value, without a NUL.
     * False: there is none, out is as before. */
    bool (*give)(void *self, struct bytes *value);
};

/* A section `auth: {authenticator: ID}`. */
struct auth_settings {
    bool on; /* the section is there */
    char *authenticator;
    const struct authenticator *by; /* found in service.extensions before open; NULL: off */
};

#endif
