/* What an HTTP/2 session wants to send, put together for few writes. */
#ifndef LIB_NET_H2_H2_GATHER_H
#define LIB_NET_H2_H2_GATHER_H

#include <nghttp2/nghttp2.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Copies whole frames to out while there is room for the largest one; returns the bytes, 0 where
 * the session has nothing to send, -1 where it failed. The session's thread. */
ssize_t h2_gather(nghttp2_session *session, uint8_t *out, size_t size);

#endif
