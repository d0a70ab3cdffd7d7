/*
 * Detects frames on HTTP/2 streams that their sender has already ended or reset (RFC 9113, 5.1). A
 * session that forgets streams as they close ignores such frames, so the peer's frames are checked
 * on their way to it.
 */
#ifndef LIB_NET_H2_H2_ENDS_H
#define LIB_NET_H2_H2_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { H2_ENDS = 16, H2_FRAME_HEAD = 9 };

/* Zeroed when the connection begins. */
struct h2_ends {
    int32_t streams[H2_ENDS]; /* ring buffer of the streams that ended last */
    unsigned next;
    int32_t newest; /* the largest stream id so far that ended */
    uint8_t head[H2_FRAME_HEAD];
    unsigned got;   /* bytes received of the frame header */
    uint32_t left;  /* bytes left of its payload */
    size_t preface; /* bytes received of the preface */
};

/* Records that a stream is closed which its sender had ended. */
void h2_ends_note(struct h2_ends *ends, int32_t stream);

/* Checks the client's bytes, in order, starting with the preface. False: they contain HEADERS or
 * DATA on a stream that the client had ended or reset. */
bool h2_ends_check(struct h2_ends *ends, const uint8_t *data, size_t size);

#endif
