/* Internal to the HTTP client: builds a reply from its lines and bytes as they arrive. */
#ifndef LIB_NET_HTTP_HTTP_REPLY_H
#define LIB_NET_HTTP_HTTP_REPLY_H

#include "lib/net/http/http_client.h"

/* Initialises a reply that keeps up to max_body bytes of the body. */
void http_reply_init(struct http_reply *reply, size_t max_body);

/* Processes one line of a header or trailer, with its line end. A status line resets the reply, so
 * that nothing is left of an informational response's header. now: seconds since 1970. */
void http_reply_line(struct http_reply *reply, struct view line, uint64_t now);

/* Processes one field, as delivered by HTTP/2; ":status" begins a header like a status line. */
void http_reply_field(struct http_reply *reply, struct view name, struct view value, uint64_t now);

/* Appends body bytes, as far as there is room. */
void http_reply_data(struct http_reply *reply, struct view data);

#endif
