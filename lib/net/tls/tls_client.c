#include "lib/net/tls/tls_client.h"

#include "lib/late/late.h"
#include "lib/net/tls/tls_version.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CA_BUNDLE "/etc/ssl/certs/ca-certificates.crt"

const struct key tls_client_keys[] = {
    KEY_BOOL(struct tls_client_settings, insecure, "insecure", "false",
             "cleartext if the endpoint has no scheme and no CA is given"),
    KEY_BOOL(struct tls_client_settings, insecure_skip_verify, "insecure_skip_verify", "false",
             "accept any certificate"),
    KEY_STRING(struct tls_client_settings, ca_file, "ca_file", NULL, 0,
               "PEM file of CAs to trust instead of the system's"),
    KEY_STRING(struct tls_client_settings, ca_pem, "ca_pem", NULL, 0,
               "the same as PEM text, instead of the file"),
    KEY_BOOL(struct tls_client_settings, include_system_ca_certs_pool,
             "include_system_ca_certs_pool", "false",
             "trust the system's CAs in addition to ca_file"),
    KEY_STRING(struct tls_client_settings, cert_file, "cert_file", NULL, 0,
               "PEM file of the client certificate and its intermediates"),
    KEY_STRING(struct tls_client_settings, cert_pem, "cert_pem", NULL, 0,
               "the same as PEM text, instead of the file"),
    KEY_STRING(struct tls_client_settings, key_file, "key_file", NULL, 0,
               "PEM file of the certificate's private key"),
    KEY_SECRET(struct tls_client_settings, key_pem, "key_pem",
               "the same as PEM text, instead of the file"),
    KEY_STRING(struct tls_client_settings, server_name_override, "server_name_override", NULL, 0,
               "the name expected in the server's certificate"),
    TLS_VERSION_KEYS(struct tls_client_settings),
    TLS_SUITE_KEYS(struct tls_client_settings, suites),
    KEY_IGNORED("reload_interval", "accepted; changed files are always reloaded"),
    KEY_END,
};

struct tls_client {
    bool adds_system;      /* to the given CAs */
    pthread_mutex_t mutex; /* guards the rest */
    struct tls_files files;
    struct tls_material *material;
};

/* ---- checking ---- */

static bool tls_client_given(const char *text)
{
    return text && *text;
}

static struct tls_files files_of(const struct tls_client_settings *settings, const char *key)
{
    return (struct tls_files){
        .id = "",
        .key = key,
        .sources = {[TLS_CERT] = {tls_client_given(settings->cert_pem) ? "cert_pem" : "cert_file",
                                  settings->cert_file, settings->cert_pem},
                    [TLS_KEY] = {tls_client_given(settings->key_pem) ? "key_pem" : "key_file",
                                 settings->key_file, settings->key_pem},
                    [TLS_CA] = {tls_client_given(settings->ca_pem) ? "ca_pem" : "ca_file",
                                settings->ca_file, settings->ca_pem}}};
}

void tls_client_check(const struct tls_client_settings *settings, const char *key,
                      struct key_report *report)
{
    const struct tls_files files = files_of(settings, key);
    tls_files_check(&files, report);
    tls_version_check(settings->min_version, settings->max_version, key, report);
    tls_suites_check(&settings->suites, key, report);
}

const char *tls_system_ca(void)
{
    return access(CA_BUNDLE, R_OK) == 0 ? CA_BUNDLE : NULL;
}

/* ---- memory files ---- */

