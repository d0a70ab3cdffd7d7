#include "lib/net/http/dial_look.h"

#include "lib/base/view.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>

enum { LOOK_MS = 1000, LOOK_BYTES = 256, SHORTEST_RUN = 4 };

static CURL *connect_to(const char *url, const char *unix_path)
{
    CURL *easy = curl_easy_init();
    if (!easy)
        return NULL;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)LOOK_MS);
    if (unix_path)
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, unix_path);
    if (curl_easy_perform(easy) == CURLE_OK)
        return easy;
    curl_easy_cleanup(easy);
    return NULL;
}

/* The first bytes that arrive in time; empty: none did. */
static struct view await(CURL *easy, uint8_t *bytes)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    size_t got = 0;
    curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &fd);
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    if (fd != CURL_SOCKET_BAD && poll(&readable, 1, LOOK_MS) == 1 &&
        curl_easy_recv(easy, bytes, LOOK_BYTES, &got) == CURLE_OK)
        return (struct view){bytes, got};
    return (struct view){bytes, 0};
}

/* The start of a response, a TLS alert or an HTTP/2 frame that a server may send first: SETTINGS or
 * GOAWAY, on stream 0 (RFC 9113, 4.1). */
static bool is_known(struct view bytes)
{
    const uint8_t *data = bytes.data;
    bool http2 = bytes.size >= 9 && data[0] == 0 && (data[3] == 4 || data[3] == 7) &&
                 (data[5] | data[6] | data[7] | data[8]) == 0;
    bool tls = bytes.size >= 3 && (data[0] == 0x15 || data[0] == 0x16) && data[1] == 3;
    return http2 || tls || (bytes.size >= 5 && memcmp(data, "HTTP/", 5) == 0);
}

static size_t printable(struct view bytes)
{
    size_t n = 0;
    while (n < bytes.size && bytes.data[n] >= 0x20 && bytes.data[n] < 0x7f)
        n++;
    return n;
}

static void first_run(struct view bytes, char *text, size_t size)
{
    *text = '\0';
    while (bytes.size) {
        size_t n = printable(bytes);
        if (n >= SHORTEST_RUN) {
            snprintf(text, size, "%.*s", (int)n, (const char *)bytes.data);
            return;
        }
        bytes = (struct view){bytes.data + n, bytes.size - n};
        if (bytes.size)
            bytes = (struct view){bytes.data + 1, bytes.size - 1};
    }
}

enum dial_look dial_look(const char *url, const char *unix_path, char *text, size_t size)
{
    static const char request[] =
        "OPTIONS / HTTP/1.1\r\nHost: spanlink\r\nConnection: close\r\n\r\n";
    uint8_t bytes[LOOK_BYTES];
    size_t sent;
    CURL *easy = connect_to(url, unix_path);
    *text = '\0';
    if (!easy)
        return DIAL_LOOK_NOTHING;
    enum dial_look look = DIAL_LOOK_GREETED;
    struct view came = await(easy, bytes);
    if (!came.size && curl_easy_send(easy, request, sizeof request - 1, &sent) == CURLE_OK) {
        look = DIAL_LOOK_ANSWERED;
        came = await(easy, bytes);
    }
    curl_easy_cleanup(easy);
    if (!came.size || is_known(came))
        return DIAL_LOOK_NOTHING;
    first_run(came, text, size);
    return look;
}
