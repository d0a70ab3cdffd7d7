/*
 * What every receiver of OTLP over HTTP does with a request and its answer: media types, bodies,
 * and bodies of errors (google.rpc.Status in the request's encoding).
 */
#ifndef LIB_NET_HTTP_OTLP_HTTP_H
#define LIB_NET_HTTP_OTLP_HTTP_H

#include "lib/base/verdict.h"
#include "lib/net/http/http_server.h"
#include "lib/wire/otlp/signal.h"

/* Whether a Content-Type header (NULL: absent) names a media type; parameters and case aside. */
bool media_type_is(const char *header, const char *type);

/* Moves the request's body out with its Content-Encoding undone, into bytes made with the server's
 * max_body and budget. Else the outcome for the client: an unknown encoding (CAUSE_ENCODING),
 * bad data, too large, no memory; a fault of the request's arrival is found here too. */
struct outcome request_take_body(struct http_request *request, struct bytes *out);

/* Answers 200 with Export*ServiceResponse; reason may be NULL when rejected is 0. */
void otlp_http_succeed(struct http_request *request, enum signal signal, bool json,
                       uint32_t rejected, const char *reason);

/* Answers by the table of lib/wire/http/status.h with google.rpc.Status; an unknown encoding is 400
 * here, like any body that cannot be read. */
void otlp_http_refuse(struct http_request *request, bool json, const struct outcome *outcome);

#endif
