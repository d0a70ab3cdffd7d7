#include "cli/target.h"

#include "lib/net/endpoint.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PATH_MAX_SIZE = 256, ENDPOINT_MAX = 300 };

/* Turns an address to listen on into one to connect to. */
static const char *reached(const char *host)
{
    if (!*host || strcmp(host, "0.0.0.0") == 0)
        return "127.0.0.1";
    return strcmp(host, "::") == 0 ? "::1" : host;
}

static bool has_port(const char *endpoint)
{
    const char *bracket = strchr(endpoint, ']');
    return strchr(*endpoint == '[' && bracket ? bracket : endpoint, ':');
}

/* Returns the length of "http://" or "https://"; 0: not a URL. */
static size_t scheme_size(const char *endpoint)
{
    return strncasecmp(endpoint, "http://", 7) == 0    ? 7
           : strncasecmp(endpoint, "https://", 8) == 0 ? 8
                                                       : 0;
}

bool target_parse(const char *endpoint, const char *default_port, const char *path, bool tls,
                  struct target *target, char *error, size_t error_size)
{
    struct endpoint parsed;
    char whole[ENDPOINT_MAX];
    *target = (struct target){.url = ""};
    size_t scheme = scheme_size(endpoint);
    if (scheme) {
        bool good = endpoint[scheme] && !strchr("/:?#", endpoint[scheme]);
        if (!good)
            snprintf(error, error_size, "\"%.200s\" has no host", endpoint);
        snprintf(target->url, sizeof target->url, "%s", endpoint);
        return good;
    }
    snprintf(whole, sizeof whole, "%s:%s", endpoint, default_port);
    if (!endpoint_parse(*endpoint && !has_port(endpoint) ? whole : endpoint, false, &parsed, error,
                        error_size))
        return false;
    memcpy(target->unix_path, parsed.unix_path, sizeof target->unix_path);
    const char *host = *parsed.unix_path ? "localhost" : reached(parsed.host);
    bool v6 = strchr(host, ':');
    snprintf(target->url, sizeof target->url, "%s://%s%s%s%s%s%.*s", tls ? "https" : "http",
             v6 ? "[" : "", host, v6 ? "]" : "", *parsed.service ? ":" : "", parsed.service,
             PATH_MAX_SIZE, path);
    return true;
}
