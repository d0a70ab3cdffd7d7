#include "tests/support/script_server.h"

#include "lib/net/endpoint.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

bool script_server_wait(int fd)
{
    struct timeval patience = {.tv_sec = 20};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    return select(fd + 1, &set, NULL, NULL, &patience) == 1;
}

static size_t body_size(const char *head)
{
    const char *field = strcasestr(head, "content-length:");
    return field ? strtoul(field + 15, NULL, 10) : 0;
}

/* Reads one request into script->request as far as it fits; false: the client has closed. */
static bool read_request(struct script_server *script, int fd)
{
    char rest[65536];
    size_t size = 0, left;
    char *end = NULL;
    memset(script->request, 0, sizeof script->request);
    while (!end) {
        ssize_t n = recv(fd, script->request + size, sizeof script->request - 1 - size, 0);
        if (n <= 0)
            return false;
        size += (size_t)n;
        end = strstr(script->request, "\r\n\r\n");
    }
    size_t have = size - (size_t)(end + 4 - script->request);
    left = body_size(script->request) - have;
    while (left && !script->early) {
        ssize_t n = recv(fd, rest, left < sizeof rest ? left : sizeof rest, 0);
        if (n <= 0)
            return false;
        if (size < sizeof script->request - 1) {
            size_t room = sizeof script->request - 1 - size;
            memcpy(script->request + size, rest, (size_t)n < room ? (size_t)n : room);
            size += (size_t)n < room ? (size_t)n : room;
        }
        left -= (size_t)n;
    }
    return true;
}

static void *run_script(void *arg)
{
    struct script_server *script = arg;
    const char *const *next = script->answers;
    char byte;
    while (*next && script_server_wait(script->listener)) {
        int fd = accept4(script->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            break;
        script->connections++;
        bool open = true;
        while (open && *next && (open = read_request(script, fd))) {
            script->requests++;
            send(fd, *next, strlen(*next), MSG_NOSIGNAL);
            open = **next && !script->hang_up;
            next++;
        }
        if (open)
            (void)!read(script->stop[0], &byte, 1);
        close(fd);
    }
    return NULL;
}

void script_server_start(struct script_server *script)
{
    struct endpoint endpoint = {.host = "127.0.0.1", .service = "0"};
    char error[256];
    if (script->unix_path) {
        endpoint = (struct endpoint){0};
        snprintf(endpoint.unix_path, sizeof endpoint.unix_path, "%s", script->unix_path);
    }
    script->listener =
        endpoint_listen(&endpoint, script->bound, sizeof script->bound, error, sizeof error);
    ck_assert_msg(script->listener >= 0, "%s", error);
    ck_assert_int_eq(pipe(script->stop), 0);
    ck_assert_int_eq(pthread_create(&script->thread, NULL, run_script, script), 0);
}

void script_server_stop(struct script_server *script)
{
    ck_assert_int_eq(write(script->stop[1], "x", 1), 1);
    shutdown(script->listener, SHUT_RDWR);
    pthread_join(script->thread, NULL);
    close(script->listener);
    close(script->stop[0]);
    close(script->stop[1]);
}
