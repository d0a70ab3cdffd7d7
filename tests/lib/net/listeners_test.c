#include "lib/net/listeners.h"

#include "tests/support/suite.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char error[256], bound[300];

static int open_on(const char *text, const _Atomic bool *yields)
{
    struct endpoint endpoint;
    ck_assert(endpoint_parse(text, false, &endpoint, error, sizeof error));
    return listeners_open(&endpoint, yields, bound, sizeof bound, error, sizeof error);
}

static bool connects(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected = connect(fd, (const struct sockaddr *)&to, sizeof to) == 0;
    close(fd);
    return connected;
}

START_TEST(what_does_not_yield_is_in_use)
{
    _Atomic bool yields = false;
    int first = open_on("127.0.0.1:0", &yields);
    char address[300];
    strcpy(address, bound);
    ck_assert_int_ge(first, 0);
    ck_assert_int_lt(open_on(address, &yields), 0);
    ck_assert_ptr_nonnull(strstr(error, "in use"));
    ck_assert(!listeners_share(first));
    listeners_close(first);
    ck_assert(!connects(address));
}
END_TEST

START_TEST(what_yields_is_the_same_socket_and_clients_that_wait_are_kept)
{
    _Atomic bool yields = false;
    char address[300];
    int first = open_on("127.0.0.1:0", &yields);
    strcpy(address, bound);
    ck_assert(connects(address));
    yields = true;
    int second = open_on(address, NULL);
    ck_assert_int_ge(second, 0);
    ck_assert(listeners_share(first));
    ck_assert(listeners_share(second));
    listeners_close(first);
    ck_assert(!listeners_share(second));
    int client = accept(second, NULL, NULL);
    ck_assert_int_ge(client, 0);
    close(client);
    listeners_close(second);
}
END_TEST

START_TEST(a_wider_address_opens_beside_one_that_yields)
{
    _Atomic bool yields = false;
    char every[64];
    int first = open_on("127.0.0.1:0", &yields);
    snprintf(every, sizeof every, "0.0.0.0%s", strrchr(bound, ':'));
    ck_assert_int_lt(open_on(every, NULL), 0);
    yields = true;
    int second = open_on(every, NULL);
    ck_assert_int_ge(second, 0);
    ck_assert(!listeners_share(first));
    listeners_close(first);
    ck_assert(connects(every));
    ck_assert_int_lt(open_on(every, NULL), 0);
    listeners_close(second);
}
END_TEST

START_TEST(a_unix_socket_goes_with_the_last_one)
{
    _Atomic bool yields = true;
    char folder[] = "/tmp/spanlink-listen-XXXXXX", text[80];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(text, sizeof text, "unix:%s/door", folder);
    int first = open_on(text, &yields), second = open_on(text, &yields);
    ck_assert_int_ge(second, 0);
    listeners_close(first);
    ck_assert_int_eq(access(text + 5, F_OK), 0);
    listeners_close(second);
    ck_assert_int_ne(access(text + 5, F_OK), 0);
    rmdir(folder);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_does_not_yield_is_in_use,
        what_yields_is_the_same_socket_and_clients_that_wait_are_kept,
        a_wider_address_opens_beside_one_that_yields,
        a_unix_socket_goes_with_the_last_one,
        NULL,
    };
    return suite_run("listeners", tests);
}
