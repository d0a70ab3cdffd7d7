/*
 * The PEM files of one TLS server or client, which may be replaced at any time, or PEM texts in the
 * configuration. The last set that matched is kept. Not thread-safe.
 */
#ifndef LIB_NET_TLS_TLS_FILES_H
#define LIB_NET_TLS_TLS_FILES_H

#include "lib/base/bytes.h"
#include "lib/net/tls/tls_expiry.h"
#include "lib/settings/key.h"

#include <gnutls/gnutls.h>

enum tls_part { TLS_CERT, TLS_KEY, TLS_CA, TLS_PARTS };

/* How long a check of the files is valid. */
#define TLS_LOOK_NS UINT64_C(1000000000)

struct tls_source {
    const char *name; /* of the key, e.g. "cert_file" */
    const char *file; /* NULL or "": none; borrowed, like the text */
    const char *text; /* instead of a file */
};

struct tls_files {
    const char *id;  /* the component's, for the log; "": unknown */
    const char *key; /* the group's path for messages, e.g. "protocols.grpc.tls" */
    struct tls_source sources[TLS_PARTS];
    bool adds_system; /* trust the system's CAs in addition to those given */
    uint64_t look_every_ns;

    struct bytes pem[TLS_PARTS]; /* the last good ones; empty: not given */
    uint64_t looked_ns;
    bool broken;                           /* the current files are unusable, and that was logged */
    struct tls_expiry expiries[TLS_PARTS]; /* of what is in use */
};

/* Reports a certificate without a key, and the reverse. */
void tls_files_check(const struct tls_files *files, struct key_report *report);

/* Whether any source is given. */
bool tls_files_given(const struct tls_files *files);

/* Reads the files for the first time; not needed if no source is given. The caller frees the
 * credentials. NULL: error is a sentence that begins with the path of the key at fault. */
gnutls_certificate_credentials_t tls_files_open(struct tls_files *files, char *error,
                                                size_t error_size);

/* Checks the files again if the last check is too old. Returns new credentials, which the caller
 * frees; NULL: nothing changed, or the new files are unusable, which is logged, as is recovery. */
gnutls_certificate_credentials_t tls_files_look(struct tls_files *files);

void tls_files_release(struct tls_files *files);

#endif
