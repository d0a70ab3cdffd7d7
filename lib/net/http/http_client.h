/*
 * HTTP/1.1 and HTTP/2 client with kept connections. The only user of libcurl. A client is shared by
 * the worker threads of one component; each call borrows a handle with its connection from a pool.
 */
#ifndef LIB_NET_HTTP_HTTP_CLIENT_H
#define LIB_NET_HTTP_HTTP_CLIENT_H

#include "lib/base/authenticator.h"
#include "lib/base/bytes.h"
#include "lib/base/pieces.h"
#include "lib/net/tls/tls_client.h"
#include "lib/settings/key.h"

struct http_client;

struct http_client_options {
    bool http2;            /* HTTP/2 with prior knowledge on http://, ALPN on https:// */
    uint64_t timeout_ns;   /* of one exchange; 0: none */
    const char *unix_path; /* connect there; NULL: by the URL */
    const char *authority; /* over HTTP/2, in place of the URL's; NULL or "": none. Borrowed */
    const char *proxy_url; /* through this HTTP proxy; NULL or "": none. Borrowed */
    struct tls_client_settings tls;
    const char *tls_key; /* the path of its group, for people; NULL: "tls" */
    bool looks_always; /* at TLS's files, for each call; else when the last look is a second old */
    const struct key_map *headers; /* sent with every request, and winning over a call's of the same
                                    * name; borrowed for the client's life, like the texts here */
    const struct authenticator *auth; /* gives every request a header, which wins over all others
                                       * of its name; NULL: none */
    bool tells_process;               /* requests bear LOOP_HEADER (lib/net/loop.h) */
    bool follows;     /* a POST's 307 and 308, as Go's net/http: ten requests in all, and to another
                       * host, or out of TLS, without credentials. Not over HTTP/2 */
    size_t max_reply; /* bytes of a reply's body that are kept; the rest is read past */
    struct budget *budget; /* charged with the bodies of replies; NULL: none */
};

/* One request's header beyond those of the client. */
struct http_header {
    const char *name;
    const char *value;
};

/* Why there was no answer. */
enum http_failure {
    HTTP_FAILURE_NONE,
    HTTP_FAILURE_RESOLVE,      /* the name */
    HTTP_FAILURE_CONNECT,      /* problem says why, as errno does */
    HTTP_FAILURE_CONNECT_TIME, /* nobody took the connection, nor refused it */
    HTTP_FAILURE_CERTIFICATE,  /* the peer's is not taken */
    HTTP_FAILURE_TLS,
    HTTP_FAILURE_OTHER
};

struct http_reply {
    long status; /* 0: no HTTP answer; error says why */
    struct bytes body;
    enum bytes_result cut; /* why the body is not whole; BYTES_OK: it is */
    char content_type[64];
    uint64_t retry_after_ns;   /* Retry-After in seconds or as a date; 0: none */
    int grpc_status;           /* from trailers or headers; -1: none */
    char grpc_message[256];    /* decoded */
    struct bytes grpc_details; /* grpc-status-details-bin, base64 undone */
    bool timed_out;
    bool unsendable; /* the URL or a header is such that no try could ever send it */
    enum http_failure failure;
    int problem; /* errno; 0: unknown */
    char error[192];
    char *redirect; /* of a 3xx: the URL that Location means; NULL: none, or over HTTP/2 */
    char *from;     /* of an answer that is none of 2xx: the URL that gave it, for people; NULL: no
                       memory */
};

/* NULL: error is a sentence. */
struct http_client *http_client_new(const struct http_client_options *options, char *error,
                                    size_t error_size);

/* POSTs body to url. A kept connection that has died is replaced unnoticed. Blocks up to the
 * timeout. True: an HTTP answer came. Any thread. The caller releases the reply in both cases. */
bool http_client_post(struct http_client *client, const char *url,
                      const struct http_header *headers, size_t header_count, struct view body,
                      struct http_reply *reply);
/* The same for a body in several runs, which stand until it returns. */
bool http_client_post_pieces(struct http_client *client, const char *url,
                             const struct http_header *headers, size_t header_count,
                             struct pieces body, struct http_reply *reply);
/* The same with GET; over HTTP/2 only by ALPN. */
bool http_client_get(struct http_client *client, const char *url, const struct http_header *headers,
                     size_t header_count, struct http_reply *reply);
void http_reply_release(struct http_reply *reply);

/* "HTTP 404 from http://host/path: words", or where it is a redirect that was not followed, where
 * that leads. words "": none. */
void http_reply_tell(const struct http_reply *reply, const char *words, char *out, size_t size);

/* Makes calls under way and later ones end at once. */
void http_client_abort(struct http_client *client);
void http_client_free(struct http_client *client); /* NULL is legal; no call is under way */

#endif
