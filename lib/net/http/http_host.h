/* Whether a request was meant for this server: a page of another site whose name was made to
 * resolve to our address (DNS rebinding) sends its own name as Host. */
#ifndef LIB_NET_HTTP_HOST_H
#define LIB_NET_HTTP_HOST_H

#include <stdbool.h>

/* authority: of the Host header; NULL: none. True: an IP address, localhost or `configured` ("":
 * none), with or without a port. Any port is good: that of a forwarded one (ssh -L, kubectl
 * port-forward) is not ours. */
bool http_host_is_own(const char *authority, const char *configured);

#endif
