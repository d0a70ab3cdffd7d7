#include "lib/net/tls/tls_files.h"

#include "tests/support/captured.h"
#include "tests/support/pki.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], cert[96], key[96];
static struct tls_files files;

static void renew(void)
{
    struct pki pair;
    pki_issue(&pair, NULL, "localhost");
    pki_write_certificate(&pair, cert);
    pki_write_key(&pair, key);
    pki_free(&pair);
}

static void begin(uint64_t look_every_ns)
{
    char error[512] = "";
    pki_folder(folder);
    snprintf(cert, sizeof cert, "%s/cert.pem", folder);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    renew();
    files = (struct tls_files){.id = "",
                               .key = "tls",
                               .sources = {[TLS_CERT] = {"cert_file", cert, NULL},
                                           [TLS_KEY] = {"key_file", key, NULL},
                                           [TLS_CA] = {"ca_file", NULL, NULL}},
                               .look_every_ns = look_every_ns};
    gnutls_certificate_credentials_t first = tls_files_open(&files, error, sizeof error);
    ck_assert_msg(first, "%s", error);
    gnutls_certificate_free_credentials(first);
}

static void end(void)
{
    tls_files_release(&files);
    pki_remove(folder);
}

static bool looks_new(void)
{
    gnutls_certificate_credentials_t newer = tls_files_look(&files);
    if (newer)
        gnutls_certificate_free_credentials(newer);
    return newer;
}

START_TEST(a_look_finds_what_is_new_once)
{
    begin(0);
    ck_assert(!looks_new());
    renew();
    ck_assert(looks_new());
    ck_assert(!looks_new());
    end();
}
END_TEST

START_TEST(a_look_is_good_for_its_time)
{
    begin(UINT64_MAX);
    renew();
    ck_assert(!looks_new());
    files.look_every_ns = 0;
    ck_assert(looks_new());
    end();
}
END_TEST

START_TEST(a_change_is_seen_whatever_the_files_times_say)
{
    struct stat before;
    begin(0);
    ck_assert_int_eq(stat(cert, &before), 0);
    renew();
    const struct timespec times[] = {before.st_atim, before.st_mtim};
    ck_assert_int_eq(utimensat(AT_FDCWD, cert, times, 0), 0);
    ck_assert_int_eq(utimensat(AT_FDCWD, key, times, 0), 0);
    ck_assert(looks_new());
    end();
}
END_TEST

START_TEST(a_folder_that_is_swapped_by_its_link_is_followed)
{
    char to[128], link[128], linked[2][160];
    begin(0);
    snprintf(link, sizeof link, "%s/..data", folder);
    snprintf(to, sizeof to, "%s/..new", folder);
    ck_assert_int_eq(symlink(folder, link), 0);
    snprintf(linked[0], sizeof linked[0], "%s/cert.pem", link);
    snprintf(linked[1], sizeof linked[1], "%s/key.pem", link);
    files.sources[TLS_CERT].file = linked[0];
    files.sources[TLS_KEY].file = linked[1];
    ck_assert(!looks_new());
    char other[64], path[96];
    struct pki pair;
    pki_folder(other);
    pki_issue(&pair, NULL, "localhost");
    snprintf(path, sizeof path, "%s/cert.pem", other);
    pki_write_certificate(&pair, path);
    snprintf(path, sizeof path, "%s/key.pem", other);
    pki_write_key(&pair, path);
    pki_free(&pair);
    ck_assert_int_eq(symlink(other, to), 0);
    ck_assert_int_eq(rename(to, link), 0);
    ck_assert(looks_new());
    pki_remove(other);
    end();
}
END_TEST

START_TEST(what_is_broken_does_not_count_until_it_is_whole)
{
    begin(0);
    pki_write_text("-----BEGIN CERTIFICATE-----\n", cert);
    ck_assert(!looks_new());
    ck_assert(files.broken);
    unlink(cert);
    ck_assert(!looks_new());
    ck_assert(files.broken);
    renew();
    ck_assert(looks_new());
    ck_assert(!files.broken);
    end();
}
END_TEST

START_TEST(what_is_as_it_was_before_is_not_new)
{
    char kept[128];
    begin(0);
    snprintf(kept, sizeof kept, "%s/kept", folder);
    ck_assert_int_eq(rename(key, kept), 0);
    ck_assert(!looks_new());
    ck_assert(files.broken);
    ck_assert_int_eq(rename(kept, key), 0);
    ck_assert(!looks_new());
    ck_assert(!files.broken);
    end();
}
END_TEST

START_TEST(a_certificate_that_has_expired_is_told_of)
{
    struct pki old;
    captured_begin();
    begin(0);
    ck_assert_uint_eq(captured_with("expire"), 0);
    pki_issue_expired(&old, NULL, "localhost");
    pki_write_key(&old, key);
    pki_write_certificate(&old, cert);
    pki_free(&old);
    ck_assert(looks_new());
    ck_assert_uint_eq(captured_with("cert.pem expired 2 days ago"), 1);
    ck_assert(!looks_new());
    ck_assert_uint_eq(captured_with("expired"), 1);
    end();
}
END_TEST

START_TEST(what_is_no_file_is_not_waited_for)
{
    begin(0);
    unlink(cert);
    ck_assert_int_eq(mkfifo(cert, 0600), 0);
    ck_assert(!looks_new());
    ck_assert(files.broken);
    end();
}
END_TEST

SUITE_MAIN("net/tls_files", a_look_finds_what_is_new_once, a_look_is_good_for_its_time,
           a_change_is_seen_whatever_the_files_times_say,
           a_folder_that_is_swapped_by_its_link_is_followed,
           what_is_broken_does_not_count_until_it_is_whole, what_is_as_it_was_before_is_not_new,
           a_certificate_that_has_expired_is_told_of, what_is_no_file_is_not_waited_for)