static bool tls_client_write_all(int fd, struct view text)
{
    while (text.size) {
        ssize_t n = write(fd, text.data, text.size);
        if (n < 0 && errno != EINTR)
            return false;
        text.data += n > 0 ? n : 0;
        text.size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool copy_system(int to)
{
    uint8_t text[16 * 1024];
    const char *path = tls_system_ca();
    int from = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = 0;
    bool good = true;
    while (good && from >= 0 && (n = read(from, text, sizeof text)) > 0)
        good = tls_client_write_all(to, (struct view){text, (size_t)n});
    if (from >= 0)
        close(from);
    return good && n == 0 && tls_client_write_all(to, VIEW("\n"));
}

static bool tls_client_put(struct tls_material *material, int part, struct view text,
                           bool after_system)
{
    int fd = memfd_create("spanlink-tls", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    material->fds[part] = fd;
    snprintf(material->paths[part], sizeof material->paths[part], "/proc/self/fd/%d", fd);
    return fchmod(fd, 0600) == 0 && (!after_system || copy_system(fd)) &&
           tls_client_write_all(fd, text) && access(material->paths[part], R_OK) == 0;
}

static struct tls_material *material_new(const struct tls_client *client)
{
    struct tls_material *material = calloc(1, sizeof *material);
    bool good = material;
    if (!good)
        return NULL;
    atomic_init(&material->refs, 1);
    for (int part = 0; part < TLS_PARTS; part++)
        material->fds[part] = -1;
    for (int part = 0; part < TLS_PARTS; part++) {
        struct view text = bytes_view(&client->files.pem[part]);
        if (text.size)
            good =
                good && tls_client_put(material, part, text, part == TLS_CA && client->adds_system);
    }
    if (good)
        return material;
    tls_material_unref(material);
    return NULL;
}

void tls_material_unref(struct tls_material *material)
{
    if (!material || atomic_fetch_sub(&material->refs, 1) != 1)
        return;
    for (int part = 0; part < TLS_PARTS; part++)
        if (material->fds[part] >= 0)
            close(material->fds[part]);
    free(material);
}

/* ---- sessions ---- */

static bool add_trust(const struct tls_material *material, gnutls_certificate_credentials_t to)
{
    const char *ca = *material->paths[TLS_CA] ? material->paths[TLS_CA] : tls_system_ca();
    if (ca)
        return gnutls_certificate_set_x509_trust_file(to, ca, GNUTLS_X509_FMT_PEM) > 0;
    return gnutls_certificate_set_x509_system_trust(to) >= 0;
}

gnutls_certificate_credentials_t
tls_material_credentials(const struct tls_material *material,
                         const struct tls_client_settings *settings)
{
    gnutls_certificate_credentials_t made;
    if (gnutls_certificate_allocate_credentials(&made) != 0)
        return NULL;
    if ((settings->insecure_skip_verify || add_trust(material, made)) &&
        (!*material->paths[TLS_CERT] ||
         gnutls_certificate_set_x509_key_file(made, material->paths[TLS_CERT],
                                              material->paths[TLS_KEY], GNUTLS_X509_FMT_PEM) >= 0))
        return made;
    gnutls_certificate_free_credentials(made);
    return NULL;
}

/* ---- lifecycle ---- */

/* Without files GnuTLS is neither called nor loaded. */
static bool read_files(struct tls_client *client, char *error, size_t error_size)
{
    if (!tls_files_given(&client->files))
        return true;
    gnutls_certificate_credentials_t checked = tls_files_open(&client->files, error, error_size);
    if (checked)
        gnutls_certificate_free_credentials(checked);
    return checked;
}

static bool suites_usable(const struct tls_client_settings *settings, const char *key, char *error,
                          size_t error_size)
{
    const struct tls_suite_settings *suites = &settings->suites;
    if (suites->cipher_suites.count == 0 && suites->curve_preferences.count == 0)
        return true;
    char why[256];
    if (late_has_tls(why, sizeof why))
        return tls_suites_usable(suites, settings->min_version, settings->max_version, key, error,
                                 error_size);
    snprintf(error, error_size, "%s: %s", key, why);
    return false;
}

struct tls_client *tls_client_new(const struct tls_client_settings *settings, const char *id,
                                  const char *key, uint64_t look_every_ns, char *error,
                                  size_t error_size)
{
    struct tls_client *client = calloc(1, sizeof *client);
    if (!client) {
        snprintf(error, error_size, "%s: out of memory", key);
        return NULL;
    }
    pthread_mutex_init(&client->mutex, NULL);
    client->adds_system = settings->include_system_ca_certs_pool;
    client->files = files_of(settings, key);
    client->files.id = id;
    client->files.look_every_ns = look_every_ns;
    if (suites_usable(settings, key, error, error_size) && read_files(client, error, error_size)) {
        client->material = material_new(client);
        if (client->material)
            return client;
        snprintf(error, error_size, "%s: no memory file under /proc: %s", key, strerror(errno));
    }
    tls_client_free(client);
    return NULL;
}

void tls_client_free(struct tls_client *client)
{
    if (!client)
        return;
    tls_material_unref(client->material);
    tls_files_release(&client->files);
    pthread_mutex_destroy(&client->mutex);
    free(client);
}

struct tls_material *tls_client_material(struct tls_client *client)
{
    pthread_mutex_lock(&client->mutex);
    gnutls_certificate_credentials_t checked = tls_files_look(&client->files);
    struct tls_material *next = checked ? material_new(client) : NULL;
    if (checked)
        gnutls_certificate_free_credentials(checked);
    if (next) {
        tls_material_unref(client->material);
        client->material = next;
    }
    struct tls_material *now = client->material;
    atomic_fetch_add(&now->refs, 1);
    pthread_mutex_unlock(&client->mutex);
    return now;
}
