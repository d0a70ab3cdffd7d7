#include "lib/net/http/dial.h"

#include "lib/base/clock.h"
#include "lib/base/redact.h"
#include "lib/base/shown.h"
#include "lib/net/http/dial_look.h"
#include "lib/net/http/otlp_http.h"
#include "lib/net/tls/tls_handshake.h"
#include "lib/wire/http/status.h"
#include "lib/wire/proto/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LOOK_NS (2 * NS_PER_S)

enum { MAX_REPLY = 4096, URL_SIZE = 640, MESSAGE_SIZE = 200 };

static const char trace_service[] = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/* ---- request and response ---- */

static bool is_tls(const struct dial *dial)
{
    return strncasecmp(dial->url, "https:", 6) == 0;
}

/* "host:port" as in the URL. */
static void authority_of(const struct dial *dial, char *out, size_t size)
{
    const char *from = strstr(dial->url, "://");
    from = from ? from + 3 : dial->url;
    size_t n = strcspn(from, "/?#");
    const char *at = memrchr(from, '@', n);
    if (at) {
        n -= (size_t)(at + 1 - from);
        from = at + 1;
    }
    snprintf(out, size, "%.*s", (int)n, from);
}

void dial_where(const struct dial *dial, char *out, size_t size)
{
    if (dial->unix_path)
        snprintf(out, size, "unix:%s", dial->unix_path);
    else if (dial->speech == DIAL_OTLP_GRPC)
        authority_of(dial, out, size);
    else
        redact_copy(dial->url, out, size);
}

/* OTLP's error body. */
static bool read_status(const struct http_reply *reply, char *message, size_t size)
{
    int code;
    bool has_retry_info;
    uint64_t retry_after_ns;
    return strncasecmp(reply->content_type, "application/x-protobuf", 22) == 0 &&
           rpc_status_decode(bytes_view(&reply->body), &code, message, size, &has_retry_info,
                             &retry_after_ns);
}

/* The backend's error message, in one line. */
static void backend_message(const struct http_reply *reply, char out[MESSAGE_SIZE])
{
    char raw[MESSAGE_SIZE / 2];
    if (reply->grpc_status < 0 && read_status(reply, raw, sizeof raw))
        ;
    else if (reply->grpc_status >= 0 && *reply->grpc_message)
        snprintf(raw, sizeof raw, "%.*s", (int)sizeof raw - 1, reply->grpc_message);
    else
        text_cut(bytes_view(&reply->body), raw, sizeof raw);
    raw[strcspn(raw, "\r\n")] = '\0';
    shown_copy(view_of(raw), out, MESSAGE_SIZE);
}

static bool reply_mentions(const struct http_reply *reply, const char *words)
{
    return strcasestr(reply->grpc_message, words) ||
           (reply->body.size &&
            memmem(reply->body.data, reply->body.size, words, strlen(words)) != NULL);
}

/* A sentence being built. */
struct sentence {
    char *text;
    size_t size;
    size_t used;
};

