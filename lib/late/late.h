/*
 * Libraries that are loaded at the first call of one of their functions, where the build says so
 * (cmake/late.cmake): GnuTLS, and libidn2 for libcurl. Bound as usual, they and the seven behind
 * them took 1.0 of 2.6 ms to readiness, 1.5 of 5.1 MiB resident and 0.26 of 0.62 MiB private dirty,
 * also where the configuration has no TLS. Callers notice nothing, but a function has no way to say
 * that its library is not there: then the process ends. So who is going to need it asks first.
 */
#ifndef LIB_LATE_LATE_H
#define LIB_LATE_LATE_H

#include <stdbool.h>
#include <stddef.h>

/* Loads GnuTLS, if it is not yet. False: error is a sentence. Any thread. */
bool late_has_tls(char *error, size_t error_size);

#endif
