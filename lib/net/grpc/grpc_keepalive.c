#include "lib/net/grpc/grpc_keepalive.h"

#include "lib/base/clock.h"
#include "lib/net/grpc/grpc_connection.h"

#define PING_TIME      (7200 * NS_PER_S)
#define PING_TIMEOUT   (20 * NS_PER_S)
#define PING_MIN_TIME  (300 * NS_PER_S)
#define PING_IDLE_TIME (7200 * NS_PER_S) /* minimum between pings of a client without calls */

enum { STRIKES_MAX = 2 };

static const struct key server_keys[] = {
    KEY_DURATION(struct grpc_keepalive_server, max_connection_idle, "max_connection_idle", "0s", 0,
                 "time without a call after which a connection is closed; 0: never"),
    KEY_DURATION(struct grpc_keepalive_server, max_connection_age, "max_connection_age", "0s", 0,
                 "lifetime of a connection, plus or minus 10 %; then its client must reconnect; "
                 "0: unlimited"),
    KEY_DURATION(struct grpc_keepalive_server, max_connection_age_grace, "max_connection_age_grace",
                 "0s", 0, "extra time for calls in progress; 0: unlimited"),
    KEY_DURATION(struct grpc_keepalive_server, time, "time", "0s", 0,
                 "time of silence after which a client is pinged; 0: 2h"),
    KEY_DURATION(struct grpc_keepalive_server, timeout, "timeout", "0s", 0,
                 "time to wait for its reply before the connection is closed; 0: 20s"),
    KEY_END,
};

static const struct key policy_keys[] = {
    KEY_DURATION(struct grpc_keepalive_policy, min_time, "min_time", "0s", 0,
                 "minimum between pings of a client; 0: 5m"),
    KEY_BOOL(struct grpc_keepalive_policy, permit_without_stream, "permit_without_stream", "false",
             "allow pings without a call; otherwise at most every two hours"),
    KEY_END,
};

const struct key grpc_keepalive_keys[] = {
    KEY_GROUP(struct grpc_keepalive_settings, server, struct grpc_keepalive_server,
              "server_parameters", server_keys, "how long connections live"),
    KEY_SWITCHED(struct grpc_keepalive_settings, policy, struct grpc_keepalive_policy, has_policy,
                 "enforcement_policy", policy_keys, "how often clients may ping; off: no limit"),
    KEY_END,
};

static const struct grpc_keepalive_settings *settings_of(const struct grpc_connection *connection)
{
    return &connection->loop->server->options.keepalive;
}

static uint64_t or (uint64_t value, uint64_t otherwise)
{
    return value ? value : otherwise;
}

/* Schedules the next check. */
static void plan(struct grpc_connection *connection)
{
    struct grpc_keepalive *keepalive = &connection->keepalive;
    const struct grpc_keepalive_server *server = &settings_of(connection)->server;
    uint64_t time = or (server->time, PING_TIME), timeout = or (server->timeout, PING_TIMEOUT);
    keepalive->due = keepalive->received_at + time;
    if (keepalive->pinged) { /* an answer is only noticed at the next check */
        uint64_t next = connection->loop->now + time;
        keepalive->due = next < keepalive->pinged + timeout ? next : keepalive->pinged + timeout;
    }
    if (keepalive->leaves < keepalive->due)
        keepalive->due = keepalive->leaves;
    if (keepalive->ends < keepalive->due)
        keepalive->due = keepalive->ends;
    grpc_loop_due(connection->loop, keepalive->due);
}

/* Otherwise all clients that connected together would reconnect together. */
static uint64_t give_or_take(uint64_t age, uint64_t by)
{
    return age - age / 10 + by % (age / 5 + 1);
}

void grpc_keepalive_begin(struct grpc_connection *connection)
{
    uint64_t now = connection->loop->now, age = settings_of(connection)->server.max_connection_age;
    uint64_t by = (now ^ (uint64_t)connection->fd << 20) * UINT64_C(0x9e3779b97f4a7c15) >> 8;
    connection->keepalive =
        (struct grpc_keepalive){.received_at = now,
                                .leaves = age ? now + give_or_take(age, by) : TIME_NEVER,
                                .ends = TIME_NEVER};
    plan(connection);
}

static void grpc_keepalive_leave(struct grpc_connection *connection)
{
    uint64_t grace = settings_of(connection)->server.max_connection_age_grace;
    connection->keepalive.leaves = TIME_NEVER;
    connection->keepalive.ends = grace ? connection->loop->now + grace : TIME_NEVER;
    connection->leaving = true;
    grpc_connection_drain(connection);
}

static void grpc_keepalive_ask(struct grpc_connection *connection)
{
    static const uint8_t payload[8] = "present";
    connection->keepalive.pinged = connection->loop->now;
    nghttp2_submit_ping(connection->session, NGHTTP2_FLAG_NONE, payload);
    grpc_connection_mark(connection);
}

void grpc_keepalive_expire(struct grpc_connection *connection)
{
    struct grpc_keepalive *keepalive = &connection->keepalive;
    const struct grpc_keepalive_server *server = &settings_of(connection)->server;
    uint64_t now = connection->loop->now;
    if (connection->state != GRPC_SERVING) {
        keepalive->due = TIME_NEVER; /* then other deadlines end the connection */
        return;
    }
    if (keepalive->pinged && keepalive->received_at > keepalive->pinged)
        keepalive->pinged = 0;
    bool silent =
        keepalive->pinged && now >= keepalive->pinged + or (server->timeout, PING_TIMEOUT);
    if (now >= keepalive->ends || silent) {
        grpc_connection_evict(connection);
        return;
    }
    if (now >= keepalive->leaves)
        grpc_keepalive_leave(connection);
    if (!keepalive->pinged && now >= keepalive->received_at + or (server->time, PING_TIME))
        grpc_keepalive_ask(connection);
    plan(connection);
}

static bool too_soon(const struct grpc_connection *connection)
{
    const struct grpc_keepalive_policy *policy = &settings_of(connection)->policy;
    bool calls = !TAILQ_EMPTY(&connection->calls);
    uint64_t least = or (policy->min_time, PING_MIN_TIME);
    if (!calls && !policy->permit_without_stream)
        least = PING_IDLE_TIME;
    return connection->keepalive.asked &&
           connection->loop->now < connection->keepalive.asked + least;
}

void grpc_keepalive_postpone(struct grpc_connection *connection, uint64_t ns)
{
    struct grpc_keepalive *keepalive = &connection->keepalive;
    if (keepalive->pinged && keepalive->received_at <= keepalive->pinged)
        keepalive->pinged += ns;
}

void grpc_keepalive_pinged(struct grpc_connection *connection)
{
    static const char why[] = "too_many_pings"; /* tells clients to ping less often */
    struct grpc_keepalive *keepalive = &connection->keepalive;
    nghttp2_session *session = connection->session;
    if (!settings_of(connection)->has_policy)
        return;
    keepalive->strikes += too_soon(connection);
    keepalive->asked = connection->loop->now;
    if (keepalive->strikes <= STRIKES_MAX)
        return;
    nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(session),
                          NGHTTP2_ENHANCE_YOUR_CALM, (const uint8_t *)why, sizeof why - 1);
    nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
}

void grpc_keepalive_answered(struct grpc_connection *connection)
{
    connection->keepalive.strikes = 0;
    connection->keepalive.asked = 0;
}
