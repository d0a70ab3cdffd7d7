/*
 * Cipher suites and curves that TLS connections may use, with Go's names for them, as in the
 * Collector's tls sections. As there, cipher_suites applies to TLS 1.2 only; 1.3 has its own.
 */
#ifndef LIB_NET_TLS_TLS_SUITES_H
#define LIB_NET_TLS_TLS_SUITES_H

#include "lib/settings/key.h"

#include <gnutls/gnutls.h>

struct tls_suite_settings {
    struct key_list cipher_suites;     /* empty: the defaults */
    struct key_list curve_preferences; /* empty: the defaults */
    bool include_insecure_cipher_suites;
};

/* Rows for member `suites` (struct tls_suite_settings) of a struct T. */
#define TLS_SUITE_KEYS(T, suites)                                                                  \
    KEY_LIST(T, suites.cipher_suites, "cipher_suites", NULL,                                       \
             "for TLS 1.2, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256; empty: the defaults"),   \
        KEY_LIST(T, suites.curve_preferences, "curve_preferences", NULL,                           \
                 "X25519, P256, P384, P521, X25519MLKEM768, best first; empty: the defaults"),     \
        KEY_BOOL(T, suites.include_insecure_cipher_suites, "include_insecure_cipher_suites",       \
                 "false", "allow insecure cipher_suites")

/* Reports unknown names. key is the group's path. */
void tls_suites_check(const struct tls_suite_settings *suites, const char *key,
                      struct key_report *report);

/* Formats versions (lib/net/tls/tls_version.h), suites and curves as a GnuTLS priority string.
 * only_12: for a session that has negotiated TLS 1.2. False: longer than out. */
bool tls_suites_priorities(const struct tls_suite_settings *suites, int min, int max, bool only_12,
                           char *out, size_t size);

/* Whether GnuTLS supports any of them. False: error begins with the path of the key at fault. */
bool tls_suites_usable(const struct tls_suite_settings *suites, int min, int max, const char *key,
                       char *error, size_t error_size);

/*
 * The limits of a session, stored in its gnutls_db_get_ptr (which is free, as no session is
 * resumed). GnuTLS priorities name the parts of cipher suites, not whole suites, so a server sets
 * them again once the version is known, and the negotiated suite is checked after the handshake.
 */
struct tls_mark {
    const struct tls_suite_settings *suites; /* NULL: the defaults */
    int min, max;
    /* Continues the handshake; NULL: gnutls_handshake. */
    int (*shake)(struct tls_mark *mark, gnutls_session_t session);
    bool unfinished; /* set by shake, which returned 0: gnutls_record_recv does the rest */
    /* Called when the peer ends the session with an alert (gnutls_alert_get); may be NULL. */
    void (*alerted)(struct tls_mark *mark, gnutls_session_t session);
    bool plain; /* leave priorities unchanged; for tls_mark_next only */
};

/* Sets the session's priorities and its mark, which must outlive the handshake. False: no memory,
 * or GnuTLS supports none of them. */
bool tls_mark_set(struct tls_mark *mark, gnutls_session_t session);

/* Sets the mark for sessions without one whose handshake starts on the calling thread: those that
 * libcurl makes. NULL: none. */
void tls_mark_next(struct tls_mark *mark);

/* The real gnutls_handshake, for functions called in its place. */
int tls_handshake_real(gnutls_session_t session);

#endif
