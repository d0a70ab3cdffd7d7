/* Reads an API request's parameters and writes its response. Any thread. */
#ifndef EXTENSIONS_STATUS_ANSWER_H
#define EXTENSIONS_STATUS_ANSWER_H

#include "extensions/status/json.h"
#include "lib/net/http/http_server.h"

enum { PARAMETER_SIZE = 1024, ANSWER_ERROR = 256 };

/* A query parameter. value is "" if the request does not have it. */
struct parameter {
    const char *name;
    char *value;
    size_t size;
};

/* Parses a query into the values of list, which ends with an entry whose name is NULL. Returns
 * false and writes a sentence to error (ANSWER_ERROR bytes) if a parameter is not in the list, is
 * given twice, or is too long. */
bool answer_parameters(const char *query, const struct parameter *list, char *error);

/* Parses a duration such as 10ms, 1.5s or 2m; without a unit it is ns. False: not a duration. */
bool answer_duration(const char *text, uint64_t *ns);

/* Parses a time: unix nanoseconds, "now", or a duration before now such as -5m. False: not a time.
 */
bool answer_time(const char *text, uint64_t now, uint64_t *ns);

/* Decodes exactly 2 * size hex digits of either case. False: anything else. */
bool answer_hex(const char *text, uint8_t *out, size_t size);

/* Checks the Host and Origin headers, so that a page of another site whose name resolves to this
 * machine cannot read the API (DNS rebinding): Host must be an IP address, localhost or `host`, the
 * host of the configured endpoint; Origin, if present, must be the request's own, and so must the
 * origin that Sec-Fetch-Site describes, except for a link that is followed. Otherwise responds 403
 * and returns false. */
bool answer_may(struct http_request *request, const char *host, bool tls);

/* Adds the headers that every response has; api: also Cache-Control: no-store. */
void answer_headers(struct http_request *request, bool api);

void answer_error(struct http_request *request, unsigned status, const char *sentence);

/* Responds with the JSON and releases its buffer; with 503 if the JSON is incomplete. */
void answer_json(struct http_request *request, const struct json *json);

#endif
