/* Reads an API request's parameters and writes its response. Any thread. */
#ifndef EXTENSIONS_STATUS_ANSWER_H
#define EXTENSIONS_STATUS_ANSWER_H

#include "extensions/status/json.h"
#include "lib/net/http/http_server.h"

enum { PARAMETER_SIZE = 1024, ANSWER_ERROR = 256 };

/* A query parameter. value is "" if the request does not have it, or gives it no value. NULL: it is
 * read elsewhere. */
struct parameter {
    const char *name;
    char *value;
    size_t size;
};

/* Parses a query into the values of list, which ends with an entry whose name is NULL. Returns
 * false and writes a sentence to error (ANSWER_ERROR bytes) if a parameter is not in the list, is
 * given twice, or is too long. */
bool answer_parameters(const char *query, const struct parameter *list, char *error);

/* Whether every parameter in names (which ends with NULL) that the query has is given a value;
 * otherwise writes a sentence to error (ANSWER_ERROR bytes). */
bool answer_has_values(const char *query, const char *const *names, char *error);

/* The name of spans that are asked for; an empty one is a name too. What is beyond any name of a
 * row is not stored. */
struct asked_name {
    bool given; /* the query has the parameter */
    size_t size;
    uint8_t text[PARAMETER_SIZE];
};
void answer_name(const char *query, const char *parameter, struct asked_name *asked);

/* Whether a span's name is the one asked for, as the rows of responses have it: cut, and with
 * U+FFFD for invalid bytes. */
bool answer_is_name(const struct asked_name *asked, struct view name);

/* Whether the request has no parameters; responds 400 if it has. */
bool answer_has_none(struct http_request *request);

/* Parses a duration such as 10ms, 1.5s or 2m. False: not a duration, or without a unit. */
bool answer_duration(const char *text, uint64_t *ns);

/* Parses a time: unix nanoseconds, "now", or a duration before now such as -5m. False: not a time.
 */
bool answer_time(const char *text, uint64_t now, uint64_t *ns);

/* Parses the parameters from and to as by answer_time; one that is "" leaves its time as it is.
 * Returns false and writes a sentence to error (ANSWER_ERROR bytes) if one is not a time, or from
 * is after to. */
bool answer_range(const char *from_text, const char *to_text, uint64_t now, uint64_t *from,
                  uint64_t *to, char *error);

/* Parses a whole number without a sign from 1 to max. False: anything else. */
bool answer_count(const char *text, size_t max, size_t *count);

/* Decodes exactly 2 * size hex digits of either case. False: anything else. */
bool answer_hex(const char *text, uint8_t *out, size_t size);

/* Checks the Host and Origin headers, so that a page of another site whose name resolves to this
 * machine cannot read the API (DNS rebinding): Host must be an IP address, localhost or `host`, the
 * host of the configured endpoint, with any port; Origin, if present, must be given once and be the
 * request's own, and so must the origin that Sec-Fetch-Site describes, except for a link that is
 * followed. Otherwise responds 403 and returns false. */
bool answer_may(struct http_request *request, const char *host, bool tls);

/* Adds the headers that every response has; api: also Cache-Control: no-store. */
void answer_headers(struct http_request *request, bool api);

/* Adds Content-Disposition. how: "attachment" or "inline"; ending: ".svg". The file's name is
 * `name`, in which anything but ASCII letters, digits, '.' and '-' becomes '_'. */
void answer_file_name(struct http_request *request, const char *how, const char *name,
                      const char *ending);

void answer_error(struct http_request *request, unsigned status, const char *sentence);

/* Responds with the JSON and releases its buffer; with 503 if the JSON is incomplete. */
void answer_json(struct http_request *request, const struct json *json);

/* Memory for a response while the budget has none to give: charged from init to release. */
enum { ANSWER_SPARE = 512 * 1024 };
struct answer_spare {
    struct budget *budget;
    _Atomic bool used, charged;
};
void answer_spare_init(struct answer_spare *spare, struct budget *budget);
void answer_spare_release(struct answer_spare *spare);

/* Responds with the JSON that write appends, of up to max bytes. If the budget has no room, writes
 * it again into the spare memory, which one response at a time may use until it is sent; responds
 * 503 if there is none. spare must outlive the response. */
typedef void answer_write_fn(void *ctx, struct json *json);
void answer_surely(struct http_request *request, struct answer_spare *spare, size_t max,
                   answer_write_fn *write, void *ctx);

#endif