static void dial_add(struct sentence *sentence, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void dial_add(struct sentence *sentence, const char *format, ...)
{
    va_list args;
    if (sentence->used >= sentence->size)
        return;
    va_start(args, format);
    int n =
        vsnprintf(sentence->text + sentence->used, sentence->size - sentence->used, format, args);
    va_end(args);
    sentence->used += n > 0 ? (size_t)n : 0;
}

/* ---- the port's protocol ---- */

struct probe {
    bool grpc;
    bool tls;
};

static bool is_answer(const struct probe *probe, const struct http_reply *reply)
{
    if (probe->grpc)
        return reply->grpc_status >= 0;
    /* The answer of TLS servers to cleartext. */
    bool wants_tls =
        reply->status == 400 && (reply_mentions(reply, "HTTPS") || reply_mentions(reply, "TLS"));
    return reply->status > 0 && !wants_tls;
}

static bool probe_answers(const struct dial *dial, const struct probe *probe)
{
    static const uint8_t nothing[5] = {0}; /* gRPC frame of an empty message */
    const struct http_header headers[] = {
        {"Content-Type", probe->grpc ? "application/grpc" : "application/x-protobuf"},
        {"TE", "trailers"}};
    const struct http_client_options options = {
        .http2 = probe->grpc,
        .timeout_ns = LOOK_NS,
        .unix_path = dial->unix_path,
        .tls = {.insecure_skip_verify = true},
        .max_reply = MAX_REPLY,
    };
    char authority[300], url[URL_SIZE], error[256];
    authority_of(dial, authority, sizeof authority);
    snprintf(url, sizeof url, "%s://%s%s", probe->tls ? "https" : "http", authority,
             probe->grpc ? trace_service : "/v1/traces");
    if (!client_reaches(url, error, sizeof error))
        return false;
    struct http_client *client = http_client_new(&options, error, sizeof error);
    if (!client)
        return false;
    struct http_reply reply;
    struct view body = {nothing, probe->grpc ? sizeof nothing : 0};
    http_client_post(client, url, headers, probe->grpc ? 2 : 1, body, &reply);
    bool answers = is_answer(probe, &reply);
    http_reply_release(&reply);
    http_client_free(client);
    return answers;
}

static void add_protocol(const struct dial *dial, bool grpc, struct sentence *out)
{
    if (grpc && dial->speech == DIAL_PYROSCOPE)
        dial_add(out,
                 "the port speaks gRPC: Pyroscope accepts profiles over HTTP, usually on 4040");
    else if (grpc)
        dial_add(out, "the port speaks gRPC: use the exporter otlp_grpc, or the backend's port for "
                      "OTLP over HTTP, usually 4318");
    else
        dial_add(out, "the port speaks HTTP/1.1: use the exporter otlp_http, or the "
                      "backend's port for "
                      "OTLP over gRPC, usually 4317");
}

static void add_tls(const struct dial *dial, bool tls, struct sentence *out)
{
    if (dial->speech == DIAL_OTLP_GRPC)
        dial_add(out, tls ? "the port requires TLS: leave out tls.insecure, or write https://"
                          : HTTP_NO_TLS ": set tls.insecure: true");
    else
        dial_add(out, tls ? "the port requires TLS: the endpoint must begin with https://"
                          : HTTP_NO_TLS ": the endpoint must begin with http://");
}

/* Adds nothing if no other protocol answers. */
static bool add_probed(const struct dial *dial, struct sentence *out)
{
    const struct probe own = {dial->speech == DIAL_OTLP_GRPC, is_tls(dial)};
    const struct probe others[] = {
        {!own.grpc, own.tls}, {own.grpc, !own.tls}, {!own.grpc, !own.tls}};
    if (own.tls && probe_answers(dial, &own))
        return false; /* without certificate verification */
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!probe_answers(dial, &others[i]))
            continue;
        if (others[i].grpc == own.grpc && strstr(out->text, HTTP_NO_TLS)) {
            dial_add(out, own.grpc ? ", or set tls.insecure: true" : "");
            return true;
        }
        dial_add(out, "; ");
        if (others[i].grpc != own.grpc)
            add_protocol(dial, others[i].grpc, out);
        if (others[i].grpc != own.grpc && others[i].tls != own.tls)
            dial_add(out, "; and ");
        if (others[i].tls != own.tls)
            add_tls(dial, others[i].tls, out);
        return true;
    }
    return false;
}

/* Adds nothing unless the port speaks another protocol than HTTP or TLS. */
static bool add_other(const struct dial *dial, struct sentence *out)
{
    static const char *const did[] = {[DIAL_LOOK_GREETED] = "a client is greeted with",
                                      [DIAL_LOOK_ANSWERED] = "an HTTP request is answered with"};
    char authority[300], url[URL_SIZE], first[80];
    authority_of(dial, authority, sizeof authority);
    snprintf(url, sizeof url, "http://%s/", authority);
    enum dial_look look = dial_look(url, dial->unix_path, first, sizeof first);
    if (look == DIAL_LOOK_NOTHING)
        return false;
    dial_add(out, "; the port does not speak %s: %s ",
             dial->speech == DIAL_OTLP_HTTP   ? "OTLP/HTTP"
             : dial->speech == DIAL_OTLP_GRPC ? "OTLP/gRPC"
                                              : "HTTP",
             did[look]);
    dial_add(out, *first ? "\"%s\"" : "binary data%s", first);
    return true;
}

