/* The address of a running process that a command asks. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include <stdbool.h>
#include <stddef.h>

enum { TARGET_URL_SIZE = 640 };

struct target {
    char url[TARGET_URL_SIZE]; /* of a unix socket too: its host is then localhost */
    char unix_path[108];       /* "": connect by the URL */
};

/* Parses a URL, host:port, [ipv6]:port, :port or unix:/path; without a URL and a port,
 * default_port counts. An address that means every interface becomes loopback. path, which begins
 * with "/" or is "", is appended unless endpoint is a URL. False: error is a sentence. */
bool target_parse(const char *endpoint, const char *default_port, const char *path, bool tls,
                  struct target *target, char *error, size_t error_size);

#endif
