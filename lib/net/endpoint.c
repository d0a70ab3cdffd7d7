#include "lib/net/endpoint.h"

#include "lib/base/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG  4096
#define EXPECTED "expected host:port, [ipv6]:port, :port or unix:/path"

static bool endpoint_refuse(const char *text, const char *why, char *error, size_t error_size)
{
    char shown[201];
    redact_address(text, shown, sizeof shown);
    snprintf(error, error_size, "\"%s\" %s; %s", shown, why, EXPECTED);
    return false;
}

static bool parse_unix(const char *text, const char *path, struct endpoint *endpoint, char *error,
                       size_t error_size)
{
    if (!*path)
        return endpoint_refuse(text, "has no path", error, error_size);
    if (strlen(path) >= sizeof endpoint->unix_path) {
        snprintf(error, error_size,
                 "\"%.200s\" is too long: a unix socket's path has %zu bytes at most", text,
                 sizeof endpoint->unix_path - 1);
        return false;
    }
    snprintf(endpoint->unix_path, sizeof endpoint->unix_path, "%s", path);
    return true;
}

static bool port_valid(const char *port)
{
    size_t digits = strspn(port, "0123456789");
    return digits >= 1 && digits <= 5 && !port[digits] && strtoul(port, NULL, 10) <= 65535;
}

/* Splits host and port; port NULL: why says what is missing. */
static const char *endpoint_split(const char *text, const char **host, size_t *host_size,
                                  const char **why)
{
    const char *colon = strrchr(text, ':');
    *host = text;
    if (text[0] == '[') {
        const char *end = strchr(text, ']');
        *host = text + 1;
        *why = !end ? "has no closing bracket" : "has no port after the bracket";
        if (!end || end[1] != ':')
            return NULL;
        *host_size = (size_t)(end - *host);
        return end + 2;
    }
    *why = "has no port";
    if (!colon)
        return NULL;
    *host_size = (size_t)(colon - text);
    *why = "has an IPv6 address without brackets or more than one colon";
    return memchr(text, ':', *host_size) ? NULL : colon + 1;
}

static bool host_valid(const char *host, size_t size, bool brackets)
{
    static const char letters[] =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._";
    for (size_t i = 0; i < size; i++)
        if (!strchr(letters, host[i]) && !(brackets && (host[i] == ':' || host[i] == '%')))
            return false;
    return !brackets || memchr(host, ':', size);
}

bool endpoint_parse(const char *text, bool transport_unix, struct endpoint *endpoint, char *error,
                    size_t error_size)
{
    *endpoint = (struct endpoint){0};
    if (strncmp(text, "unix:", 5) == 0) {
        const char *path = strncmp(text + 5, "//", 2) == 0 ? text + 7 : text + 5;
        if (*path && *path != '/')
            return endpoint_refuse(text, "has a path that does not begin with /", error,
                                   error_size);
        return parse_unix(text, path, endpoint, error, error_size);
    }
    if (transport_unix)
        return parse_unix(text, text, endpoint, error, error_size);
    if (!*text)
        return endpoint_refuse(text, "is empty", error, error_size);
    if (strstr(text, "://"))
        return endpoint_refuse(text, "is a URL", error, error_size);
    const char *host, *why;
    size_t host_size = 0;
    const char *port = endpoint_split(text, &host, &host_size, &why);
    if (!port)
        return endpoint_refuse(text, why, error, error_size);
    if (!port_valid(port))
        return endpoint_refuse(text, "has no port from 0 to 65535", error, error_size);
    if (host_size >= sizeof endpoint->host || !host_valid(host, host_size, text[0] == '['))
        return endpoint_refuse(text, "has an invalid host", error, error_size);
    memcpy(endpoint->host, host, host_size);
    snprintf(endpoint->service, sizeof endpoint->service, "%lu", strtoul(port, NULL, 10));
    return true;
}

static void name_of(const struct endpoint *endpoint, char *name, size_t size)
{
    if (endpoint->unix_path[0])
        snprintf(name, size, "unix:%s", endpoint->unix_path);
    else
        snprintf(name, size, strchr(endpoint->host, ':') ? "[%s]:%s" : "%s:%s", endpoint->host,
                 endpoint->service);
}

