#include "lib/net/http/http_follow.h"

#include "lib/base/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

bool http_follow_is_due(const struct http_client_options *options, const struct http_call *call,
                        const struct http_reply *reply)
{
    return options->follows && !call->is_get && reply->redirect &&
           (reply->status == 307 || reply->status == 308);
}

static char *http_follow_part_of(const char *url, CURLUPart what)
{
    CURLU *parts = curl_url();
    char *part = NULL;
    if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK)
        curl_url_get(parts, what, &part, 0);
    curl_url_cleanup(parts);
    return part;
}

static bool is_below(const char *host, const char *parent)
{
    size_t size = strlen(host), end = strlen(parent);
    if (size < end || strcasecmp(host + size - end, parent) != 0)
        return false;
    return size == end || (host[size - end - 1] == '.' && *host != '[');
}

bool http_follow_keeps_credentials(const char *from, const char *to)
{
    bool leaves_tls = strncasecmp(from, "https:", 6) == 0 && strncasecmp(to, "https:", 6) != 0;
    char *a = http_follow_part_of(from, CURLUPART_HOST),
         *b = http_follow_part_of(to, CURLUPART_HOST);
    bool keeps = a && b && !leaves_tls && is_below(b, a);
    curl_free(a);
    curl_free(b);
    return keeps;
}

void http_follow_give_up(const char *to, struct http_reply *reply)
{
    char *shown = redact_urls(to);
    reply->status = 0;
    snprintf(reply->error, sizeof reply->error, "stopped after %d redirects, the last to %.100s",
             HTTP_FOLLOW_MAX, shown ? shown : "");
    free(shown);
}
