/* An HTTP/1.1 server for tests that answers with given texts. */
#ifndef TESTS_SUPPORT_SCRIPT_SERVER_H
#define TESTS_SUPPORT_SCRIPT_SERVER_H

#include <pthread.h>
#include <stdbool.h>

/* Answers the n-th request with the n-th text. "" closes the connection instead; NULL ends the
 * script: the last connection stays open until the test stops the server. */
struct script_server {
    const char *const *answers;
    const char *unix_path;
    bool hang_up; /* after each answer, without a Connection header */
    bool early;   /* answers after the header, without reading the body */
    char bound[256];
    char request[4096]; /* the last one, from its first byte */
    _Atomic unsigned requests;
    _Atomic unsigned connections;
    int listener;
    int stop[2];
    pthread_t thread;
};

/* answers, unix_path, hang_up and early are set; any failure fails the test. */
void script_server_start(struct script_server *script);
void script_server_stop(struct script_server *script);

/* Whether fd becomes readable within 20 s. */
bool script_server_wait(int fd);

#endif
