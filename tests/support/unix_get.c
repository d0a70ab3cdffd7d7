#include "tests/support/unix_get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int unix_get(const char *socket_path, const char *path, char *answer, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
    *answer = '\0';
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    dprintf(fd, "GET %s HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n", path);
    size_t got = 0;
    ssize_t n;
    while (got + 1 < size && (n = read(fd, answer + got, size - 1 - got)) > 0)
        got += (size_t)n;
    answer[got] = '\0';
    close(fd);
    return got > 12 ? atoi(answer + 9) : 0;
}
