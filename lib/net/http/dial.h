/*
 * What the answer to one empty request says about a backend and the configuration that names it, in
 * a sentence. Where the answer is none of the protocol's, the port is asked what it speaks: with
 * empty requests of the others, without headers and credentials. Blocking.
 */
#ifndef LIB_NET_HTTP_DIAL_H
#define LIB_NET_HTTP_DIAL_H

#include "lib/net/http/client_keys.h"

enum dial_speech { DIAL_OTLP_HTTP, DIAL_OTLP_GRPC, DIAL_PYROSCOPE };

struct dial {
    enum dial_speech speech;
    const char *url;       /* that was posted to */
    const char *unix_path; /* NULL: by the URL */
    const char *what;      /* was empty: "traces" */
    const struct client_settings *client;
};

/* True: it would take data, and text is empty. False: text is what is wrong. */
bool dial_explain(const struct dial *dial, const struct http_reply *reply, char *text, size_t size);

/* The same for a post that may not have been made (false: no memory), and whose reply, where it
 * was, is released. */
bool dial_conclude(const struct dial *dial, bool posted, struct http_reply *reply, char *text,
                   size_t size);

/* The URL or socket of a dial, without secrets and without a gRPC method. */
void dial_where(const struct dial *dial, char *out, size_t size);

#endif
