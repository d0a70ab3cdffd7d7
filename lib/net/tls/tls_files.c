#include "lib/net/tls/tls_files.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/late/late.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOUR = 3600, DAY = 24 * HOUR, SOON = 7 * DAY };
enum { PEM_MAX = 8 << 20, READ_SIZE = 16 * 1024, WHY_SIZE = 512 };

/* Why a check failed; begins with the path of the key. */
struct fault {
    char *text;
    size_t size;
};

static bool tls_tls_files_given(const char *text)
{
    return text && *text;
}

static bool tls_files_has(const struct tls_files *files, enum tls_part part)
{
    return tls_tls_files_given(files->sources[part].file) ||
           tls_tls_files_given(files->sources[part].text);
}

/* ---- checking ---- */

void tls_files_check(const struct tls_files *files, struct key_report *report)
{
    char path[128];
    for (int part = 0; part < TLS_PARTS; part++) {
        const struct tls_source *source = &files->sources[part];
        snprintf(path, sizeof path, "%s.%s", files->key, source->name);
        if (tls_tls_files_given(source->file) && tls_tls_files_given(source->text))
            key_report_add(report, path, "is given twice, as a file and as text");
    }
    snprintf(path, sizeof path, "%s.cert_file", files->key);
    if (tls_files_has(files, TLS_KEY) && !tls_files_has(files, TLS_CERT))
        key_report_add(report, path, "is required with key_file");
    snprintf(path, sizeof path, "%s.key_file", files->key);
    if (tls_files_has(files, TLS_CERT) && !tls_files_has(files, TLS_KEY))
        key_report_add(report, path, "is required with cert_file");
}

bool tls_files_given(const struct tls_files *files)
{
    return tls_files_has(files, TLS_CERT) || tls_files_has(files, TLS_KEY) ||
           tls_files_has(files, TLS_CA);
}

/* ---- reading ---- */

/* Names the source in messages: the key and, if there is one, the file. */
static void name_source(const struct tls_files *files, enum tls_part part, char *out, size_t size)
{
    const struct tls_source *source = &files->sources[part];
    snprintf(out, size, "%s.%s: %s%s", files->key, source->name,
             tls_tls_files_given(source->file) ? "" : "it",
             tls_tls_files_given(source->file) ? source->file : "");
}

static void blame(const struct tls_files *files, enum tls_part part, const struct fault *fault,
                  const char *why)
{
    char where[WHY_SIZE];
    name_source(files, part, where, sizeof where);
    snprintf(fault->text, fault->size, "%s %s", where, why);
}

static bool blame_errno(const struct tls_files *files, enum tls_part part,
                        const struct fault *fault)
{
    char why[160];
    snprintf(why, sizeof why, "cannot be read: %s", strerror(errno));
    blame(files, part, fault, why);
    return false;
}

