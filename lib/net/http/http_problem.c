/* Error sentences for failed calls (lib/net/http/http_handle.h). */
#include "lib/net/http/http_handle.h"

#include "lib/base/clock.h"
#include "lib/base/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The presentable part of an unparsable URL: no user, no query. */
static void name_unread(const char *url, char *out, size_t size)
{
    char *shown = redact_urls(url);
    snprintf(out, size, "%.*s", shown ? (int)strcspn(shown, "?#") : 0, shown ? shown : "");
    free(shown);
}

/* "host:port" of a URL, or the unix socket. */
static void name_peer(const struct http_client_options *options, const char *url, char *out,
                      size_t size)
{
    CURLU *parts = curl_url();
    char *host = NULL, *port = NULL;
    if (options->unix_path && options->unix_path[0])
        snprintf(out, size, "unix:%s", options->unix_path);
    else if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
             curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
             curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK)
        snprintf(out, size, "%s:%s", host, port);
    else
        name_unread(url, out, size);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
}

/* strerror's text with a lower-case start, for use inside a sentence. */
static void lower_error(long number, char *out, size_t size)
{
    snprintf(out, size, "%s", number ? strerror((int)number) : "no address could be reached");
    if (out[0] >= 'A' && out[0] <= 'Z')
        out[0] = (char)(out[0] + ('a' - 'A'));
}

static bool was_connected(const struct http_handle *handle)
{
    curl_off_t since = 0;
    curl_easy_getinfo(handle->easy,
                      handle->own_h2 ? CURLINFO_CONNECT_TIME_T : CURLINFO_PRETRANSFER_TIME_T,
                      &since);
    return since > 0;
}

static void explain_timeout(const struct http_handle *handle, const char *peer)
{
    double seconds = (double)(clock_mono(&clock_system) - handle->started) / (double)NS_PER_S;
    handle->reply->timed_out = true;
    if (!was_connected(handle))
        handle->reply->failure = HTTP_FAILURE_CONNECT_TIME;
    snprintf(handle->reply->error, sizeof handle->reply->error, "%s%.80s: no answer within %.3g s",
             was_connected(handle) ? "" : "connect to ", peer, seconds);
}

static void explain_connect(const struct http_handle *handle, const char *peer)
{
    char reason[96];
    long number = 0;
    curl_easy_getinfo(handle->easy, CURLINFO_OS_ERRNO, &number);
    if (number == 0)
        number = handle->no_socket;
    lower_error(number, reason, sizeof reason);
    handle->reply->failure = HTTP_FAILURE_CONNECT;
    handle->reply->problem = (int)number;
    snprintf(handle->reply->error, sizeof handle->reply->error, "connect to %.80s: %.90s", peer,
             reason);
}

static void explain_no_http(const struct http_handle *handle, const char *peer)
{
    handle->reply->failure = HTTP_FAILURE_PROTOCOL;
    snprintf(
        handle->reply->error, sizeof handle->reply->error,
        "%.80s does not answer in HTTP/1.1; if the port speaks gRPC (HTTP/2), as 4317 does, use "
        "the exporter otlp_grpc",
        peer);
}

/* As many whole sentences as there is room for, if there are several. */
static void put_sentences(char *text, size_t size, const char *peer, const char *problem)
{
    int length = snprintf(text, size, "TLS with %.60s: %s", peer, problem);
    char *end = text + strlen(text);
    if (length >= (int)size)
        for (char *at = end; at > text && at[-1] != ':'; at--)
            if (at[-1] == '.' && at[0] == ' ') {
                end = at;
                break;
            }
    while (end > text && end[-1] == ' ')
        end--;
    *end = '\0';
}

static bool is_plain(const char *url)
{
    return strncasecmp(url, "http://", 7) == 0;
}

void http_problem_explain(const struct http_handle *handle, const char *url, CURLcode code)
{
    char peer[128];
    const char *problem = handle->problem[0] ? handle->problem : curl_easy_strerror(code);
    char *text = handle->reply->error;
    size_t size = sizeof handle->reply->error;
    handle->reply->status = 0;
    handle->reply->failure = HTTP_FAILURE_OTHER;
    name_peer(handle->options, url, peer, sizeof peer);
    if (handle->tls_problem[0]) {
        problem = handle->tls_problem;
        code = CURLE_SSL_CONNECT_ERROR;
    }
    switch ((int)code) {
    case CURLE_OPERATION_TIMEDOUT:
        explain_timeout(handle, peer);
        break;
    case CURLE_COULDNT_CONNECT:
        explain_connect(handle, peer);
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
        handle->reply->failure = HTTP_FAILURE_RESOLVE;
        snprintf(text, size, "connect to %.80s: the name cannot be resolved", peer);
        break;
    case CURLE_GOT_NOTHING:
        snprintf(text, size, "%.80s closed the connection without an answer%s", peer,
                 is_plain(url) &&
                         !atomic_load_explicit(&handle->life->answered, memory_order_relaxed)
                     ? "; if the port requires TLS, the endpoint must begin with https://"
                     : "");
        break;
    case CURLE_HTTP2:
        snprintf(text, size, "%.80s does not speak HTTP/2", peer);
        break;
    case CURLE_HTTP2_STREAM:
        snprintf(text, size, "%.80s ended the call without an answer (%.40s)", peer, problem);
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
        handle->reply->failure =
            code == CURLE_SSL_CONNECT_ERROR ? HTTP_FAILURE_TLS : HTTP_FAILURE_CERTIFICATE;
        if (strstr(problem, "unexpected TLS packet"))
            problem = HTTP_NO_TLS ": the endpoint must begin with http://";
        put_sentences(text, size, peer, problem);
        break;
    case CURLE_WEIRD_SERVER_REPLY:
        explain_no_http(handle, peer);
        break;
    case CURLE_UNSUPPORTED_PROTOCOL: /* also for a response that does not begin like HTTP */
        if (was_connected(handle)) {
            explain_no_http(handle, peer);
            break;
        }
        /* fall through */
    case CURLE_URL_MALFORMAT:
        handle->reply->unsendable = true;
        snprintf(text, size, "%.100s cannot be sent to: %.70s", peer, problem);
        break;
    case CURLE_ABORTED_BY_CALLBACK:
        snprintf(text, size, "the call was %s",
                 handle->reply->withheld ? "withheld" : "cancelled by the shutdown");
        break;
    default:
        snprintf(text, size, "%.80s: %.90s", peer, problem);
        break;
    }
}
