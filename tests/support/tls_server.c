#include "tests/support/tls_server.h"

#include "lib/net/endpoint.h"

#include <check.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void make_certificate(gnutls_x509_privkey_t key, gnutls_x509_crt_t certificate)
{
    const char name[] = "localhost", serial[] = "1";
    time_t now = time(NULL);
    ck_assert_int_eq(gnutls_x509_privkey_generate(
                         key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
                     0);
    gnutls_x509_crt_set_version(certificate, 3);
    gnutls_x509_crt_set_serial(certificate, serial, 1);
    gnutls_x509_crt_set_activation_time(certificate, now - 3600);
    gnutls_x509_crt_set_expiration_time(certificate, now + 3600);
    gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                  sizeof name - 1);
    gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, name, sizeof name - 1,
                                         GNUTLS_FSAN_SET);
    gnutls_x509_crt_set_ca_status(certificate, 1);
    gnutls_x509_crt_set_key(certificate, key);
    ck_assert_int_eq(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0), 0);
}

static void write_certificate(struct tls_server *server, gnutls_x509_crt_t certificate)
{
    gnutls_datum_t pem;
    strcpy(server->certificate_file, "/tmp/tls_server.XXXXXX");
    int fd = mkstemp(server->certificate_file);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &pem), 0);
    ck_assert_int_eq(write(fd, pem.data, pem.size), pem.size);
    gnutls_free(pem.data);
    close(fd);
}

static void talk(gnutls_session_t session)
{
    static const char answer[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    char request[4096] = "";
    size_t size = 0;
    if (gnutls_handshake(session) < 0)
        return;
    while (!strstr(request, "\r\n\r\nbody")) {
        ssize_t n = gnutls_record_recv(session, request + size, sizeof request - 1 - size);
        if (n <= 0)
            return;
        size += (size_t)n;
        request[size] = '\0';
    }
    gnutls_record_send(session, answer, sizeof answer - 1);
    gnutls_bye(session, GNUTLS_SHUT_WR);
}

static void *run(void *arg)
{
    struct tls_server *server = arg;
    struct pollfd wait = {.fd = server->listener, .events = POLLIN};
    for (;;) {
        poll(&wait, 1, -1);
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return NULL;
        gnutls_session_t session;
        gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NO_SIGNAL);
        gnutls_set_default_priority(session);
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, server->credentials);
        gnutls_transport_set_int(session, fd);
        talk(session);
        gnutls_deinit(session);
        close(fd);
    }
}

void tls_server_start(struct tls_server *server)
{
    const struct endpoint endpoint = {.host = "127.0.0.1", .service = "0"};
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
    char error[256];
    gnutls_x509_privkey_init(&key);
    gnutls_x509_crt_init(&certificate);
    make_certificate(key, certificate);
    write_certificate(server, certificate);
    gnutls_certificate_allocate_credentials(&server->credentials);
    ck_assert_int_eq(gnutls_certificate_set_x509_key(server->credentials, &certificate, 1, key), 0);
    gnutls_x509_crt_deinit(certificate);
    gnutls_x509_privkey_deinit(key);
    server->listener =
        endpoint_listen(&endpoint, server->bound, sizeof server->bound, error, sizeof error);
    ck_assert_msg(server->listener >= 0, "%s", error);
    ck_assert_int_eq(pthread_create(&server->thread, NULL, run, server), 0);
}

void tls_server_stop(struct tls_server *server)
{
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
    unlink(server->certificate_file);
    gnutls_certificate_free_credentials(server->credentials);
}
