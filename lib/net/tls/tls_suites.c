#include "lib/net/tls/tls_suites.h"

#include "lib/net/tls/tls_version.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 1024 };

struct suite {
    const char *name; /* Go's name, the same as IANA's */
    const char *kx, *cipher, *mac;
    bool insecure;
};

/* The suites of crypto/tls; those of TLS 1.3, which have no key exchange, are always enabled. */
static const struct suite known_suites[] = {
    {"TLS_AES_128_GCM_SHA256", NULL, NULL, NULL, false},
    {"TLS_AES_256_GCM_SHA384", NULL, NULL, NULL, false},
    {"TLS_CHACHA20_POLY1305_SHA256", NULL, NULL, NULL, false},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA", "AES-128-CBC", "SHA1", false},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA", "AES-256-CBC", "SHA1", false},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA", "AES-128-CBC", "SHA1", false},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA", "AES-256-CBC", "SHA1", false},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA", "AES-128-GCM", "AEAD", false},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA", "AES-256-GCM", "AEAD", false},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA", "AES-128-GCM", "AEAD", false},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA", "AES-256-GCM", "AEAD", false},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA", "CHACHA20-POLY1305", "AEAD",
     false},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA", "CHACHA20-POLY1305", "AEAD",
     false},
    {"TLS_RSA_WITH_RC4_128_SHA", "RSA", "ARCFOUR-128", "SHA1", true},
    {"TLS_RSA_WITH_3DES_EDE_CBC_SHA", "RSA", "3DES-CBC", "SHA1", true},
    {"TLS_RSA_WITH_AES_128_CBC_SHA", "RSA", "AES-128-CBC", "SHA1", true},
    {"TLS_RSA_WITH_AES_256_CBC_SHA", "RSA", "AES-256-CBC", "SHA1", true},
    {"TLS_RSA_WITH_AES_128_CBC_SHA256", "RSA", "AES-128-CBC", "SHA256", true},
    {"TLS_RSA_WITH_AES_128_GCM_SHA256", "RSA", "AES-128-GCM", "AEAD", true},
    {"TLS_RSA_WITH_AES_256_GCM_SHA384", "RSA", "AES-256-GCM", "AEAD", true},
    {"TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", "ECDHE-ECDSA", "ARCFOUR-128", "SHA1", true},
    {"TLS_ECDHE_RSA_WITH_RC4_128_SHA", "ECDHE-RSA", "ARCFOUR-128", "SHA1", true},
    {"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "ECDHE-RSA", "3DES-CBC", "SHA1", true},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA", "AES-128-CBC", "SHA256", true},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA", "AES-128-CBC", "SHA256", true},
};

static const struct {
    const char *name, *group;
} known_curves[] = {{"X25519", "GROUP-X25519"},
                    {"P256", "GROUP-SECP256R1"},
                    {"P384", "GROUP-SECP384R1"},
                    {"P521", "GROUP-SECP521R1"},
                    {"X25519MLKEM768", "GROUP-X25519-MLKEM768"}};

static const struct suite *find_suite(const char *name)
{
    for (size_t i = 0; i < sizeof known_suites / sizeof *known_suites; i++)
        if (strcmp(known_suites[i].name, name) == 0)
            return &known_suites[i];
    return NULL;
}

static const char *find_group(const char *name)
{
    for (size_t i = 0; i < sizeof known_curves / sizeof *known_curves; i++)
        if (strcmp(known_curves[i].name, name) == 0)
            return known_curves[i].group;
    return NULL;
}

/* ---- checking ---- */

