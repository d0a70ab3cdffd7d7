/* Collects the output of an HTTP/2 session for few writes. */
#ifndef LIB_NET_H2_H2_GATHER_H
#define LIB_NET_H2_H2_GATHER_H

#include <nghttp2/nghttp2.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Copies whole frames to out while there is room for the largest possible one. Returns the number
 * of bytes, 0 if the session has nothing to send, -1 if it failed. The session's thread. */
ssize_t h2_gather(nghttp2_session *session, uint8_t *out, size_t size);

#endif