static void why_not(const struct endpoint *endpoint, int problem, char *error, size_t error_size)
{
    char name[320];
    name_of(endpoint, name, sizeof name);
    if (problem == EADDRINUSE)
        snprintf(error, error_size, "%s is in use", name);
    else if (problem == EADDRNOTAVAIL)
        snprintf(error, error_size, "%s is not an address of this machine", name);
    else
        snprintf(error, error_size, "cannot listen on %s: %s", name, strerror(problem));
}

/* -1: errno. */
static int bind_listen(const struct sockaddr *address, socklen_t size, bool beside)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int on = 1, off = 0;
    if (address->sa_family != AF_UNIX)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->sa_family != AF_UNIX && beside)
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address, size) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int problem = errno;
    close(fd);
    errno = problem;
    return -1;
}

/* Returns EADDRINUSE if a listener answers at path, ENOTSOCK if another kind of file exists there;
 * else 0, and the path is free. */
static int clear_path(const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) != 0)
        return 0;
    if (!S_ISSOCK(status.st_mode))
        return ENOTSOCK;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    int problem = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : errno;
    close(fd);
    if (problem != ECONNREFUSED)
        return EADDRINUSE;
    return unlink(address->sun_path) == 0 || errno == ENOENT ? 0 : errno;
}

static int listen_unix(const struct endpoint *endpoint)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, endpoint->unix_path, sizeof endpoint->unix_path);
    errno = clear_path(&address);
    return errno ? -1 : bind_listen((const struct sockaddr *)&address, sizeof address, false);
}

/* Chooses the address: IPv4 for a name that has both, IPv6 (dual-stack) for every interface. */
static const struct addrinfo *endpoint_choose(const struct addrinfo *all, bool every)
{
    for (const struct addrinfo *it = all; it; it = it->ai_next)
        if (it->ai_family == (every ? AF_INET6 : AF_INET))
            return it;
    return all;
}

static int listen_tcp(const struct endpoint *endpoint, char *error, size_t error_size)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    bool every = !endpoint->host[0];
    int failed = getaddrinfo(every ? NULL : endpoint->host, endpoint->service, &hints, &found);
    if (failed) {
        snprintf(error, error_size, "cannot resolve \"%s\": %s", endpoint->host,
                 failed == EAI_SYSTEM ? strerror(errno) : gai_strerror(failed));
        return -1;
    }
    const struct addrinfo *one = endpoint_choose(found, every);
    int fd = bind_listen(one->ai_addr, one->ai_addrlen, endpoint->beside);
    if (fd < 0 && every && errno != EADDRINUSE && errno != EACCES) {
        one = endpoint_choose(found, false);
        fd = bind_listen(one->ai_addr, one->ai_addrlen, endpoint->beside);
    }
    if (fd < 0)
        why_not(endpoint, errno, error, error_size);
    freeaddrinfo(found);
    return fd;
}

static void describe(const struct endpoint *endpoint, int fd, char *bound, size_t bound_size)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    struct endpoint real = *endpoint;
    if (!endpoint->unix_path[0] && getsockname(fd, (struct sockaddr *)&address, &size) == 0)
        getnameinfo((struct sockaddr *)&address, size, real.host, sizeof real.host, real.service,
                    sizeof real.service, NI_NUMERICHOST | NI_NUMERICSERV);
    name_of(&real, bound, bound_size);
}

int endpoint_listen(const struct endpoint *endpoint, char *bound, size_t bound_size, char *error,
                    size_t error_size)
{
    int fd;
    if (endpoint->unix_path[0]) {
        fd = listen_unix(endpoint);
        if (fd < 0 && errno == ENOTSOCK)
            snprintf(error, error_size, "%s exists and is not a socket", endpoint->unix_path);
        else if (fd < 0)
            why_not(endpoint, errno, error, error_size);
    } else {
        fd = listen_tcp(endpoint, error, error_size);
    }
    if (fd >= 0 && bound)
        describe(endpoint, fd, bound, bound_size);
    return fd;
}

void endpoint_unlink(const struct endpoint *endpoint)
{
    if (endpoint->unix_path[0])
        unlink(endpoint->unix_path);
}
