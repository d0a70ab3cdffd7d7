/* A raw HTTP/2 client for tests: it sends any frames, valid or not. */
#ifndef TESTS_SUPPORT_H2_PEER_H
#define TESTS_SUPPORT_H2_PEER_H

#include "lib/base/view.h"

#include <nghttp2/nghttp2.h>

struct h2_peer {
    int fd;
    nghttp2_hd_inflater *inflater;
};

struct h2_frame {
    uint8_t type;
    uint8_t flags;
    int32_t stream;
    uint8_t payload[65536];
    size_t size;
};

struct h2_answer {
    int http_status;
    int grpc_status; /* -1: none */
    char message[512];
    char accept_encoding[64];
    char details[512];
    uint8_t data[4096];
    size_t size;
    bool reset; /* RST_STREAM instead of END_STREAM */
};

/* A TCP connection to "127.0.0.1:port"; -1: refused. Reads time out after 20 s. */
int h2_connect(const char *address);

/* Connects and sends the preface and empty settings; any failure fails the test. */
void h2_peer_open(struct h2_peer *peer, const char *address);
void h2_peer_close(struct h2_peer *peer);

/* While corked, sent bytes leave in one segment. */
void h2_peer_cork(struct h2_peer *peer, bool on);
void h2_peer_send(struct h2_peer *peer, const void *data, size_t size);
void h2_peer_frame(struct h2_peer *peer, uint8_t type, uint8_t flags, int32_t stream,
                   struct view payload);

/* Sends HEADERS of a gRPC call to path; name and value are an additional field (NULL: none). */
void h2_peer_call(struct h2_peer *peer, int32_t stream, const char *path, const char *name,
                  const char *value);
/* Writes a literal header field to out; returns its size. Name below 127 bytes. */
size_t h2_field(uint8_t *out, const char *name, const char *value);
/* Sends one DATA frame with a gRPC message, and END_STREAM. */
void h2_peer_message(struct h2_peer *peer, int32_t stream, bool compressed, struct view message);

/* Reads the next frame of any type; false: the connection ended. */
bool h2_peer_next(struct h2_peer *peer, struct h2_frame *frame);
/* Reads up to the next frame of that type; fails the test if the connection ends first. */
void h2_peer_expect(struct h2_peer *peer, uint8_t type, struct h2_frame *frame);
/* Reads until the stream ends. */
void h2_peer_answer(struct h2_peer *peer, int32_t stream, struct h2_answer *answer);
/* Sends a PING and reads up to its answer, so that the server has read everything before it. */
void h2_peer_settle(struct h2_peer *peer);
/* Reads until the connection ends; returns the error code of the last GOAWAY, -1: none. */
int h2_peer_last_words(struct h2_peer *peer);

#endif