static bool read_rest(int fd, struct bytes *out)
{
    for (;;) {
        if (bytes_reserve(out, READ_SIZE) != BYTES_OK) {
            errno = EFBIG;
            return false;
        }
        ssize_t n = read(fd, out->data + out->size, READ_SIZE);
        if (n == 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
        out->size += n > 0 ? (size_t)n : 0;
    }
}

static bool read_file(const struct tls_files *files, enum tls_part part, struct bytes *out,
                      const struct fault *fault)
{
    struct stat status;
    int fd = open(files->sources[part].file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return blame_errno(files, part, fault);
    bool good = fstat(fd, &status) == 0;
    if (good && !S_ISREG(status.st_mode)) {
        blame(files, part, fault, "is not a file");
        close(fd);
        return false;
    }
    good = good && read_rest(fd, out);
    if (!good)
        blame_errno(files, part, fault);
    close(fd);
    return good;
}

static bool read_part(const struct tls_files *files, enum tls_part part, struct bytes *out,
                      const struct fault *fault)
{
    if (tls_tls_files_given(files->sources[part].file))
        return read_file(files, part, out, fault);
    if (!tls_tls_files_given(files->sources[part].text) ||
        bytes_append_view(out, view_of(files->sources[part].text)) == BYTES_OK)
        return true;
    blame(files, part, fault, "is too large");
    return false;
}

static void release_all(struct bytes pem[TLS_PARTS])
{
    for (int part = 0; part < TLS_PARTS; part++) {
        if (pem[part].data)
            explicit_bzero(pem[part].data, pem[part].size);
        bytes_release(&pem[part]);
    }
}

static bool tls_files_read_all(const struct tls_files *files, struct bytes pem[TLS_PARTS],
                               const struct fault *fault)
{
    for (int part = 0; part < TLS_PARTS; part++)
        bytes_init(&pem[part], PEM_MAX, NULL);
    for (int part = 0; part < TLS_PARTS; part++)
        if (!read_part(files, (enum tls_part)part, &pem[part], fault)) {
            release_all(pem);
            return false;
        }
    return true;
}

/* ---- parsing ---- */

static gnutls_datum_t datum(const struct bytes *pem)
{
    return (gnutls_datum_t){pem->data, (unsigned)pem->size};
}

/* When a certificate is valid. */
struct validity {
    time_t from, until;
};

/* Whether pem has a certificate; *validity is that of the first one. */
static bool is_certificate(const struct bytes *pem, struct validity *validity)
{
    gnutls_x509_crt_t *list = NULL;
    unsigned count = 0;
    const gnutls_datum_t text = datum(pem);
    int code = gnutls_x509_crt_list_import2(&list, &count, &text, GNUTLS_X509_FMT_PEM, 0);
    if (code >= 0 && count > 0)
        *validity = (struct validity){gnutls_x509_crt_get_activation_time(list[0]),
                                      gnutls_x509_crt_get_expiration_time(list[0])};
    for (unsigned i = 0; code >= 0 && i < count; i++)
        gnutls_x509_crt_deinit(list[i]);
    gnutls_free(list);
    return code >= 0 && count > 0;
}

static void warn(const struct tls_files *files, const char *what, long seconds, const char *when)
{
    char where[WHY_SIZE];
    long days = seconds / DAY;
    name_source(files, TLS_CERT, where, sizeof where);
    log_warn("%s%s%s %s %ld %s%s%s", files->id, *files->id ? ": " : "", where, what,
             days ? days : seconds / HOUR, days ? "day" : "hour",
             (days ? days : seconds / HOUR) == 1 ? "" : "s", when);
}

/* Warns of certificates that are not valid now or expire soon; those with a lifetime of hours are
 * assumed to be replaced in time. */
static void warn_of_age(const struct tls_files *files, const struct validity *validity)
{
    long now = (long)(clock_wall(&clock_system) / NS_PER_S);
    long left = (long)validity->until - now;
    if (left <= 0)
        warn(files, "expired", -left, " ago");
    else if ((long)validity->from > now)
        warn(files, "is not valid yet, but in", (long)validity->from - now, "");
    else if (left < SOON && left < ((long)validity->until - (long)validity->from) / 10)
        warn(files, "expires in", left, "");
}

static bool add_pair(const struct tls_files *files, struct bytes pem[TLS_PARTS],
                     gnutls_certificate_credentials_t to, const struct fault *fault)
{
    char why[WHY_SIZE];
    struct validity validity;
    const gnutls_datum_t cert = datum(&pem[TLS_CERT]), key = datum(&pem[TLS_KEY]);
    if (!tls_files_has(files, TLS_CERT))
        return true;
    if (!is_certificate(&pem[TLS_CERT], &validity)) {
        blame(files, TLS_CERT, fault, "holds no certificate in PEM");
        return false;
    }
    int code = gnutls_certificate_set_x509_key_mem2(to, &cert, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (code >= 0) {
        warn_of_age(files, &validity);
        return true;
    }
    if (code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        snprintf(why, sizeof why, "is not the key of the certificate in %.400s",
                 tls_tls_files_given(files->sources[TLS_CERT].file)
                     ? files->sources[TLS_CERT].file
                     : files->sources[TLS_CERT].name);
    else if (code == GNUTLS_E_DECRYPTION_FAILED)
        snprintf(why, sizeof why, "is encrypted; a key without a password is needed");
    else
        snprintf(why, sizeof why, "holds no private key in PEM: %s", gnutls_strerror(code));
    blame(files, TLS_KEY, fault, why);
    return false;
}

static bool add_ca(const struct tls_files *files, struct bytes pem[TLS_PARTS],
                   gnutls_certificate_credentials_t to, const struct fault *fault)
{
    const gnutls_datum_t text = datum(&pem[TLS_CA]);
    if (!tls_files_has(files, TLS_CA))
        return true;
    if (gnutls_certificate_set_x509_trust_mem(to, &text, GNUTLS_X509_FMT_PEM) > 0) {
        if (files->adds_system)
            gnutls_certificate_set_x509_system_trust(to);
        return true;
    }
    blame(files, TLS_CA, fault, "holds no certificate in PEM");
    return false;
}

static gnutls_certificate_credentials_t
understand(const struct tls_files *files, struct bytes pem[TLS_PARTS], const struct fault *fault)
{
    gnutls_certificate_credentials_t made;
    char why[WHY_SIZE];
    if (!late_has_tls(why, sizeof why)) {
        snprintf(fault->text, fault->size, "%s: %s", files->key, why);
        return NULL;
    }
    if (gnutls_certificate_allocate_credentials(&made) != 0) {
        snprintf(fault->text, fault->size, "%s: out of memory", files->key);
        return NULL;
    }
    if (add_pair(files, pem, made, fault) && add_ca(files, pem, made, fault))
        return made;
    gnutls_certificate_free_credentials(made);
    return NULL;
}

/* ---- checking for changes ---- */

/* When the first certificate in a PEM text expires; -1: there is none. */
static int64_t first_end(const struct bytes *pem)
{
    gnutls_x509_crt_t *list = NULL;
    unsigned count = 0;
    const gnutls_datum_t text = datum(pem);
    int64_t ends = -1;
    int code = gnutls_x509_crt_list_import2(&list, &count, &text, GNUTLS_X509_FMT_PEM, 0);
    for (unsigned i = 0; code >= 0 && i < count; i++) {
        int64_t its = gnutls_x509_crt_get_expiration_time(list[i]);
        ends = ends < 0 || its < ends ? its : ends;
        gnutls_x509_crt_deinit(list[i]);
    }
    gnutls_free(list);
    return ends;
}

static void note_ends(struct tls_files *files)
{
    for (int part = 0; part < TLS_PARTS; part++) {
        struct tls_expiry *expiry = &files->expiries[part];
        int64_t ends = -1;
        if (part != TLS_KEY && files->pem[part].size > 0)
            ends = first_end(&files->pem[part]);
        expiry->id = files->id;
        expiry->key = files->key;
        expiry->source = files->sources[part].name;
        if (ends >= 0)
            tls_expiry_set(expiry, ends);
        else
            tls_expiry_forget(expiry);
    }
}

static void tls_files_keep(struct tls_files *files, struct bytes pem[TLS_PARTS])
{
    release_all(files->pem);
    memcpy(files->pem, pem, sizeof files->pem);
    note_ends(files);
}

static bool tls_files_same(struct bytes a[TLS_PARTS], struct bytes b[TLS_PARTS])
{
    for (int part = 0; part < TLS_PARTS; part++)
        if (!view_eq(bytes_view(&a[part]), bytes_view(&b[part])))
            return false;
    return true;
}

gnutls_certificate_credentials_t tls_files_open(struct tls_files *files, char *error,
                                                size_t error_size)
{
    struct bytes pem[TLS_PARTS];
    const struct fault fault = {error, error_size};
    for (int part = 0; part < TLS_PARTS; part++)
        bytes_init(&files->pem[part], 0, NULL);
    files->broken = false;
    files->looked_ns = clock_mono(&clock_system);
    if (!tls_files_read_all(files, pem, &fault))
        return NULL;
    gnutls_certificate_credentials_t made = understand(files, pem, &fault);
    if (made)
        tls_files_keep(files, pem);
    else
        release_all(pem);
    return made;
}

static void log_broken(struct tls_files *files, const char *why)
{
    if (!files->broken)
        log_warn("%s%s%s; the last valid ones stay in use", files->id, *files->id ? ": " : "", why);
    files->broken = true;
}

static void log_whole(struct tls_files *files, bool is_new)
{
    if (is_new || files->broken)
        log_info("%s%s%s: certificates and keys %s", files->id, *files->id ? ": " : "", files->key,
                 is_new ? "were reloaded" : "are valid again");
    files->broken = false;
}

gnutls_certificate_credentials_t tls_files_look(struct tls_files *files)
{
    char why[2 * WHY_SIZE];
    struct bytes pem[TLS_PARTS];
    const struct fault fault = {why, sizeof why};
    uint64_t now = clock_mono(&clock_system);
    if (now - files->looked_ns < files->look_every_ns)
        return NULL;
    files->looked_ns = now;
    if (!tls_files_read_all(files, pem, &fault)) {
        log_broken(files, why);
        return NULL;
    }
    gnutls_certificate_credentials_t made = NULL;
    bool is_new = !tls_files_same(files->pem, pem);
    if (is_new && !(made = understand(files, pem, &fault))) {
        log_broken(files, why);
        release_all(pem);
        return NULL;
    }
    log_whole(files, is_new);
    if (is_new)
        tls_files_keep(files, pem);
    else
        release_all(pem);
    return made;
}

void tls_files_release(struct tls_files *files)
{
    for (int part = 0; part < TLS_PARTS; part++)
        tls_expiry_forget(&files->expiries[part]);
    release_all(files->pem);
}
