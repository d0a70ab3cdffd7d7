/* An HTTPS server for tests: its own certificate for "localhost", 200 to every request. */
#ifndef TESTS_SUPPORT_TLS_SERVER_H
#define TESTS_SUPPORT_TLS_SERVER_H

#include <gnutls/gnutls.h>
#include <pthread.h>

struct tls_server {
    char bound[64];
    char certificate_file[64]; /* PEM, in /tmp until the server stops */
    gnutls_certificate_credentials_t credentials;
    int listener;
    pthread_t thread;
};

void tls_server_start(struct tls_server *server);
void tls_server_stop(struct tls_server *server);

#endif
