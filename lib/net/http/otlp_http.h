/*
 * Shared by the receivers of OTLP over HTTP: media types, request bodies, and responses with error
 * bodies (google.rpc.Status in the request's encoding).
 */
#ifndef LIB_NET_HTTP_OTLP_HTTP_H
#define LIB_NET_HTTP_OTLP_HTTP_H

#include "lib/base/verdict.h"
#include "lib/net/http/http_server.h"
#include "lib/wire/otlp/signal.h"

/* Whether a Content-Type header (NULL: absent) names this media type; ignores parameters and
 * case. */
bool media_type_is(const char *header, const char *type);

/* Moves the request's body, decoded by its Content-Encoding, to out, limited by the server's
 * max_body and charged to its budget. On failure returns the outcome for the client: unknown
 * encoding (CAUSE_ENCODING), bad data, too large, no memory, or the request's fault. */
struct outcome request_take_body(struct http_request *request, struct bytes *out);

/* Answers 200 with an Export*ServiceResponse; reason may be NULL if rejected is 0. */
void otlp_http_succeed(struct http_request *request, enum signal signal, bool json,
                       uint32_t rejected, const char *reason);

/* Answers with the status from lib/wire/http/status.h and a google.rpc.Status; an unknown encoding
 * is 400 here, like any unreadable body. */
void otlp_http_refuse(struct http_request *request, bool json, const struct outcome *outcome);

#endif
