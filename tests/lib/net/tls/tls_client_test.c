/* Clients whose certificates and CAs are replaced, and which servers they trust. */
#include "lib/net/tls/tls_client.h"

#include "lib/base/clock.h"
#include "tests/support/http_fixture.h"
#include "tests/support/suite.h"
#include "tests/support/tls_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct tls_world world;
static struct http_fixture http;
static struct tls_server_settings settings;
static char client_ca[96]; /* a separate file from the one that clients trust */

static void start(void)
{
    http_fixture_init(&http);
    http.options.tls = tls_world_server(&settings);
    http_fixture_start(&http);
}

/* A server that requires certificates from the world's CA. */
static void begin(void)
{
    tls_world_make(&world);
    snprintf(client_ca, sizeof client_ca, "%s/clients.pem", world.folder);
    pki_write_certificate(&world.ca, client_ca);
    settings = tls_world_server_settings(&world);
    settings.client_ca_file = client_ca;
    start();
}

static void end(void)
{
    http_fixture_stop(&http);
    tls_world_remove(&world);
}

static struct http_client *client_of(const struct http_client_options *options)
{
    char error[512];
    struct http_client *client = http_client_new(options, error, sizeof error);
    ck_assert_msg(client, "%s", error);
    return client;
}

static bool posts(struct http_client *client)
{
    struct http_reply reply;
    bool ok = tls_world_post(client, false, http.bound, VIEW("body"), &reply);
    http_reply_release(&reply);
    return ok;
}

/* ---- replaced files ---- */

START_TEST(a_kept_connection_does_not_outlive_its_certificate)
{
    struct pki other;
    begin();
    const struct http_client_options options = tls_world_client(&world, true);
    struct http_client *client = client_of(&options);
    ck_assert(posts(client));
    pki_ca(&other, "a CA that the server does not know");
    tls_world_renew_client(&world, &other);
    ck_assert(!posts(client));
    tls_world_renew_client(&world, NULL);
    ck_assert(posts(client));
    http_client_free(client);
    pki_free(&other);
    end();
}
END_TEST

START_TEST(a_ca_that_was_replaced_is_the_one_that_counts)
{
    struct pki other;
    begin();
    const struct http_client_options options = tls_world_client(&world, true);
    struct http_client *client = client_of(&options);
    ck_assert(posts(client));
    pki_ca(&other, "the next CA");
    pki_write_certificate(&other, world.paths[WORLD_CA]);
    ck_assert(!posts(client));
    tls_world_renew_server(&world, &other);
    ck_assert(posts(client));
    http_client_free(client);
    pki_free(&other);
    end();
}
END_TEST

START_TEST(broken_and_missing_files_leave_the_last_good_ones)
{
    begin();
    const struct http_client_options options = tls_world_client(&world, true);
    struct http_client *client = client_of(&options);
    const int files[] = {WORLD_CLIENT_CERT, WORLD_CLIENT_KEY, WORLD_CA};
    for (size_t i = 0; i < 3; i++) {
        pki_write_text("garbage", world.paths[files[i]]);
        ck_assert(posts(client));
        unlink(world.paths[files[i]]);
        ck_assert(posts(client));
        /* On a new connection too. */
        snprintf(http.options.endpoint.service, sizeof http.options.endpoint.service, "%s",
                 strrchr(http.bound, ':') + 1);
        http_server_close(http.server, clock_mono(&clock_system) + 20 * NS_PER_S);
        http.options.tls = tls_world_server(&settings);
        http_fixture_start(&http);
        ck_assert(posts(client));
    }
    http_client_free(client);
    end();
}
END_TEST

/* ---- trust ---- */

START_TEST(the_servers_name_can_be_another_than_the_hosts)
{
    char error[192];
    struct pki leaf;
    begin();
    pki_issue(&leaf, &world.ca, "collector.example");
    pki_write_certificate(&leaf, world.paths[WORLD_CERT]);
    pki_write_key(&leaf, world.paths[WORLD_KEY]);
    struct http_client_options options = tls_world_client(&world, true);
    ck_assert(!tls_world_call(&options, http.bound, error));
    options.tls.server_name_override = (char[]){"collector.example"};
    bool ok = tls_world_call(&options, http.bound, error);
    ck_assert_msg(ok, "%s", error);
    options.tls.server_name_override = (char[]){"other.example"};
    ck_assert(!tls_world_call(&options, http.bound, error));
    ck_assert_ptr_eq(strstr(error, "TLS with localhost:"), error);
    pki_free(&leaf);
    end();
}
END_TEST