/* ---- no response ---- */

static bool is_local(const char *authority)
{
    return strncasecmp(authority, "localhost", 9) == 0 || strncmp(authority, "127.", 4) == 0 ||
           strncmp(authority, "[::1]", 5) == 0;
}

static void add_refused(const struct dial *dial, struct sentence *out)
{
    char authority[300];
    authority_of(dial, authority, sizeof authority);
    dial_add(out, "; nothing listens there");
    if (dial->unix_path)
        return;
    if (is_local(authority))
        dial_add(out, ", and localhost is this host, or in a pod this pod");
    else if (dial->speech == DIAL_PYROSCOPE)
        dial_add(out, "; Pyroscope's port is usually 4040");
    else
        dial_add(out,
                 "; Tempo's receiver listens on localhost alone until its "
                 "distributor.receivers.otlp.protocols.%s.endpoint is 0.0.0.0:%s",
                 dial->speech == DIAL_OTLP_GRPC ? "grpc" : "http",
                 dial->speech == DIAL_OTLP_GRPC ? "4317" : "4318");
}

/* The client's certificate was not accepted. A library sends none that no CA the server named has
 * signed. */
static void add_own_certificate(const struct dial *dial, const struct http_reply *reply,
                                struct sentence *out)
{
    const struct tls_client_settings *tls = &dial->client->tls;
    if (!*tls->cert_file && !*tls->cert_pem)
        dial_add(out, ", and none is configured; set tls.cert_file and tls.key_file");
    else if (strcasestr(reply->error, "expired"))
        dial_add(out, "; renew the certificate in tls.cert_file");
    else
        dial_add(out, "; the certificate in tls.cert_file is not from a CA that the backend "
                      "accepts");
}

/* Because of the client certificate or its absence, a server of TLS 1.3 may end the connection in a
 * way that the library below does not tell from others. */
static void add_closed(const struct dial *dial, struct sentence *out)
{
    const struct tls_client_settings *tls = &dial->client->tls;
    if (!is_tls(dial))
        return;
    if (*tls->cert_file || *tls->cert_pem)
        dial_add(out, "; if the backend verifies client certificates, the certificate in "
                      "tls.cert_file is not from a CA that the backend accepts");
    else
        dial_add(out, "; if the backend requires a client certificate, set tls.cert_file and "
                      "tls.key_file");
}

static void add_certificate(const struct dial *dial, const struct http_reply *reply,
                            struct sentence *out)
{
    bool unknown = strcasestr(reply->error, "issuer") || strcasestr(reply->error, "signer");
    bool other = strcasestr(reply->error, "match") || strcasestr(reply->error, "hostname");
    if (strcasestr(reply->error, "requires a certificate") ||
        strcasestr(reply->error, "refused our certificate")) {
        add_own_certificate(dial, reply, out);
        return;
    }
    if (strstr(reply->error, TLS_LEFT)) {
        add_closed(dial, out);
        return;
    }
    if (other)
        dial_add(out, "; set tls.server_name_override to one of its names, or use one in endpoint");
    if (strcasestr(reply->error, "must be renewed there"))
        return;
    if (strcasestr(reply->error, "expired"))
        dial_add(out, "; the server's certificate has expired and must be renewed there");
    else if (unknown || !other)
        dial_add(out, "; set tls.ca_file to the CA of the backend's certificate%s",
                 *dial->client->tls.ca_file || *dial->client->tls.ca_pem
                     ? ""
                     : ", unless it is one of the system's");
}

