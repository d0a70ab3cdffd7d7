/*
 * GnuTLS starts when TLS, or a digest of it, is first used. Left alone it starts as it is loaded,
 * with the definitions of ASN.1: 0.13 MiB private, 1 MiB resident and 0.4 of 3.0 ms to readiness,
 * also where the configuration has no TLS.
 */
#ifndef NET_TLS_BEGIN_H
#define NET_TLS_BEGIN_H

/* Ahead of any other function of GnuTLS, and of https through libcurl. Any thread, any number of
 * times. Where GnuTLS cannot start, those functions fail. */
void tls_begin(void);

#endif
