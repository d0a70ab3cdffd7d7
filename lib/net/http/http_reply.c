#include "lib/net/http/http_reply.h"

#include "lib/base/clock.h"
#include "lib/base/redact.h"
#include "lib/wire/http/base64.h"
#include "lib/wire/http/grpc_frame.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { DETAILS_LIMIT = 64 * 1024, VALUE_LIMIT = 64 };

#define RETRY_AFTER_LIMIT_S UINT64_C(31536000)

void http_reply_init(struct http_reply *reply, size_t max_body)
{
    *reply = (struct http_reply){.grpc_status = -1};
    bytes_init(&reply->body, max_body, NULL);
    bytes_init(&reply->grpc_details, DETAILS_LIMIT, NULL);
}

void http_reply_release(struct http_reply *reply)
{
    bytes_release(&reply->body);
    bytes_release(&reply->grpc_details);
    free(reply->redirect);
    free(reply->from);
    reply->redirect = reply->from = NULL;
}

struct outcome http_reply_failure(const struct http_reply *reply)
{
    if (reply->unsendable)
        return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "%s", reply->error);
    return outcome_of(VERDICT_RETRY, reply->withheld ? CAUSE_REVOKED : CAUSE_UNAVAILABLE, "%s",
                      reply->error);
}

void http_reply_tell(const struct http_reply *reply, const char *words, char *out, size_t size)
{
    char *to = reply->redirect ? redact_urls(reply->redirect) : NULL;
    int n = snprintf(out, size, "HTTP %ld%s%.80s", reply->status, reply->from ? " from " : "",
                     reply->from ? reply->from : "");
    if (to) {
        size_t path = strcspn(to, "?"); /* a query may have secrets of any name */
        snprintf(out + n, size - (size_t)n, ": moved to %.*s%s, which was not followed",
                 path < 60 ? (int)path : 60, to, to[path] ? "?" REDACTED : "");
    } else if (*words)
        snprintf(out + n, size - (size_t)n, ": %s", words);
    free(to);
}

bool http_reply_is_page(const struct http_reply *reply, struct outcome *outcome)
{
    bool page = reply->status / 100 == 2 && strncasecmp(reply->content_type, "text/html", 9) == 0;
    if (page)
        *outcome = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE,
                              "HTTP %ld with an HTML page; this is a web server, not a receiver: "
                              "check the endpoint",
                              reply->status);
    return page;
}

static void http_reply_copy_text(struct view from, char *out, size_t out_size)
{
    size_t n = from.size < out_size - 1 ? from.size : out_size - 1;
    memcpy(out, from.data, n);
    out[n] = '\0';
}

static bool all_digits(struct view text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return text.size > 0;
}

static uint64_t retry_after(struct view value, uint64_t now)
{
    char text[VALUE_LIMIT];
    uint64_t wait = 0;
    http_reply_copy_text(value, text, sizeof text);
    if (all_digits(value)) {
        wait = strtoull(text, NULL, 10);
    } else {
        time_t date = curl_getdate(text, NULL);
        wait = date > 0 && (uint64_t)date > now ? (uint64_t)date - now : 0;
    }
    return (wait < RETRY_AFTER_LIMIT_S ? wait : RETRY_AFTER_LIMIT_S) * NS_PER_S;
}

static void set_details(struct http_reply *reply, struct view value)
{
    bytes_clear(&reply->grpc_details);
    base64_decode(value, &reply->grpc_details);
}

/* Anything that is not a code is UNKNOWN, as gRPC specifies. */
static int grpc_status_of(struct view value)
{
    char text[VALUE_LIMIT];
    http_reply_copy_text(value, text, sizeof text);
    return all_digits(value) && value.size <= 3 ? atoi(text) : 2;
}

static void set_field(struct http_reply *reply, const char *name, struct view value, uint64_t now)
{
    if (strcasecmp(name, "content-type") == 0)
        http_reply_copy_text(value, reply->content_type, sizeof reply->content_type);
    else if (strcasecmp(name, "retry-after") == 0)
        reply->retry_after_ns = retry_after(value, now);
    else if (strcasecmp(name, "grpc-status") == 0)
        reply->grpc_status = grpc_status_of(value);
    else if (strcasecmp(name, "grpc-message") == 0)
        grpc_message_decode(value, reply->grpc_message, sizeof reply->grpc_message);
    else if (strcasecmp(name, "grpc-status-details-bin") == 0)
        set_details(reply, value);
}

static void http_reply_forget(struct http_reply *reply)
{
    reply->content_type[0] = '\0';
    reply->retry_after_ns = 0;
    reply->grpc_status = -1;
    reply->grpc_message[0] = '\0';
    bytes_clear(&reply->body);
    reply->cut = BYTES_OK;
    bytes_clear(&reply->grpc_details);
}

void http_reply_field(struct http_reply *reply, struct view name, struct view value, uint64_t now)
{
    char text[VALUE_LIMIT];
    if (name.size >= sizeof text)
        return;
    http_reply_copy_text(name, text, sizeof text);
    if (strcmp(text, ":status") == 0) {
        http_reply_forget(reply);
        http_reply_copy_text(value, text, sizeof text);
        reply->status = atol(text);
        return;
    }
    set_field(reply, text, view_trim(value, VIEW(" \t\r\n")), now);
}

void http_reply_line(struct http_reply *reply, struct view line, uint64_t now)
{
    if (view_starts(line, VIEW("HTTP/"))) {
        http_reply_forget(reply);
        return;
    }
    const uint8_t *colon = line.size ? memchr(line.data, ':', line.size) : NULL;
    if (colon && colon > line.data)
        http_reply_field(reply, view_between(line.data, colon),
                         view_between(colon + 1, line.data + line.size), now);
}

void http_reply_data(struct http_reply *reply, struct view data)
{
    size_t room = reply->body.max - reply->body.size;
    if (reply->cut)
        return;
    if (data.size > room) {
        data.size = room;
        reply->cut = BYTES_FULL;
    }
    if (bytes_append_view(&reply->body, data) == BYTES_NO_MEMORY)
        reply->cut = BYTES_NO_MEMORY;
}
