/* cipher_suites, curve_preferences and the system's CAs, as seen by the peer. */
#include "lib/net/tls/tls_suites.h"

#include "lib/base/clock.h"
#include "lib/settings/fill.h"
#include "tests/support/http_fixture.h"
#include "tests/support/suite.h"
#include "tests/support/tls_world.h"

#include <stdio.h>
#include <stdlib.h>

#define GCM_128 "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
#define GCM_256 "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
#define RSA_256 "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"

static const char *words_of(const struct tls_suite_settings *suites, int min, int max, bool only_12)
{
    static char words[1024];
    ck_assert(tls_suites_priorities(suites, min, max, only_12, words, sizeof words));
    return words;
}

START_TEST(what_is_not_given_is_what_gnutls_has)
{
    ck_assert_str_eq(words_of(NULL, 0, 0, false), "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2");
    ck_assert_str_eq(words_of(NULL, 1, 0, false), "NORMAL:-VERS-ALL:+VERS-TLS1.3");
    ck_assert_str_eq(words_of(NULL, 0, 1, false), "NORMAL:-VERS-ALL:+VERS-TLS1.2");
}
END_TEST

START_TEST(suites_become_their_parts_and_1_3_keeps_its_own)
{
    char *names[] = {GCM_128};
    const struct tls_suite_settings suites = {.cipher_suites = {names, 1}};
    ck_assert_str_eq(words_of(&suites, 0, 1, false),
                     "NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:-KX-ALL:-MAC-ALL:+ECDHE-ECDSA:"
                     "+AES-128-GCM:+AEAD");
    ck_assert_ptr_nonnull(strstr(words_of(&suites, 0, 0, false), "+CHACHA20-POLY1305"));
    ck_assert_ptr_null(strstr(words_of(&suites, 0, 0, true), "+CHACHA20-POLY1305"));
    char *only_13[] = {"TLS_AES_128_GCM_SHA256"};
    const struct tls_suite_settings new = {.cipher_suites = {only_13, 1}};
    ck_assert_ptr_null(strstr(words_of(&new, 0, 0, false), "VERS-TLS1.2"));
}
END_TEST

/* ---- a server of ours ---- */

static struct tls_world world;
static struct tls_server_settings settings;
static struct http_fixture http;

static void begin(void)
{
    tls_world_make(&world);
    settings = tls_world_server_settings(&world);
    http_fixture_init(&http);
}

static void start(void)
{
    http.options.tls = tls_world_server(&settings);
    http_fixture_start(&http);
}

static void end(void)
{
    http_fixture_stop(&http);
    tls_world_remove(&world);
}

static bool connects(const char *priorities)
{
    struct tls_look look;
    tls_look(http.bound, priorities, NULL, &look);
    return look.code == 0;
}

#define TLS_1_2(parts) "NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL" parts

/* The suite that fits the certificate's key type, and the other one. */
static const char *pick(bool large)
{
    bool rsa = !connects("NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA");
    if (rsa)
        return large ? "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
                     : "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
    return large ? GCM_256 : GCM_128;
}

START_TEST(a_server_agrees_on_its_suites_alone)
{
    begin();
    start();
    const char *name = pick(true), *other = pick(false);
    ck_assert(connects(TLS_1_2(":+AES-128-GCM")));
    http_server_close(http.server, clock_mono(&clock_system) + 20 * NS_PER_S);
    char *names[] = {(char *)(uintptr_t)name};
    settings.suites.cipher_suites = (struct key_list){names, 1};
    start();
    ck_assert(connects(TLS_1_2(":+AES-256-GCM")));
    ck_assert(connects(TLS_1_2(":+AES-128-GCM:+AES-256-GCM")));
    ck_assert(!connects(TLS_1_2(":+AES-128-GCM")));
    ck_assert(!connects(TLS_1_2(":+CHACHA20-POLY1305")));
    ck_assert(connects("NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM"));
    http_server_close(http.server, clock_mono(&clock_system) + 20 * NS_PER_S);
    /* Two suites must not allow a third one. */
    char *mixed[] = {(char *)(uintptr_t)other, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
                     "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"};
    settings.suites.cipher_suites = (struct key_list){mixed, 3};
    start();
    ck_assert(connects(TLS_1_2(":+AES-128-GCM")));
    ck_assert(connects(TLS_1_2(":+AES-256-CBC")));
    ck_assert(!connects(TLS_1_2(":+AES-256-GCM")));
    end();
}
END_TEST

