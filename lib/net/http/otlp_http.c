#include "lib/net/http/otlp_http.h"

#include "lib/base/clock.h"
#include "lib/wire/http/status.h"

#include <strings.h>

static const char type_json[] = "application/json";

bool media_type_is(const char *header, const char *type)
{
    size_t size = strlen(type);
    if (!header || strncasecmp(header, type, size) != 0)
        return false;
    header += size;
    return *header == '\0' || *header == ';' || *header == ' ';
}

/* Lists the supported encodings. */
static struct outcome unknown_encoding(const struct http_request *request, const char *name)
{
    char words[128];
    unsigned encodings = http_request_encodings(request);
    for (int i = 0; i < ENCODING_UNKNOWN; i++)
        if ((encodings & ENCODING_BIT(i)) && !encoding_ready((enum encoding_name)i))
            encodings &= ~ENCODING_BIT(i);
    return outcome_of(VERDICT_REJECT, CAUSE_ENCODING,
                      "unknown Content-Encoding \"%.40s\", expected %s", name ? name : "",
                      encoding_words(encodings, words, sizeof words));
}

struct outcome request_take_body(struct http_request *request, struct bytes *out)
{
    const char *name = http_request_header(request, "Content-Encoding");
    if (http_request_fault(request) == HTTP_FAULT_TOO_LARGE)
        return outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE,
                          "request body too large, the maximum is %zu bytes",
                          budget_cap(out->budget, out->max));
    if (http_request_fault(request) == HTTP_FAULT_MEMORY)
        return outcome_no_memory();
    enum encoding_name encoding = encoding_parse(view_of(name));
    if (!(http_request_encodings(request) & ENCODING_BIT(encoding)) || !encoding_ready(encoding))
        return unknown_encoding(request, name);
    /* What an empty budget could not hold is permanently too large. */
    out->max = budget_cap(out->budget, out->max);
    switch (http_request_take_body(request, out)) {
    case INFLATE_OK:
        return OUTCOME_OK;
    case INFLATE_TOO_LARGE:
        return outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE,
                          "request body too large after decompression, the maximum is %zu bytes",
                          out->max);
    case INFLATE_NO_MEMORY:
        return outcome_no_memory();
    case INFLATE_BAD:
        break;
    }
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "the body is not valid %s",
                      encoding_text(encoding));
}

void otlp_http_succeed(struct http_request *request, enum signal signal, bool json,
                       uint32_t rejected, const char *reason)
{
    struct bytes body;
    bytes_init(&body, 4096, NULL);
    export_response_encode((int)signal, json, rejected, reason, &body);
    http_respond(request, 200, json ? type_json : HTTP_PROTOBUF, bytes_view(&body), 0);
    bytes_release(&body);
}

void otlp_http_refuse(struct http_request *request, bool json, const struct outcome *outcome)
{
    struct bytes body;
    struct outcome sent = *outcome;
    unsigned wait = outcome_retry_seconds(outcome);
    bytes_init(&body, 4096, NULL);
    if (sent.cause == CAUSE_ENCODING)
        sent.cause = CAUSE_INVALID;
    if (json)
        rpc_status_encode_json(status_grpc(&sent), sent.text, wait * NS_PER_S, &body);
    else
        rpc_status_encode(status_grpc(&sent), sent.text, wait * NS_PER_S, &body);
    http_respond(request, status_http(&sent), json ? type_json : HTTP_PROTOBUF, bytes_view(&body),
                 wait);
    bytes_release(&body);
}
