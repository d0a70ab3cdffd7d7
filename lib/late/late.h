/*
 * Libraries that are loaded at the first call to one of their functions, if the build says so
 * (cmake/late.cmake): GnuTLS, and libidn2 for libcurl. Linked normally, they and their seven
 * dependencies took 1.0 of 2.6 ms to readiness, 1.5 of 5.1 MiB resident and 0.26 of 0.62 MiB
 * private dirty memory, even in configurations without TLS. Callers are unaffected, except that a
 * wrapped function cannot report a missing library: the process exits. So call late_has_tls before
 * using TLS.
 */
#ifndef LIB_LATE_LATE_H
#define LIB_LATE_LATE_H

#include <stdbool.h>
#include <stddef.h>

/* Loads GnuTLS if it is not loaded yet. False: error is a sentence. Any thread. */
bool late_has_tls(char *error, size_t error_size);

#endif