START_TEST(versions_are_limited)
{
    begin();
    http_fixture_stop(&http);
    settings.max_version = 1;
    start();
    struct http_client_options options = tls_world_client(&world, true);
    ck_assert(tls_world_call(&options, http.bound, NULL));
    options.tls.min_version = 1;
    ck_assert(!tls_world_call(&options, http.bound, NULL));
    http_fixture_stop(&http);
    settings.max_version = 0;
    settings.min_version = 1;
    start();
    ck_assert(tls_world_call(&options, http.bound, NULL));
    options.tls.min_version = 0;
    options.tls.max_version = 1;
    ck_assert(!tls_world_call(&options, http.bound, NULL));
    end();
}
END_TEST

static char *read_all(const char *path)
{
    char *text = calloc(1, 4 << 20);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_lt(fread(text, 1, (4 << 20) - 1, file), (4 << 20) - 1);
    fclose(file);
    return text;
}

START_TEST(texts_take_the_place_of_files)
{
    char error[192];
    begin();
    struct http_client_options options = tls_world_client(&world, true);
    char *ca = read_all(options.tls.ca_file), *cert = read_all(options.tls.cert_file);
    char *key = read_all(options.tls.key_file);
    options.tls.ca_file = options.tls.cert_file = options.tls.key_file = NULL;
    options.tls.ca_pem = ca;
    options.tls.cert_pem = cert;
    options.tls.key_pem = key;
    bool ok = tls_world_call(&options, http.bound, error);
    ck_assert_msg(ok, "%s", error);
    free(ca);
    free(cert);
    free(key);
    end();
}
END_TEST

START_TEST(the_systems_cas_can_be_trusted_beside_ones_own)
{
    char error[512];
    tls_world_make(&world);
    const char *system = tls_system_ca();
    struct tls_client_settings own = {.ca_file = world.paths[WORLD_CA],
                                      .include_system_ca_certs_pool = true};
    struct tls_client *client = tls_client_new(&own, "", "tls", 0, error, sizeof error);
    ck_assert_msg(client, "%s", error);
    struct tls_material *material = tls_client_material(client);
    char *all = read_all(material->paths[TLS_CA]), *mine = read_all(own.ca_file);
    char *theirs = system ? read_all(system) : NULL;
    ck_assert_ptr_nonnull(strstr(all, mine));
    if (theirs)
        ck_assert_ptr_eq(strstr(all, theirs), all);
    free(theirs);
    free(all);
    free(mine);
    tls_material_unref(material);
    tls_client_free(client);
    tls_world_remove(&world);
}
END_TEST

START_TEST(what_has_not_changed_is_the_same_material)
{
    char error[512];
    tls_world_make(&world);
    struct tls_client_settings own = {.ca_file = world.paths[WORLD_CA]};
    struct tls_client *client = tls_client_new(&own, "", "tls", 0, error, sizeof error);
    struct tls_material *first = tls_client_material(client), *next = tls_client_material(client);
    ck_assert_ptr_eq(first, next);
    tls_material_unref(next);
    pki_write_certificate(&world.ca, world.paths[WORLD_CA]);
    next = tls_client_material(client);
    ck_assert_ptr_eq(first, next);
    tls_material_unref(next);
    struct pki other;
    pki_ca(&other, "another CA");
    pki_write_certificate(&other, world.paths[WORLD_CA]);
    next = tls_client_material(client);
    ck_assert_ptr_ne(first, next);
    pki_free(&other);
    tls_material_unref(next);
    tls_material_unref(first);
    tls_client_free(client);
    tls_world_remove(&world);
}
END_TEST

SUITE_MAIN("net/tls_client", a_kept_connection_does_not_outlive_its_certificate,
           a_ca_that_was_replaced_is_the_one_that_counts,
           broken_and_missing_files_leave_the_last_good_ones,
           the_servers_name_can_be_another_than_the_hosts, versions_are_limited,
           texts_take_the_place_of_files, the_systems_cas_can_be_trusted_beside_ones_own,
           what_has_not_changed_is_the_same_material)
