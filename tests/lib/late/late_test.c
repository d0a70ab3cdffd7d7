#include "lib/late/late.h"

#include "tests/support/suite.h"

#include <gnutls/crypto.h>
#include <pthread.h>
#include <string.h>

enum { THREADS = 8 };

static pthread_barrier_t all_here;

static void *first_call(void *ctx)
{
    pthread_barrier_wait(&all_here);
    ck_assert_int_eq(gnutls_hash_fast(GNUTLS_DIG_SHA1, "abc", 3, ctx), 0);
    return NULL;
}

/* Every test is a process: nothing has called the library in this one yet. */
START_TEST(the_first_call_may_come_from_many_threads)
{
    static const uint8_t expected[] = {0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e,
                                       0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d};
    uint8_t digests[THREADS][sizeof expected] = {0};
    pthread_t threads[THREADS];
    pthread_barrier_init(&all_here, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, first_call, digests[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_mem_eq(digests[i], expected, sizeof expected);
    }
    pthread_barrier_destroy(&all_here);
}
END_TEST

START_TEST(the_first_call_gets_all_its_arguments)
{
    gnutls_certificate_credentials_t credentials;
    const gnutls_datum_t none = {(unsigned char[]){"no PEM"}, 6};
    ck_assert_int_eq(gnutls_certificate_allocate_credentials(&credentials), 0);
    ck_assert_int_lt(gnutls_certificate_set_x509_key_mem2(credentials, &none, &none,
                                                          GNUTLS_X509_FMT_PEM, "secret", 0),
                     0);
    gnutls_certificate_free_credentials(credentials);
}
END_TEST

START_TEST(who_asks_is_told_that_it_is_there)
{
    char error[256] = "";
    ck_assert(late_has_tls(error, sizeof error));
    ck_assert(late_has_tls(error, sizeof error));
    ck_assert_str_eq(error, "");
    ck_assert_str_eq(gnutls_strerror_name(GNUTLS_E_AGAIN), "GNUTLS_E_AGAIN");
}
END_TEST

SUITE_MAIN("late", the_first_call_may_come_from_many_threads, the_first_call_gets_all_its_arguments,
           who_asks_is_told_that_it_is_there)
