#include "lib/net/http/http_socket.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

bool http_socket_unread(int fd)
{
    int unread = 0;
    return ioctl(fd, FIONREAD, &unread) == 0 && unread > 0;
}

bool http_socket_left(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLRDHUP};
    return poll(&end, 1, 0) == 1 && !http_socket_unread(fd);
}

void http_socket_say(int fd, enum http_phase phase, enum http_shut why)
{
    static const char late[] = "HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain\r\n"
                               "Content-Length: 37\r\nConnection: close\r\n\r\n"
                               "the request did not arrive in time.\r\n";
    static const char full[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n"
                               "Retry-After: 1\r\nContent-Length: 36\r\n"
                               "Connection: close\r\n\r\n"
                               "there are too many connections now\r\n";
    bool begun = phase == HTTP_HEADER || phase == HTTP_BODY;
    if (why == HTTP_SHUT_LATE && begun)
        send(fd, late, sizeof late - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (why == HTTP_SHUT_FOR_ROOM &&
             (begun || (phase != HTTP_REPLY && http_socket_unread(fd))))
        send(fd, full, sizeof full - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}
