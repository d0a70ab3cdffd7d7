#include "cli/service_manager.h"

#include "lib/base/clock.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void send_state(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = path ? strlen(path) : 0;
    if (size == 0 || size >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, size);
    if (*path == '@') /* an abstract socket */
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    ssize_t sent =
        sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address, length);
    (void)sent; /* spanlink runs on without systemd's knowledge */
    close(fd);
}

void service_manager_ready(void)
{
    send_state("READY=1");
}

void service_manager_reloading(void)
{
    char state[64];
    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
             clock_mono(&clock_system) / 1000);
    send_state(state);
}

void service_manager_stopping(void)
{
    send_state("STOPPING=1");
}
