#include "lib/net/server/page_server.h"

#include "lib/base/clock.h"
#include "lib/net/endpoint.h"
#include "lib/net/http/http_host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum { MAX_BODY = 4096, MAX_CONNECTIONS = 64 };

static struct listen_on page_server_place(const struct page_server *pages)
{
    return (struct listen_on){.key = "endpoint",
                              .endpoint = pages->endpoint,
                              .tls_key = "tls",
                              .tls = &pages->tls,
                              .id = ""};
}

void page_server_check(const void *instance, struct key_report *report)
{
    struct listen_on on = page_server_place(instance);
    listen_check(&on, report);
}

void page_server_places(const void *instance, place_visit_fn *visit, void *ctx)
{
    struct listen_on on = page_server_place(instance);
    listen_place(&on, visit, ctx);
}

void page_server_rehearse(const void *instance, struct key_report *report)
{
    struct listen_on on = page_server_place(instance);
    listen_rehearse(&on, report);
}

bool page_server_open(struct page_server *pages, const struct page_server_use *use, char *error,
                      size_t error_size)
{
    struct http_server_options options = {
        .max_body = MAX_BODY,
        .threads = 1,
        .max_connections = MAX_CONNECTIONS,
        .header_timeout_ns = 10 * NS_PER_S,
        .idle_timeout_ns = 60 * NS_PER_S,
        .handler = use->handler,
        .ctx = use->ctx,
    };
    struct listen_on on = page_server_place(pages);
    on.id = use->id;
    on.kind = use->kind;
    on.yields = use->yields;
    on.what = use->what;
    pages->server = listen_http(&on, &options, error, error_size);
    return pages->server != NULL;
}

static bool is_loopback(const char *host)
{
    uint8_t address[16];
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           (inet_pton(AF_INET, host, address) == 1 && address[0] == 127);
}

bool page_server_may(const struct page_server *pages, struct http_request *request)
{
    struct endpoint endpoint;
    char error[256];
    if (!endpoint_parse(pages->endpoint, false, &endpoint, error, sizeof error) ||
        !is_loopback(endpoint.host) ||
        http_host_is_own(http_request_authority(request), endpoint.host))
        return true;
    http_respond(request, 403, "text/plain",
                 VIEW("the Host header is neither an IP address nor localhost\n"), 0);
    return false;
}

void page_server_retire(void *instance)
{
    const struct page_server *pages = instance;
    if (pages->server)
        http_server_retire(pages->server);
}

void page_server_close(void *instance)
{
    struct page_server *pages = instance;
    if (pages->server)
        http_server_close(pages->server, 0);
    pages->server = NULL;
}