static void explain_silence(const struct dial *dial, const struct http_reply *reply,
                            struct sentence *out)
{
    /* The port is probed below, which makes the advice of the sentence about it needless. */
    bool cut = reply->failure == HTTP_FAILURE_PROTOCOL;
    size_t size = cut ? strcspn(reply->error, ";") : strlen(reply->error);
    while (size && strchr(". ", reply->error[size - 1]))
        size--;
    dial_add(out, "%.*s", (int)size, reply->error);
    switch (reply->failure) {
    case HTTP_FAILURE_RESOLVE:
        dial_add(out, "; in Kubernetes a service is named service.namespace");
        break;
    case HTTP_FAILURE_CONNECT:
        if (reply->problem == ECONNREFUSED)
            add_refused(dial, out);
        else
            dial_add(out, "; there is no route to it from here");
        break;
    case HTTP_FAILURE_CONNECT_TIME:
        dial_add(out, "; a firewall or a network policy may block it, or no host has the address");
        break;
    case HTTP_FAILURE_CERTIFICATE:
        add_certificate(dial, reply, out);
        break;
    case HTTP_FAILURE_TLS:
        if (!add_probed(dial, out) && !add_other(dial, out))
            add_certificate(dial, reply, out);
        break;
    case HTTP_FAILURE_NONE:
    case HTTP_FAILURE_PROTOCOL:
    case HTTP_FAILURE_OTHER:
        if (!reply->unsendable && !add_probed(dial, out) && !add_other(dial, out))
            add_closed(dial, out);
        break;
    }
}

/* ---- responses ---- */

static bool has_header(const struct dial *dial, const char *name)
{
    const struct key_map *headers = &dial->client->headers;
    for (size_t i = 0; i < headers->count; i++)
        if (strcasecmp(headers->pairs[i].name, name) == 0)
            return true;
    return false;
}

/* Errors about tenants, such as "no org id" of Grafana's servers. */
static bool add_tenant(const struct dial *dial, const struct http_reply *reply,
                       struct sentence *out)
{
    bool sent = has_header(dial, "X-Scope-OrgID");
    if (!reply_mentions(reply, "org id") && !reply_mentions(reply, "tenant") &&
        !reply_mentions(reply, "OrgID"))
        return false;
    dial_add(out, sent ? "; the tenant in headers.X-Scope-OrgID is unknown to the backend"
                       : "; the backend is multi-tenant: set your tenant in headers.X-Scope-OrgID");
    return true;
}

static void add_credentials(const struct dial *dial, const struct http_reply *reply,
                            struct sentence *out)
{
    const struct auth_settings *auth = &dial->client->auth;
    if (add_tenant(dial, reply, out))
        return;
    if (auth->by)
        dial_add(out, "; the credentials of auth.authenticator \"%s\" are not accepted",
                 auth->authenticator);
    else if (has_header(dial, "Authorization"))
        dial_add(out, "; the credentials in headers.Authorization are not accepted");
    else
        dial_add(out, "; the backend requires authentication: use auth with a basicauth or "
                      "bearertokenauth, or "
                      "headers.Authorization");
}

static void add_path(const struct dial *dial, struct sentence *out)
{
    static const char twice[] = "/v1/traces/v1/";
    if (strstr(dial->url, twice))
        dial_add(out, "; /v1/traces is added to endpoint: leave it out, or use traces_endpoint");
    else if (dial->speech == DIAL_PYROSCOPE)
        dial_add(out, "; endpoint is Pyroscope's base URL, to which paths such as "
                      "/push.v1.PusherService/Push are added");
    else
        dial_add(out,
                 "; there is no OTLP %s receiver at this path: endpoint is a base URL, to which "
                 "/v1/... is added, usually with port 4318",
                 dial->what);
}

static bool is_good(const struct dial *dial, const struct http_reply *reply)
{
    if (dial->speech == DIAL_OTLP_GRPC)
        return reply->status == 200 && reply->grpc_status == 0;
    /* Pyroscope checks last whether there is anything to push. */
    if (dial->speech == DIAL_PYROSCOPE && reply->status == 400 &&
        reply_mentions(reply, "no profiles"))
        return true;
    return reply->status / 100 == 2 && strncasecmp(reply->content_type, "text/html", 9) != 0;
}

