/* A GET over a unix socket, for tests of components whose TCP port is unknown. */
#ifndef TESTS_SUPPORT_UNIX_GET_H
#define TESTS_SUPPORT_UNIX_GET_H

#include <stddef.h>

/* Returns the status and copies the whole answer, NUL-terminated; -1: nothing listens. */
int unix_get(const char *socket_path, const char *path, char *answer, size_t size);

#endif
