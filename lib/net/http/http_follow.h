/* Redirects of a POST, as Go's net/http follows them. Pure. */
#ifndef LIB_NET_HTTP_HTTP_FOLLOW_H
#define LIB_NET_HTTP_HTTP_FOLLOW_H

#include "lib/net/http/http_handle.h"

enum { HTTP_FOLLOW_MAX = 10 }; /* requests in all */

/* Whether an answer sends the call's body elsewhere: 307 and 308 (RFC 9110 sections 15.4.8 and
 * 15.4.9). The others would make a GET of it, which loses the body. */
bool http_follow_is_due(const struct http_client_options *options, const struct http_call *call,
                        const struct http_reply *reply);

/* Whether credentials may go from a URL to another: to the same host or one below it, and not out
 * of TLS. */
bool http_follow_keeps_credentials(const char *from, const char *to);

/* Makes the reply none, with a sentence. */
void http_follow_give_up(const char *to, struct http_reply *reply);

#endif