void tls_suites_check(const struct tls_suite_settings *suites, const char *key,
                      struct key_report *report)
{
    char path[128];
    snprintf(path, sizeof path, "%s.cipher_suites", key);
    for (size_t i = 0; i < suites->cipher_suites.count; i++) {
        const char *name = suites->cipher_suites.items[i];
        const struct suite *suite = find_suite(name);
        if (!suite)
            key_report_add(report, path,
                           "\"%s\" is unknown, expected names such as "
                           "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                           name);
        else if (suite->insecure && !suites->include_insecure_cipher_suites)
            key_report_add(report, path,
                           "%s is insecure, and include_insecure_cipher_suites is not true", name);
    }
    snprintf(path, sizeof path, "%s.curve_preferences", key);
    for (size_t i = 0; i < suites->curve_preferences.count; i++)
        if (!find_group(suites->curve_preferences.items[i]))
            key_report_add(report, path,
                           "\"%s\" is unknown, expected X25519, P256, P384, P521 or "
                           "X25519MLKEM768",
                           suites->curve_preferences.items[i]);
}

/* ---- GnuTLS priority strings ---- */

struct words {
    char *out;
    size_t size, room;
};

static void tls_suites_add(struct words *words, const char *sign, const char *word)
{
    if (words->size < words->room)
        words->size += (size_t)snprintf(words->out + words->size, words->room - words->size, "%s%s",
                                        sign, word);
}

/* Adds the parts of the suites, each once. */
static void add_suites(struct words *words, const struct tls_suite_settings *suites, bool with_13)
{
    tls_suites_add(words, "", ":-CIPHER-ALL:-KX-ALL:-MAC-ALL");
    for (size_t i = 0; i < suites->cipher_suites.count; i++) {
        const struct suite *suite = find_suite(suites->cipher_suites.items[i]);
        if (!suite || !suite->kx)
            continue;
        tls_suites_add(words, ":+", suite->kx);
        tls_suites_add(words, ":+", suite->cipher);
        tls_suites_add(words, ":+", suite->mac);
    }
    if (with_13)
        tls_suites_add(words, "", ":+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:+AEAD");
}

static bool has_group(const char *group)
{
    char words[128];
    gnutls_priority_t made;
    snprintf(words, sizeof words, "NORMAL:-GROUP-ALL:+%s", group);
    if (gnutls_priority_init(&made, words, NULL) != 0)
        return false;
    gnutls_priority_deinit(made);
    return true;
}

static void add_curves(struct words *words, const struct key_list *curves)
{
    tls_suites_add(words, "", ":-GROUP-ALL");
    for (size_t i = 0; i < curves->count; i++) {
        const char *group = find_group(curves->items[i]);
        if (group && has_group(group))
            tls_suites_add(words, ":+", group);
    }
}

static bool any_12(const struct tls_suite_settings *suites)
{
    for (size_t i = 0; i < suites->cipher_suites.count; i++) {
        const struct suite *suite = find_suite(suites->cipher_suites.items[i]);
        if (suite && suite->kx)
            return true;
    }
    return suites->cipher_suites.count == 0;
}

bool tls_suites_priorities(const struct tls_suite_settings *suites, int min, int max, bool only_12,
                           char *out, size_t size)
{
    struct words words = {.out = out, .room = size};
    bool has_12 = tls_version_has_12(min) && (!suites || any_12(suites));
    bool has_13 = tls_version_has_13(max) && !only_12;
    tls_suites_add(&words, "", "NORMAL:-VERS-ALL");
    if (has_13)
        tls_suites_add(&words, "", ":+VERS-TLS1.3");
    if (has_12)
        tls_suites_add(&words, "", ":+VERS-TLS1.2");
    if (suites && suites->cipher_suites.count)
        add_suites(&words, suites, has_13);
    if (suites && suites->curve_preferences.count)
        add_curves(&words, &suites->curve_preferences);
    return words.size < size;
}

static bool any_curve(const struct key_list *curves)
{
    for (size_t i = 0; i < curves->count; i++) {
        const char *group = find_group(curves->items[i]);
        if (group && has_group(group))
            return true;
    }
    return curves->count == 0;
}

bool tls_suites_usable(const struct tls_suite_settings *suites, int min, int max, const char *key,
                       char *error, size_t error_size)
{
    char words[WORDS_MAX];
    gnutls_priority_t made;
    if (!any_curve(&suites->curve_preferences)) {
        snprintf(error, error_size, "%s.curve_preferences: GnuTLS %s supports none of them", key,
                 gnutls_check_version(NULL));
        return false;
    }
    if (!tls_suites_priorities(suites, min, max, false, words, sizeof words) ||
        gnutls_priority_init(&made, words, NULL) != 0) {
        snprintf(error, error_size, "%s.cipher_suites: GnuTLS %s does not support all of them", key,
                 gnutls_check_version(NULL));
        return false;
    }
    gnutls_priority_deinit(made);
    return true;
}

/* ---- sessions ---- */

int gnutls_real(gnutls_session_t session) __asm__("__real_gnutls_handshake");
int gnutls_wrapped(gnutls_session_t session) __asm__("__wrap_gnutls_handshake");

static _Thread_local struct tls_mark *next_mark;

int tls_handshake_real(gnutls_session_t session)
{
    return gnutls_real(session);
}

void tls_mark_next(struct tls_mark *mark)
{
    next_mark = mark;
}

static bool set_words(const struct tls_mark *mark, bool only_12, gnutls_session_t session)
{
    char words[WORDS_MAX];
    return tls_suites_priorities(mark->suites, mark->min, mark->max, only_12, words,
                                 sizeof words) &&
           gnutls_priority_set_direct(session, words, NULL) == 0;
}

/* Server: called when the version is negotiated, but the suite is not yet. */
static int tls_suites_choose(gnutls_session_t session)
{
    const struct tls_mark *mark = gnutls_db_get_ptr(session);
    bool is_12 = gnutls_protocol_get_version(session) == GNUTLS_TLS1_2;
    return !is_12 || set_words(mark, true, session) ? 0 : GNUTLS_E_NO_CIPHER_SUITES;
}

bool tls_mark_set(struct tls_mark *mark, gnutls_session_t session)
{
    if (mark->suites && mark->suites->cipher_suites.count == 0 &&
        mark->suites->curve_preferences.count == 0)
        mark->suites = NULL;
    gnutls_db_set_ptr(session, mark);
    if (mark->suites && mark->suites->cipher_suites.count)
        gnutls_handshake_set_post_client_hello_function(session, tls_suites_choose);
    return set_words(mark, false, session);
}

static bool is_agreed(const struct tls_mark *mark, gnutls_session_t session)
{
    const char *name;
    if (!mark->suites || mark->suites->cipher_suites.count == 0 ||
        gnutls_protocol_get_version(session) != GNUTLS_TLS1_2 ||
        !(name = gnutls_ciphersuite_get(session)))
        return true;
    for (size_t i = 0; i < mark->suites->cipher_suites.count; i++)
        if (strcmp(mark->suites->cipher_suites.items[i], name) == 0)
            return true;
    return false;
}

/* Every call to gnutls_handshake in the linked libraries comes here (CMakeLists.txt: --wrap). */
int gnutls_wrapped(gnutls_session_t session)
{
    struct tls_mark *mark = gnutls_db_get_ptr(session);
    if (!mark && next_mark) {
        mark = next_mark;
        if (mark->plain)
            gnutls_db_set_ptr(session, mark);
        else if (!tls_mark_set(mark, session))
            return GNUTLS_E_NO_CIPHER_SUITES;
    }
    int code = mark && mark->shake ? mark->shake(mark, session) : gnutls_real(session);
    if (code == 0 && mark && !mark->unfinished && !is_agreed(mark, session))
        return GNUTLS_E_NO_CIPHER_SUITES;
    return code;
}

/* ---- records ---- */

ssize_t recv_real(gnutls_session_t session, void *data,
                  size_t size) __asm__("__real_gnutls_record_recv");
ssize_t recv_wrapped(gnutls_session_t session, void *data,
                     size_t size) __asm__("__wrap_gnutls_record_recv");
ssize_t send_real(gnutls_session_t session, const void *data,
                  size_t size) __asm__("__real_gnutls_record_send");
ssize_t send_wrapped(gnutls_session_t session, const void *data,
                     size_t size) __asm__("__wrap_gnutls_record_send");

static void report_alert(gnutls_session_t session)
{
    struct tls_mark *mark = gnutls_db_get_ptr(session);
    if (mark && mark->alerted)
        mark->alerted(mark, session);
}

static int finish_handshake(struct tls_mark *mark, gnutls_session_t session)
{
    mark->unfinished = false;
    int code = gnutls_wrapped(session);
    if (code || !mark->unfinished)
        return code;
    return gnutls_record_get_direction(session) ? GNUTLS_E_INTERRUPTED : GNUTLS_E_AGAIN;
}

/* Every call to gnutls_record_recv in the linked libraries comes here, and every call to _send. */
ssize_t recv_wrapped(gnutls_session_t session, void *data, size_t size)
{
    struct tls_mark *mark = gnutls_db_get_ptr(session);
    int code = mark && mark->unfinished ? finish_handshake(mark, session) : 0;
    if (code)
        return code;
    ssize_t got = recv_real(session, data, size);
    if (got == GNUTLS_E_FATAL_ALERT_RECEIVED)
        report_alert(session);
    return got;
}

/* If the peer has closed, its alert may be readable. */
ssize_t send_wrapped(gnutls_session_t session, const void *data, size_t size)
{
    const struct tls_mark *mark;
    char rest[1024];
    ssize_t sent = send_real(session, data, size);
    if (sent < 0 && gnutls_error_is_fatal((int)sent) && (mark = gnutls_db_get_ptr(session)) &&
        mark->alerted)
        recv_wrapped(session, rest, sizeof rest);
    return sent;
}