static void explain_http(const struct dial *dial, const struct http_reply *reply,
                         struct sentence *out)
{
    char words[MESSAGE_SIZE], message[2 * MESSAGE_SIZE], own[URL_SIZE];
    bool page = strncasecmp(reply->content_type, "text/html", 9) == 0;
    backend_message(reply, words);
    redact_copy(dial->url, own, sizeof own);
    if (reply->redirect || (reply->from && strcmp(reply->from, own) != 0)) {
        http_reply_tell(reply, page ? "" : words, message, sizeof message);
        dial_add(out, "%s", message);
    } else {
        dial_add(out, "HTTP %ld%s%s", reply->status, *words && !page ? ": " : "",
                 page ? "" : words);
    }
    if (reply->status / 100 == 2)
        dial_add(out, " with an HTML page; this is a web server, not a receiver");
    else if (reply->status / 100 == 3)
        dial_add(out, "; set endpoint to the URL that it points to");
    else if (reply->status == 401)
        add_credentials(dial, reply, out);
    else if (reply->status == 403 && !add_tenant(dial, reply, out))
        dial_add(out, "; the credentials are valid but may not write here");
    else if (reply->status == 404 || reply->status == 405)
        add_path(dial, out);
    else if (reply->status == 400 &&
             (reply_mentions(reply, "HTTPS") || reply_mentions(reply, "TLS")))
        dial_add(out, "; the port requires TLS: the endpoint must begin with https://");
    else if (reply->status == 400 || reply->status == 422)
        add_tenant(dial, reply, out);
    else if (reply->status == 415)
        dial_add(out, "; it cannot read what is sent: check encoding and compression");
    else if (reply->status >= 500)
        dial_add(out, "; the backend, or a proxy in front of it, is not ready");
}

static void explain_grpc(const struct dial *dial, const struct http_reply *reply,
                         struct sentence *out)
{
    char words[MESSAGE_SIZE];
    enum grpc_code code = (enum grpc_code)reply->grpc_status;
    backend_message(reply, words);
    dial_add(out, "gRPC %s%s%s", grpc_code_name(code), *words ? ": " : "", words);
    switch ((int)code) {
    case GRPC_UNAUTHENTICATED:
        add_credentials(dial, reply, out);
        break;
    case GRPC_PERMISSION_DENIED:
        if (!add_tenant(dial, reply, out))
            dial_add(out, "; the credentials are valid but may not write here");
        break;
    case GRPC_UNIMPLEMENTED:
        dial_add(out, "; the port speaks gRPC, but not OTLP %s", dial->what);
        break;
    case GRPC_UNAVAILABLE:
        dial_add(out, "; the backend, or a proxy in front of it, is not ready");
        break;
    default:
        add_tenant(dial, reply, out);
        break;
    }
}

/* True: the backend would accept data, and text is "". False: text describes the problem. */
static bool dial_explain(const struct dial *dial, const struct http_reply *reply, char *text,
                         size_t size)
{
    struct sentence out = {.text = text, .size = size};
    *text = '\0';
    if (is_good(dial, reply))
        return true;
    if (reply->status == 0)
        explain_silence(dial, reply, &out);
    else if (dial->speech != DIAL_OTLP_GRPC)
        explain_http(dial, reply, &out);
    else if (reply->grpc_status >= 0)
        explain_grpc(dial, reply, &out);
    else {
        dial_add(&out, "HTTP %ld, which is not a gRPC response", reply->status);
        add_probed(dial, &out);
    }
    return false;
}

bool dial_conclude(const struct dial *dial, bool posted, struct http_reply *reply, char *text,
                   size_t size)
{
    if (!posted) {
        snprintf(text, size, "out of memory");
        return false;
    }
    bool good = dial_explain(dial, reply, text, size);
    http_reply_release(reply);
    return good;
}