START_TEST(a_server_agrees_on_its_curves_alone)
{
    char *names[] = {"P384", "X25519MLKEM768"};
    begin();
    settings.suites.curve_preferences = (struct key_list){names, 2};
    start();
    ck_assert(connects("NORMAL:-GROUP-ALL:+GROUP-SECP384R1"));
    ck_assert(!connects("NORMAL:-GROUP-ALL:+GROUP-X25519"));
    end();
}
END_TEST

START_TEST(clients_ask_for_their_suites_alone)
{
    char error[192] = "";
    begin();
    settings.max_version = 1;
    start();
    char *good[] = {(char *)(uintptr_t)pick(true)}, *bad[] = {(char *)(uintptr_t)pick(false)};
    http_server_close(http.server, clock_mono(&clock_system) + 20 * NS_PER_S);
    settings.suites.cipher_suites = (struct key_list){good, 1};
    start();
    struct http_client_options options = tls_world_client(&world, false);
    options.tls.suites.cipher_suites = (struct key_list){good, 1};
    bool ok = tls_world_call(&options, http.bound, error);
    ck_assert_msg(ok, "%s", error);
    options.tls.suites.cipher_suites = (struct key_list){bad, 1};
    ck_assert(!tls_world_call(&options, http.bound, error));
    ck_assert_ptr_nonnull(strstr(error, "TLS with localhost:"));
    end();
}
END_TEST

START_TEST(clients_ask_for_their_curves_alone)
{
    char *x25519[] = {"X25519"}, *p256[] = {"P256"}, error[192] = "";
    begin();
    settings.suites.curve_preferences = (struct key_list){x25519, 1};
    start();
    struct http_client_options options = tls_world_client(&world, false);
    options.tls.suites.curve_preferences = (struct key_list){x25519, 1};
    bool ok = tls_world_call(&options, http.bound, error);
    ck_assert_msg(ok, "%s", error);
    options.tls.suites.curve_preferences = (struct key_list){p256, 1};
    ck_assert(!tls_world_call(&options, http.bound, error));
    end();
}
END_TEST

START_TEST(the_systems_cas_come_beside_the_clients_ca)
{
    char error[192] = "";
    begin();
    settings.client_ca_file = world.paths[WORLD_CA];
    settings.include_system_ca_certs_pool = true;
    start();
    struct http_client_options options = tls_world_client(&world, true);
    bool ok = tls_world_call(&options, http.bound, error);
    ck_assert_msg(ok, "%s", error);
    options = tls_world_client(&world, false);
    ck_assert(!tls_world_call(&options, http.bound, error));
    end();
}
END_TEST

START_TEST(curves_that_gnutls_lacks_alone_are_an_error_at_start)
{
    char *names[] = {"X25519MLKEM768"}, error[256];
    const struct tls_suite_settings suites = {.curve_preferences = {names, 1}};
    if (!tls_suites_usable(&suites, 0, 0, "tls", error, sizeof error))
        ck_assert_ptr_eq(strstr(error, "tls.curve_preferences: GnuTLS "), error);
}
END_TEST

SUITE_MAIN("tls_suites", what_is_not_given_is_what_gnutls_has,
           suites_become_their_parts_and_1_3_keeps_its_own, a_server_agrees_on_its_suites_alone,
           a_server_agrees_on_its_curves_alone, clients_ask_for_their_suites_alone,
           clients_ask_for_their_curves_alone, the_systems_cas_come_beside_the_clients_ca,
           curves_that_gnutls_lacks_alone_are_an_error_at_start)
