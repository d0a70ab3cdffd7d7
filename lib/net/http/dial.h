/*
 * Explains, in a sentence, what the response to one empty request reveals about a backend and its
 * configuration. If the response does not fit the protocol, the port is probed with empty requests
 * of the other protocols, without headers or credentials. Blocking.
 */
#ifndef LIB_NET_HTTP_DIAL_H
#define LIB_NET_HTTP_DIAL_H

#include "lib/net/http/client_keys.h"

enum dial_speech { DIAL_OTLP_HTTP, DIAL_OTLP_GRPC, DIAL_PYROSCOPE };

struct dial {
    enum dial_speech speech;
    const char *url;       /* that the request was posted to */
    const char *unix_path; /* NULL: by the URL */
    const char *what;      /* what was sent empty: "traces" */
    const struct client_settings *client;
};

/* True: the backend would accept data, and text is "". False: text describes the problem. posted
 * false: the post was not made, for lack of memory; else the reply is released. */
bool dial_conclude(const struct dial *dial, bool posted, struct http_reply *reply, char *text,
                   size_t size);

/* The URL or socket of a dial, without secrets or the gRPC method. */
void dial_where(const struct dial *dial, char *out, size_t size);

#endif
