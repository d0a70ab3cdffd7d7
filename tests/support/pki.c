#include "tests/support/pki.h"

#include <check.h>
#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void set_serial(gnutls_x509_crt_t certificate)
{
    static _Atomic unsigned last;
    unsigned number = atomic_fetch_add(&last, 1);
    const unsigned char serial[] = {1, (unsigned char)(number >> 8), (unsigned char)number};
    gnutls_x509_crt_set_serial(certificate, serial, sizeof serial);
}

static void begin(struct pki *pki, const char *name)
{
    time_t now = time(NULL);
    gnutls_x509_privkey_init(&pki->key);
    gnutls_x509_crt_init(&pki->certificate);
    ck_assert_int_eq(gnutls_x509_privkey_generate(pki->key, GNUTLS_PK_ECDSA,
                                                  GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1),
                                                  0),
                     0);
    gnutls_x509_crt_set_version(pki->certificate, 3);
    set_serial(pki->certificate);
    gnutls_x509_crt_set_activation_time(pki->certificate, now - 3600);
    gnutls_x509_crt_set_expiration_time(pki->certificate, now + 3600);
    gnutls_x509_crt_set_dn_by_oid(pki->certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                  (unsigned)strlen(name));
    gnutls_x509_crt_set_key(pki->certificate, pki->key);
}

static void sign(struct pki *pki, const struct pki *by)
{
    ck_assert_int_eq(
        gnutls_x509_crt_sign2(pki->certificate, by->certificate, by->key, GNUTLS_DIG_SHA256, 0), 0);
}

void pki_ca(struct pki *ca, const char *name)
{
    begin(ca, name);
    gnutls_x509_crt_set_ca_status(ca->certificate, 1);
    gnutls_x509_crt_set_key_usage(ca->certificate, GNUTLS_KEY_KEY_CERT_SIGN);
    sign(ca, ca);
}

void pki_issue(struct pki *leaf, const struct pki *ca, const char *name)
{
    begin(leaf, name);
    gnutls_x509_crt_set_subject_alt_name(leaf->certificate, GNUTLS_SAN_DNSNAME, name,
                                         (unsigned)strlen(name), GNUTLS_FSAN_SET);
    gnutls_x509_crt_set_key_purpose_oid(leaf->certificate, GNUTLS_KP_TLS_WWW_SERVER, 0);
    gnutls_x509_crt_set_key_purpose_oid(leaf->certificate, GNUTLS_KP_TLS_WWW_CLIENT, 0);
    if (!ca)
        gnutls_x509_crt_set_ca_status(leaf->certificate, 1);
    sign(leaf, ca ? ca : leaf);
}

void pki_issue_expired(struct pki *leaf, const struct pki *ca, const char *name)
{
    time_t now = time(NULL);
    pki_issue(leaf, ca, name);
    gnutls_x509_crt_set_activation_time(leaf->certificate, now - 40L * 86400);
    gnutls_x509_crt_set_expiration_time(leaf->certificate, now - 2L * 86400 - 3600);
    sign(leaf, ca ? ca : leaf);
}

void pki_free(struct pki *pki)
{
    gnutls_x509_crt_deinit(pki->certificate);
    gnutls_x509_privkey_deinit(pki->key);
}

/* ---- files ---- */

static void replace(const void *data, size_t size, const char *path)
{
    char fresh[256];
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = fopen(fresh, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, size, file), size);
    fclose(file);
    ck_assert_int_eq(rename(fresh, path), 0);
}

void pki_write_certificate(const struct pki *pki, const char *path)
{
    gnutls_datum_t pem;
    ck_assert_int_eq(gnutls_x509_crt_export2(pki->certificate, GNUTLS_X509_FMT_PEM, &pem), 0);
    replace(pem.data, pem.size, path);
    gnutls_free(pem.data);
}

void pki_write_key(const struct pki *pki, const char *path)
{
    gnutls_datum_t pem;
    ck_assert_int_eq(gnutls_x509_privkey_export2(pki->key, GNUTLS_X509_FMT_PEM, &pem), 0);
    replace(pem.data, pem.size, path);
    gnutls_free(pem.data);
}

void pki_write_text(const char *text, const char *path)
{
    replace(text, strlen(text), path);
}

void pki_folder(char folder[64])
{
    strcpy(folder, "/tmp/pki.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void pki_remove(const char *folder)
{
    char path[512];
    DIR *all = opendir(folder);
    ck_assert_ptr_nonnull(all);
    for (const struct dirent *entry; (entry = readdir(all));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    closedir(all);
    rmdir(folder);
}
