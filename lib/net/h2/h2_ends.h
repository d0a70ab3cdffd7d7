/*
 * The ends of HTTP/2 streams: nothing follows on a stream once its sender has ended or reset it
 * (RFC 9113, 5.1). A session that forgets its streams as they close reads past what does; so the
 * frames of the peer are looked at on their way to it.
 */
#ifndef LIB_NET_H2_H2_ENDS_H
#define LIB_NET_H2_H2_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { H2_ENDS = 16, H2_FRAME_HEAD = 9 };

/* Zeroed at the connection's begin. */
struct h2_ends {
    int32_t streams[H2_ENDS]; /* a ring of those that ended last */
    unsigned next;
    int32_t newest; /* the largest of them so far */
    uint8_t head[H2_FRAME_HEAD];
    unsigned got;   /* bytes of the frame's head */
    uint32_t left;  /* bytes of its content */
    size_t preface; /* bytes of the preface that have come */
};

/* A stream that its sender had ended is closed. */
void h2_ends_note(struct h2_ends *ends, int32_t stream);

/* Bytes from the client, in order, from the preface on. False: HEADERS or DATA are among them on a
 * stream that their sender had ended or reset before. */
bool h2_ends_look(struct h2_ends *ends, const uint8_t *data, size_t size);

#endif
