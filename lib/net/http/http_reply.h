/* Inside of the HTTP client: a reply as its lines and bytes come in. */
#ifndef LIB_NET_HTTP_HTTP_REPLY_H
#define LIB_NET_HTTP_HTTP_REPLY_H

#include "lib/net/http/http_client.h"

/* An empty reply that keeps up to max_body bytes of a body. */
void http_reply_init(struct http_reply *reply, size_t max_body);

/* One line of a header or trailer with its line end. A status line makes the reply new, so that
 * the header of an informational answer leaves nothing behind. now: seconds since 1970. */
void http_reply_line(struct http_reply *reply, struct view line, uint64_t now);

/* One field, as HTTP/2 delivers them; ":status" begins a header as a status line does. */
void http_reply_field(struct http_reply *reply, struct view name, struct view value, uint64_t now);

/* Keeps what there is room for. */
void http_reply_data(struct http_reply *reply, struct view data);

#endif
