/* Authentication of requests, and what is refused as it: loops, and pages of other origins. */
#include "lib/net/http/http_internal.h"

#include "lib/net/auth.h"
#include "lib/net/loop.h"
#include "lib/wire/http/status.h"

void http_auth_look(struct http_request *request)
{
    const struct authenticator *auth = request->server->options.auth;
    request->looped = request->server->options.refuses_own &&
                      loop_is_ours(http_request_header(request, LOOP_HEADER));
    const struct http_server_options *options = &request->server->options;
    request->foreign =
        options->refuses_pages && http_cors_refuses(options->cors, options->endpoint.host, request);
    request->auth = AUTH_GRANTED;
    if (auth && !(request->server->options.cors && http_cors_is_preflight(request)))
        request->auth = auth->look(auth->self, http_request_header(request, auth->header));
}

static void http_auth_refuse(struct http_request *request, const struct outcome *outcome)
{
    const struct http_server_options *options = &request->server->options;
    /* After a check, the `refused` callback may have ended with the server. */
    if (!atomic_load(&request->server->draining))
        http_request_refused(request, outcome);
    if (outcome->cause == CAUSE_AUTH && options->auth->challenge)
        http_response_header(request, "WWW-Authenticate", options->auth->challenge);
    if (options->deny)
        options->deny(options->ctx, request, outcome);
    else
        http_respond(request, status_http(outcome), "text/plain", view_of(outcome->text),
                     outcome_retry_seconds(outcome));
}

/* The server may have begun to stop during the check: then the handler's owner is closing. */
static void decided(void *ctx, enum auth_result result)
{
    struct http_request *request = ctx;
    const struct http_server_options *options = &request->server->options;
    struct outcome outcome = auth_outcome(result);
    bool late = request->auth == AUTH_PENDING && atomic_load(&request->server->draining);
    if (result == AUTH_GRANTED && late)
        outcome = outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "shutting down");
    if (result == AUTH_GRANTED && !late)
        options->handler(options->ctx, request);
    else
        http_auth_refuse(request, &outcome);
}

bool http_auth_denies(const struct http_request *request)
{
    return request->auth == AUTH_DENIED || request->auth == AUTH_LATER || request->looped ||
           request->foreign;
}

void http_auth_handle(struct http_request *request)
{
    const struct authenticator *auth = request->server->options.auth;
    if (request->looped) {
        struct outcome outcome = loop_outcome();
        http_auth_refuse(request, &outcome);
        return;
    }
    if (request->foreign) {
        struct outcome outcome = outcome_of(
            VERDICT_REJECT, CAUSE_FORBIDDEN,
            "pages of this origin may not send; cors.allowed_origins names those that may");
        http_auth_refuse(request, &outcome);
        return;
    }
    if (request->auth == AUTH_PENDING)
        auth->check(auth->self, http_request_header(request, auth->header), decided, request);
    else
        decided(request, request->auth);
}
