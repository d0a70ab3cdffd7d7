/* Authentication of calls. */
#include "lib/net/grpc/grpc_call.h"

#include "lib/base/clock.h"
#include "lib/net/auth.h"
#include "lib/net/grpc/grpc_connection.h"
#include "lib/net/loop.h"

static const char *credentials(const struct grpc_call *call)
{
    return grpc_call_metadata(call, call->loop->server->options.auth->header);
}

bool grpc_auth_admits(struct grpc_call *call)
{
    const struct authenticator *auth = call->loop->server->options.auth;
    if (call->loop->server->options.refuses_own &&
        loop_is_ours(grpc_call_metadata(call, LOOP_HEADER))) {
        struct outcome loop = loop_outcome();
        grpc_call_refuse_by(call, &loop);
        return false;
    }
    call->auth = AUTH_GRANTED;
    if (auth)
        call->auth = auth->look(auth->self, credentials(call));
    if (call->auth == AUTH_GRANTED || call->auth == AUTH_PENDING)
        return true;
    struct outcome outcome = auth_outcome(call->auth);
    grpc_call_refuse_by(call, &outcome);
    return false;
}

/* Calls the handler or refuses. The server may have begun to stop during the check: then the
 * handler's owner is closing. */
static void dispatch_call(void *ctx, enum auth_result result)
{
    struct grpc_call *call = ctx;
    const struct grpc_server_options *options = &call->loop->server->options;
    struct outcome outcome = auth_outcome(result);
    bool late = call->auth == AUTH_PENDING && atomic_load(&call->loop->server->draining);
    if (result == AUTH_GRANTED && late)
        outcome = outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "shutting down");
    if (result == AUTH_GRANTED && !late) {
        options->handler(options->ctx, call);
        return;
    }
    /* After an asynchronous check the server may be closing and the context of `refused` may be
     * gone. */
    if (!atomic_load(&call->loop->server->draining))
        grpc_call_refused(call, &outcome);
    grpc_respond(call, status_grpc(&outcome), outcome.text,
                 outcome_retry_seconds(&outcome) * NS_PER_S, (struct view){0});
}

void grpc_auth_handle(struct grpc_call *call)
{
    const struct authenticator *auth = call->loop->server->options.auth;
    if (call->auth == AUTH_PENDING)
        auth->check(auth->self, credentials(call), dispatch_call, call);
    else
        dispatch_call(call, call->auth);
}
