/* Internal to the HTTP client: keeps the secrets of a request out of what is shown of its reply. */
#ifndef LIB_NET_HTTP_HTTP_SECRETS_H
#define LIB_NET_HTTP_HTTP_SECRETS_H

#include "lib/net/http/http_handle.h"

/* Overwrites, in all texts of the reply, what the server repeats of the request's secrets: the
 * values of configured headers, of credentials (the header that an authenticator gave; size 0:
 * none) and of the call's headers whose names suggest a secret, and the URL's password. Sizes stay
 * the same, so an encoded message stays valid. Not in the body of a successful GET, which is data.
 */
void http_secrets_hide(const struct http_client_options *options, const struct http_call *call,
                       struct view credentials, struct http_reply *reply);

#endif
