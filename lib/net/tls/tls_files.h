/*
 * The PEM texts that one end of TLS is set up from: files, which may be replaced at any time, or
 * texts of the configuration. The last ones that fitted together are kept. Not thread-safe.
 */
#ifndef LIB_NET_TLS_TLS_FILES_H
#define LIB_NET_TLS_TLS_FILES_H

#include "lib/base/bytes.h"
#include "lib/net/tls/tls_expiry.h"
#include "lib/settings/key.h"

#include <gnutls/gnutls.h>

enum tls_part { TLS_CERT, TLS_KEY, TLS_CA, TLS_PARTS };

/* How long a look at the files is good for. */
#define TLS_LOOK_NS UINT64_C(1000000000)

struct tls_source {
    const char *name; /* of the key, e.g. "cert_file" */
    const char *file; /* NULL or "": none; borrowed, like the text */
    const char *text; /* in place of a file */
};

struct tls_files {
    const char *id;  /* of the component, for the log; "": unknown */
    const char *key; /* the group's path, e.g. "protocols.grpc.tls"; for people */
    struct tls_source sources[TLS_PARTS];
    bool adds_system; /* trust the system's CAs beside those given */
    uint64_t look_every_ns;

    struct bytes pem[TLS_PARTS]; /* the last good ones; empty: not given */
    uint64_t looked_ns;
    bool broken;                           /* what is there now does not fit; that was told */
    struct tls_expiry expiries[TLS_PARTS]; /* of what was kept last */
};

/* Reports a certificate without its key, and the reverse. */
void tls_files_check(const struct tls_files *files, struct key_report *report);

/* Whether there is anything to look at. */
bool tls_files_given(const struct tls_files *files);

/* The first look; where nothing is given, none is needed. NULL: error is a sentence that begins
 * with the path of the key at fault. */
gnutls_certificate_credentials_t tls_files_open(struct tls_files *files, char *error,
                                                size_t error_size);

/* Looks again where the last look is too old. Credentials of what is there now, the caller's to
 * free; NULL: nothing new, or what is new does not fit. That, and its end, is told in the log. */
gnutls_certificate_credentials_t tls_files_look(struct tls_files *files);

void tls_files_release(struct tls_files *files);

#endif
