/*
 * HTTP/1.1 and HTTP/2 client with persistent connections. The only user of libcurl. The worker
 * threads of a component share one client; each call borrows a handle with its connection from a
 * pool.
 */
#ifndef LIB_NET_HTTP_HTTP_CLIENT_H
#define LIB_NET_HTTP_HTTP_CLIENT_H

#include "lib/base/authenticator.h"
#include "lib/base/bytes.h"
#include "lib/base/pieces.h"
#include "lib/base/verdict.h"
#include "lib/base/veto.h"
#include "lib/net/tls/tls_client.h"
#include "lib/settings/key.h"

struct http_client;

/* How a sentence begins that says so of a port, before what to do. */
#define HTTP_NO_TLS "the port does not speak TLS"

struct http_client_options {
    bool http2;            /* HTTP/2 with prior knowledge on http://, ALPN on https:// */
    uint64_t timeout_ns;   /* of one request; 0: none */
    const char *unix_path; /* connect there; NULL: by the URL */
    const char *authority; /* replaces the URL's over HTTP/2; NULL or "": the URL's. Borrowed */
    const char *proxy_url; /* an HTTP proxy; NULL or "": none. Borrowed */
    struct tls_client_settings tls;
    const char *id;      /* the component's, for the log and metrics of TLS files; NULL: none */
    const char *tls_key; /* path of the tls group, for messages; NULL: "tls" */
    bool looks_always;   /* check TLS files on every call; else at most once a second */
    const struct key_map *headers; /* sent with every request, override a call's headers of the same
                                      name; borrowed for the client's life, like the texts here */
    const struct authenticator *auth; /* adds a header to every request, which overrides others of
                                         the same name; NULL: none */
    bool sends_process;               /* send LOOP_HEADER (lib/net/loop.h) */
    bool follows; /* follow 307 and 308 for a POST as Go's net/http does: ten requests in total; no
                     credentials to another host or from TLS to cleartext. Not over HTTP/2 */
    size_t max_reply;      /* bytes kept of a reply's body; the rest is discarded */
    struct budget *budget; /* charged for bodies of replies; NULL: none */
};

/* One header of a request. */
struct http_header {
    const char *name;
    const char *value;
};

/* Why there was no response. */
enum http_failure {
    HTTP_FAILURE_NONE,
    HTTP_FAILURE_RESOLVE,      /* the name could not be resolved */
    HTTP_FAILURE_CONNECT,      /* `problem` is the errno */
    HTTP_FAILURE_CONNECT_TIME, /* the connection was neither accepted nor refused in time */
    HTTP_FAILURE_CERTIFICATE,  /* the peer's is not trusted */
    HTTP_FAILURE_TLS,
    HTTP_FAILURE_PROTOCOL, /* the peer's response is not HTTP */
    HTTP_FAILURE_OTHER
};

struct http_reply {
    long status; /* 0: no HTTP response; error is the reason */
    struct bytes body;
    enum bytes_result cut; /* why the body is truncated; BYTES_OK: it is complete */
    char content_type[64];
    uint64_t retry_after_ns;   /* Retry-After in seconds or as a date; 0: none */
    int grpc_status;           /* from trailers or headers; -1: none */
    char grpc_message[256];    /* decoded */
    struct bytes grpc_details; /* grpc-status-details-bin, base64-decoded */
    bool timed_out;
    bool unsendable; /* the URL or a header is invalid: retrying is useless */
    bool withheld;   /* the call was vetoed */
    enum http_failure failure;
    int problem; /* errno; 0: unknown */
    char error[192];
    char *redirect; /* for 3xx: the absolute URL of Location; NULL: none, or over HTTP/2 */
    char *from;     /* for a status other than 2xx, or a gRPC error: the responding URL, redacted;
                     * NULL: no memory */
};

/* NULL: error is a sentence. */
struct http_client *http_client_new(const struct http_client_options *options, char *error,
                                    size_t error_size);

/* POSTs body to url. A persistent connection that has died is replaced transparently. Blocks up to
 * the timeout. True: an HTTP response was received. Any thread. The caller releases the reply in
 * both cases. */
bool http_client_post(struct http_client *client, const char *url,
                      const struct http_header *headers, size_t header_count, struct view body,
                      struct http_reply *reply);
/* As http_client_post, for a body in several runs, which must exist until it returns. The veto is
 * asked for each time that a connection is ready, right before the request is written to it. If it
 * is given, nothing is written, and reply->withheld is set. */
bool http_client_post_pieces(struct http_client *client, const char *url,
                             const struct http_header *headers, size_t header_count,
                             struct pieces body, struct veto veto, struct http_reply *reply);
/* Sends a GET; over HTTP/2 only with ALPN. */
bool http_client_get(struct http_client *client, const char *url, const struct http_header *headers,
                     size_t header_count, struct http_reply *reply);
void http_reply_release(struct http_reply *reply);

/* The outcome of a POST without a response (status 0), with reply->error: REJECT if it cannot be
 * sent, else RETRY; CAUSE_REVOKED if it was withheld. */
struct outcome http_reply_failure(const struct http_reply *reply);

/* Formats "HTTP 404 from http://host/path: words", with the target if it is a redirect that was not
 * followed. words may be "". */
void http_reply_tell(const struct http_reply *reply, const char *words, char *out, size_t size);

/* Whether a POST was answered with success and an HTML page, so that it reached a web server
 * instead of a receiver; outcome is then RETRY and says so. */
bool http_reply_is_page(const struct http_reply *reply, struct outcome *outcome);

/* Makes current and later calls end immediately. */
void http_client_abort(struct http_client *client);
void http_client_free(struct http_client *client); /* may be NULL; no call may be in progress */

#endif
