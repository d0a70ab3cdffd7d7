/* A GET over a unix socket, for tests of components whose TCP port is not told. */
#ifndef TESTS_SUPPORT_UNIX_GET_H
#define TESTS_SUPPORT_UNIX_GET_H

#include <stddef.h>

/* Returns the status and copies the whole answer, NUL-ended; -1: nobody listens. */
int unix_get(const char *socket_path, const char *path, char *answer, size_t size);

#endif
