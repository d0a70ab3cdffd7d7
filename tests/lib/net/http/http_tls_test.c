/* Handshakes that arrive in pieces. */
#include "tests/support/http_fixture.h"
#include "tests/support/suite.h"
#include "tests/support/tls_world.h"

#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { READS_MAX = 12 }; /* of a connection that has sent one byte */

static struct tls_world world;
static struct tls_server_settings settings;
static struct http_fixture http;
static _Atomic int first_fd = -1; /* the server's first connection */
static _Atomic unsigned reads;

ssize_t recv(int fd, void *data, size_t size, int flags)
{
    int none = -1;
    if (flags & MSG_PEEK)
        atomic_compare_exchange_strong(&first_fd, &none, fd);
    if (fd == atomic_load(&first_fd))
        atomic_fetch_add(&reads, 1);
    return syscall(SYS_recvfrom, fd, data, size, flags, NULL, NULL);
}

static void begin(void)
{
    tls_world_make(&world);
    settings = tls_world_server_settings(&world);
    http_fixture_init(&http);
    http.options.tls = tls_world_server(&settings);
    http.options.threads = 1;
    http_fixture_start(&http);
}

static void end(void)
{
    http_fixture_stop(&http);
    tls_world_remove(&world);
}

/* The other calls turn the event loop of the same thread many times. */
START_TEST(an_incomplete_handshake_is_not_read_again_before_more_bytes_arrive)
{
    char error[192];
    begin();
    const struct http_client_options options = tls_world_client(&world, false);
    int fd = raw_connect(http.bound);
    raw_send_bytes(fd, "\x16", 1);
    for (int i = 0; i < 2 * READS_MAX; i++)
        ck_assert_msg(tls_world_call(&options, http.bound, error), "%s", error);
    ck_assert_int_ge(atomic_load(&first_fd), 0);
    ck_assert_uint_le(atomic_load(&reads), READS_MAX);
    close(fd);
    end();
}
END_TEST

static ssize_t push_one(gnutls_transport_ptr_t fd, const void *data, size_t size)
{
    return send((int)(intptr_t)fd, data, size > 0, MSG_NOSIGNAL);
}

START_TEST(a_handshake_and_a_request_byte_by_byte_are_served)
{
    static const char ask[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static const char *const versions[] = {"NORMAL:-VERS-ALL:+VERS-TLS1.2",
                                           "NORMAL:-VERS-ALL:+VERS-TLS1.3"};
    begin();
    for (int i = 0; i < 2; i++) {
        gnutls_certificate_credentials_t nothing;
        gnutls_session_t session;
        char answer[64] = "";
        int fd = raw_connect(http.bound);
        gnutls_certificate_allocate_credentials(&nothing);
        gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL);
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, nothing);
        gnutls_priority_set_direct(session, versions[i], NULL);
        gnutls_transport_set_int(session, fd);
        gnutls_transport_set_push_function(session, push_one);
        ck_assert_int_eq(gnutls_handshake(session), 0);
        ck_assert_int_eq(gnutls_record_send(session, ask, sizeof ask - 1), (int)sizeof ask - 1);
        ck_assert_int_gt(gnutls_record_recv(session, answer, sizeof answer - 1), 8);
        ck_assert_msg(strncmp(answer, "HTTP/1.1 ", 9) == 0, "%s", answer);
        gnutls_deinit(session);
        gnutls_certificate_free_credentials(nothing);
        close(fd);
    }
    end();
}
END_TEST

SUITE_MAIN("http_tls", an_incomplete_handshake_is_not_read_again_before_more_bytes_arrive,
           a_handshake_and_a_request_byte_by_byte_are_served)
