/* Redirects of a POST, followed as Go's net/http does. Pure. */
#ifndef LIB_NET_HTTP_HTTP_FOLLOW_H
#define LIB_NET_HTTP_HTTP_FOLLOW_H

#include "lib/net/http/http_handle.h"

enum { HTTP_FOLLOW_MAX = 10 }; /* requests in total */

/* Whether a reply redirects the call with its body: 307 and 308 (RFC 9110 sections 15.4.8 and
 * 15.4.9). Other redirects would turn it into a GET and lose the body. */
bool http_follow_is_due(const struct http_client_options *options, const struct http_call *call,
                        const struct http_reply *reply);

/* Whether credentials may be sent to a redirect target: the same host or a subdomain, and not from
 * TLS to cleartext. */
bool http_follow_keeps_credentials(const char *from, const char *to);

/* Turns the reply into a failure with an error sentence. */
void http_follow_give_up(const char *to, struct http_reply *reply);

#endif
