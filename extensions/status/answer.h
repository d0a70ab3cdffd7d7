/* One request to the API: its parameters, and how it is answered. Any thread. */
#ifndef EXTENSIONS_STATUS_ANSWER_H
#define EXTENSIONS_STATUS_ANSWER_H

#include "extensions/status/json.h"
#include "lib/net/http/http_server.h"

enum { PARAMETER_SIZE = 1024, ANSWER_ERROR = 256 };

/* One parameter of a query; "" where it is not given. */
struct parameter {
    const char *name;
    char *value;
    size_t size;
};

/* Reads a query. False: one that is not in the list, given twice, or too long; error (ANSWER_ERROR
 * bytes) says so in a sentence. The list ends with one without a name. */
bool answer_parameters(const char *query, const struct parameter *list, char *error);

/* A duration such as 10ms, 1.5s or 2m as ns; false: it is none. */
bool answer_duration(const char *text, uint64_t *ns);

/* A time: unix nanoseconds, or from now on like -5m. False: it is none. */
bool answer_time(const char *text, uint64_t now, uint64_t *ns);

/* Hex digits of either case as so many bytes. False: anything else. */
bool answer_hex(const char *text, uint8_t *out, size_t size);

/* Whether the request may be answered: the Host is an address, localhost or the configured host,
 * and the Origin, where one is given, is the request's own. Else a page of another site could read
 * what is told here, by a name that it lets point at this machine (DNS rebinding). False: it was
 * answered 403. host: of the configured endpoint. */
bool answer_may(struct http_request *request, const char *host, bool tls);

/* Headers that every answer has. */
void answer_headers(struct http_request *request, bool api);

void answer_error(struct http_request *request, unsigned status, const char *sentence);

/* Ends a request with JSON; out is released. Where it is not whole, with 503. */
void answer_json(struct http_request *request, const struct json *json);

#endif
