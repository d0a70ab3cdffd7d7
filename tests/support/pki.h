/* Certificates for tests: CAs and certificates issued by them, with fresh keys on P-256, valid
 * now. */
#ifndef TESTS_SUPPORT_PKI_H
#define TESTS_SUPPORT_PKI_H

#include <gnutls/x509.h>

struct pki {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
};

void pki_ca(struct pki *ca, const char *name);
/* For a server with that name, and for a client too. ca NULL: self-signed. */
void pki_issue(struct pki *leaf, const struct pki *ca, const char *name);
/* The same, valid until two days ago. */
void pki_issue_expired(struct pki *leaf, const struct pki *ca, const char *name);
void pki_free(struct pki *pki);

/* Write PEM; the file is replaced atomically, as tools that rotate certificates do. */
void pki_write_certificate(const struct pki *pki, const char *path);
void pki_write_key(const struct pki *pki, const char *path);
void pki_write_text(const char *text, const char *path);

/* Makes a folder below /tmp; removed with its files at the end. */
void pki_folder(char folder[64]);
void pki_remove(const char *folder);

#endif
