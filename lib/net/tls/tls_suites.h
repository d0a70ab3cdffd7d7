/*
 * What a TLS connection may agree on: cipher suites and curves by the names that Go has for them,
 * as in the Collector's tls sections. As there, cipher_suites counts for TLS 1.2; 1.3 has its own.
 */
#ifndef LIB_NET_TLS_TLS_SUITES_H
#define LIB_NET_TLS_TLS_SUITES_H

#include "lib/settings/key.h"

#include <gnutls/gnutls.h>

struct tls_suite_settings {
    struct key_list cipher_suites;     /* empty: the usual ones */
    struct key_list curve_preferences; /* empty: the usual ones */
    bool include_insecure_cipher_suites;
};

/* Rows for member `suites` (struct tls_suite_settings) of a struct T. */
#define TLS_SUITE_KEYS(T, suites)                                                                  \
    KEY_LIST(T, suites.cipher_suites, "cipher_suites", NULL,                                       \
             "of TLS 1.2, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256; none: the usual ones"),   \
        KEY_LIST(T, suites.curve_preferences, "curve_preferences", NULL,                           \
                 "X25519, P256, P384, P521, X25519MLKEM768, the best first; none: the usual "      \
                 "ones"),                                                                          \
        KEY_BOOL(T, suites.include_insecure_cipher_suites, "include_insecure_cipher_suites",       \
                 "false", "let cipher_suites name insecure ones")

/* Reports names that are not known. key is the group's path. */
void tls_suites_check(const struct tls_suite_settings *suites, const char *key,
                      struct key_report *report);

/* The versions (lib/net/tls/tls_version.h), suites and curves in GnuTLS's words. only_12: for a
 * session that has settled on TLS 1.2. False: longer than out. */
bool tls_suites_words(const struct tls_suite_settings *suites, int min, int max, bool only_12,
                      char *out, size_t size);

/* Whether GnuTLS has any of that; error begins with the path of the key at fault. */
bool tls_suites_usable(const struct tls_suite_settings *suites, int min, int max, const char *key,
                       char *error, size_t error_size);

/*
 * What a session is bound to, behind its gnutls_db_get_ptr (no session is resumed, so the place is
 * free). GnuTLS's words name parts of suites, not suites: so a server says them anew when it knows
 * the version, and what was agreed on is looked at once more when the handshake is done.
 */
struct tls_mark {
    const struct tls_suite_settings *suites; /* NULL: the usual ones */
    int min, max;
    /* Goes on with the handshake; NULL: GnuTLS by itself. */
    int (*shake)(struct tls_mark *mark, gnutls_session_t session);
    /* The peer ended the session with an alert (gnutls_alert_get); NULL: nobody asks. */
    void (*alerted)(struct tls_mark *mark, gnutls_session_t session);
    bool plain; /* priorities stay as they are; for tls_mark_next alone */
};

/* Sets priorities and the mark, which outlives the session's handshake. False: no memory, or
 * GnuTLS has nothing of it. */
bool tls_mark_set(struct tls_mark *mark, gnutls_session_t session);

/* Sessions of the calling thread that have no mark get this one with their handshake: those that
 * libcurl makes. NULL: none any more. */
void tls_mark_next(struct tls_mark *mark);

/* gnutls_handshake as it is, for those who are called in its place. */
int tls_handshake_itself(gnutls_session_t session);

#endif
