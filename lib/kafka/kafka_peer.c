#include "lib/kafka/kafka_peer.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/view.h"
#include "lib/kafka/kafka_throttle.h"
#include "lib/net/tls/tls_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNREACHABLE_EVERY_NS (60 * NS_PER_S)
/* How long connections end without a word until that is said: longer than a broker's restart. */
#define SILENT_NS (3 * NS_PER_S)
/* How long after its last complaint a broker counts as down: librdkafka waits 30 s for a connection
 * and at most 10 s before the next attempt. If it does not try again, the broker is not needed. */
#define DOWN_NS (45 * NS_PER_S)

/* What an idempotent producer without any right to write is told. */
#define KAFKA_MAY_NOT_WRITE                                                                        \
    "this user may write to no topic: it needs the operation Write on those of the exporter"

/* What a port without TLS does to a handshake. */
#define KAFKA_NO_TLS "it ended the handshake, so this port may not use TLS"

void kafka_peer_init(struct kafka_peer *peer, const char *id, void *owner)
{
    *peer = (struct kafka_peer){.id = id, .owner = owner};
    pthread_mutex_init(&peer->mutex, NULL);
}

void kafka_peer_release(struct kafka_peer *peer)
{
    tls_material_unref(peer->material);
    tls_client_free(peer->tls);
    pthread_mutex_destroy(&peer->mutex);
}

bool kafka_peer_is_outdated(struct kafka_peer *peer)
{
    if (!peer->tls)
        return false;
    struct tls_material *now = tls_client_material(peer->tls);
    bool outdated = now != peer->material;
    tls_material_unref(now);
    return outdated;
}

/* ---- complaints ---- */

static const char coordinator[] = "GroupCoordinator: "; /* its address follows, without its id */

/* Splits "ssl://host:port/1: text (after 3ms in state UP, 5 identical error(s) suppressed)". */
static void complaint_parts(const char *reason, struct view *broker, struct view *text)
{
    if (strncmp(reason, coordinator, sizeof coordinator - 1) == 0)
        reason += sizeof coordinator - 1;
    const char *colon = strstr(reason, ": ");
    const char *scheme = strstr(reason, "://");
    const char *from = scheme && colon && scheme < colon ? scheme + 3 : reason;
    *broker = VIEW("");
    if (colon && !memchr(from, ' ', (size_t)(colon - from))) {
        const char *slash = memchr(from, '/', (size_t)(colon - from));
        *broker = view_between((const uint8_t *)from, (const uint8_t *)(slash ? slash : colon));
        reason = colon + 2;
    }
    const char *after = strstr(reason, " (after ");
    *text = after ? view_between((const uint8_t *)reason, (const uint8_t *)after) : view_of(reason);
}

static bool text_has(struct view text, const char *part)
{
    return memmem(text.data, text.size, part, strlen(part)) != NULL;
}

/* What follows the last "failed: ", or all. */
static struct view after_failed(struct view text)
{
    static const char failed[] = "failed: ";
    for (const uint8_t *at; (at = memmem(text.data, text.size, failed, sizeof failed - 1));)
        text = view_between(at + sizeof failed - 1, text.data + text.size);
    return text;
}

/* Without librdkafka's advice, which names its own settings. */
static struct view before_advice(struct view text)
{
    static const char advice[] = "verify that ";
    const uint8_t *at = memmem(text.data, text.size, advice, sizeof advice - 1);
    return at && at >= text.data + 2 ? view_between(text.data, at - 2) : text;
}

enum cause kafka_complaint(rd_kafka_resp_err_t code, const char *reason, char *out, size_t size)
{
    struct view broker, text;
    complaint_parts(reason ? reason : "", &broker, &text);
    const char *before = broker.size ? "broker " : "the broker";
    /* A broker that refuses the client's certificate, or wants one. */
    if (code == RD_KAFKA_RESP_ERR__TRANSPORT && text_has(text, "SSL routines"))
        code = RD_KAFKA_RESP_ERR__SSL;
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
        return CAUSE_NONE; /* each was reported by itself */
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
        if (text_has(text, "current SASL state"))
            snprintf(out, size, "%s%.*s does not use SASL on this port, but auth.sasl is set",
                     before, VIEW_ARG(broker));
        else if (text_has(text, "nsupported"))
            snprintf(out, size, "%s%.*s does not support auth.sasl.mechanism: %.*s", before,
                     VIEW_ARG(broker), VIEW_ARG(after_failed(text)));
        else
            snprintf(out, size, "%s%.*s refuses the user name or the password of auth.sasl", before,
                     VIEW_ARG(broker));
        return CAUSE_AUTH;
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
        snprintf(out, size, KAFKA_MAY_NOT_WRITE);
        return CAUSE_FORBIDDEN;
    case RD_KAFKA_RESP_ERR__SSL:
        text = before_advice(text);
        if (text_has(text, "unexpected eof") || text_has(text, "wrong version number"))
            text = view_of(KAFKA_NO_TLS);
        snprintf(out, size, "TLS to %s%.*s failed: %.*s", before, VIEW_ARG(broker),
                 VIEW_ARG(after_failed(text)));
        return CAUSE_TLS;
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
        if (text_has(text, "PLAINTEXT broker listener")) {
            snprintf(out, size, "TLS to %s%.*s failed: " KAFKA_NO_TLS, before, VIEW_ARG(broker));
            return CAUSE_TLS;
        }
        if (text_has(text, "Broken pipe") ||
            (text_has(text, "Disconnected") &&
             (text_has(text, "verify") || text_has(text, "security.protocol"))))
            snprintf(out, size, "%s%.*s closed the connection: it may expect TLS or SASL", before,
                     VIEW_ARG(broker));
        else if (text_has(text, "Disconnected"))
            snprintf(out, size, "%s%.*s closed the connection", before, VIEW_ARG(broker));
        else if (text_has(text, "ApiVersionRequest failed") && text_has(text, "Timed out"))
            snprintf(out, size, "%s%.*s accepts connections and does not answer", before,
                     VIEW_ARG(broker));
        else
            snprintf(out, size, "%s%.*s cannot be reached: %.*s", before, VIEW_ARG(broker),
                     VIEW_ARG(after_failed(text)));
        return CAUSE_UNAVAILABLE;
    default:
        snprintf(out, size, "%.*s", VIEW_ARG(text));
        return CAUSE_INTERNAL;
    }
}

/* The id in "host:port/ID: text"; -1: there is none. */
static int32_t complaint_id(struct view broker)
{
    const char *after = (const char *)broker.data + broker.size;
    char *end;
    long id = *after == '/' ? strtol(after + 1, &end, 10) : -1;
    return id >= 0 && end > after + 1 && *end == ':' && id <= INT32_MAX ? (int32_t)id : -1;
}

/* ---- brokers that are down ---- */

static void down_remove(struct kafka_peer *peer, size_t i)
{
    peer->down[i] = peer->down[--peer->down_count];
}

/* Forgets those that are not needed any more. */
static void down_expire(struct kafka_peer *peer)
{
    uint64_t now = clock_mono(&clock_system);
    for (size_t i = peer->down_count; i-- > 0;)
        if (now > peer->down[i].at + DOWN_NS)
            down_remove(peer, i);
}

static struct kafka_down *down_find(struct kafka_peer *peer, const char *address)
{
    for (size_t i = 0; i < peer->down_count; i++)
        if (strcmp(peer->down[i].address, address) == 0)
            return &peer->down[i];
    return NULL;
}

static void down_note(struct kafka_peer *peer, const char *reason, const char *trouble)
{
    struct view broker, text;
    complaint_parts(reason, &broker, &text);
    struct kafka_down made = {.id = -1, .at = clock_mono(&clock_system)};
    if (!broker.size || broker.size >= sizeof made.address)
        return;
    snprintf(made.address, sizeof made.address, "%.*s", VIEW_ARG(broker));
    snprintf(made.text, sizeof made.text, "%s", trouble);
    made.id = complaint_id(broker);
    made.leads = strncmp(reason, coordinator, sizeof coordinator - 1) == 0;
    struct kafka_down *old = down_find(peer, made.address);
    if (old && made.id < 0)
        made.id = old->id;
    if (!old && peer->down_count == KAFKA_DOWN_MOST)
        down_remove(peer, 0);
    *(old ? old : &peer->down[peer->down_count++]) = made;
}

/* Without an id it is the one that was configured: if that is the only one, what is known of others
 * is from it. The coordinator may have another address, at which only the group's answers show that
 * it is. */
static bool down_is(const struct kafka_peer *peer, const struct kafka_down *down, int32_t broker,
                    bool works)
{
    if (down->leads && down->id < 0)
        return works;
    return down->id >= 0 ? down->id == broker : peer->single;
}

/* ---- the log ---- */

/* Whether trouble of this cause is due to be logged. */
static bool peer_due(struct kafka_peer *peer, enum cause cause)
{
    uint64_t now = clock_mono(&clock_system), told = peer->told_ns[cause];
    bool once = cause == CAUSE_AUTH;
    if (peer->quiet || (told && (once || now - told < UNREACHABLE_EVERY_NS)))
        return false;
    peer->told_ns[cause] = now;
    return true;
}

/* Refused credentials explain everything that follows, so they are not replaced. reason: of a
 * broker that cannot be reached; NULL: it is not known which. */
static void peer_trouble(struct kafka_peer *peer, enum cause cause, const char *text,
                         const char *reason)
{
    pthread_mutex_lock(&peer->mutex);
    bool due = peer_due(peer, cause);
    if (reason && cause == CAUSE_UNAVAILABLE)
        down_note(peer, reason, text);
    if (!*peer->trouble || peer->cause != CAUSE_AUTH || cause == CAUSE_AUTH) {
        snprintf(peer->trouble, sizeof peer->trouble, "%s", text);
        peer->cause = cause;
    }
    pthread_mutex_unlock(&peer->mutex);
    if (due)
        log_line(cause == CAUSE_AUTH ? LOG_ERROR : LOG_WARN, "%s: %s", peer->id, text);
}

/* librdkafka before 2.6.1 repeats the nonce in its last SCRAM message, which Kafka 4 refuses
 * (librdkafka's issue 4895). */
static void explain_scram(char *text, size_t size)
{
    enum { FIXED = 0x020601ff };
    size_t used = strlen(text);
    if (rdkafka.version && rdkafka.version() < FIXED)
        snprintf(text + used, size - used,
                 "; or it is of Kafka 4, where SCRAM needs librdkafka 2.6.1 and this is %s",
                 rdkafka.version_str());
}

/* OpenSSL's X509_V_ERR_*, which librdkafka gives. */
static const char *certificate_fault(int error)
{
    switch (error) {
    case 2:
    case 18:
    case 19:
    case 20:
    case 21:
        return "its certificate is of a CA that is not in tls.ca_file, or without one not in the "
               "system's";
    case 9:
        return "its certificate is not valid yet";
    case 10:
        return "its certificate has expired";
    case 62:
    case 64:
        return "its certificate does not name the host of this address";
    default:
        return NULL;
    }
}

/* NOLINTNEXTLINE(readability-function-size): librdkafka sets the parameters */
int kafka_peer_verify(rd_kafka_t *client, const char *broker, int32_t id, int *error, int depth,
                      const char *der, size_t size, char *text, size_t text_size, void *opaque)
{
    struct kafka_peer *peer = opaque;
    (void)client, (void)broker, (void)id, (void)depth, (void)der, (void)size;
    if (*error == 0)
        return 1;
    pthread_mutex_lock(&peer->mutex);
    peer->certificate = *error;
    pthread_mutex_unlock(&peer->mutex);
    snprintf(text, text_size, "certificate error %d", *error);
    return 0;
}

/* Puts why the certificate was refused in place of librdkafka's words. */
static void explain_certificate(struct kafka_peer *peer, char *text, size_t size)
{
    static const char failed[] = " failed: ";
    char *after = strstr(text, failed);
    pthread_mutex_lock(&peer->mutex);
    const char *fault = certificate_fault(peer->certificate);
    pthread_mutex_unlock(&peer->mutex);
    if (after && fault && strstr(text, "certificate"))
        snprintf(after + sizeof failed - 1, size - (size_t)(after + sizeof failed - 1 - text), "%s",
                 fault);
}

void kafka_peer_error(rd_kafka_t *client, int code, const char *reason, void *opaque)
{
    struct kafka_peer *peer = opaque;
    char text[KAFKA_TROUBLE_SIZE], fatal[KAFKA_TROUBLE_SIZE];
    rd_kafka_resp_err_t error = (rd_kafka_resp_err_t)code;
    if (error == RD_KAFKA_RESP_ERR__FATAL) {
        error = rdkafka.fatal_error(client, fatal, sizeof fatal);
        reason = fatal;
    }
    enum cause cause = kafka_complaint(error, reason, text, sizeof text);
    if (cause == CAUSE_AUTH && peer->scram && strstr(text, " refuses "))
        explain_scram(text, sizeof text);
    if (cause == CAUSE_TLS)
        explain_certificate(peer, text, sizeof text);
    if (cause == CAUSE_NONE)
        return;
    if (cause == CAUSE_UNAVAILABLE && strstr(text, "timed out") &&
        kafka_throttle_lasts(peer, text, sizeof text))
        reason = NULL; /* it can be reached, and answers late */
    atomic_fetch_add_explicit(&peer->errors, 1, memory_order_relaxed);
    peer_trouble(peer, cause, text, reason);
}

void kafka_peer_silence(struct kafka_peer *peer)
{
    pthread_mutex_lock(&peer->mutex);
    peer->quiet = true;
    pthread_mutex_unlock(&peer->mutex);
}

/* Failures of brokers, and what a client cannot recover from, come through kafka_peer_error too. */
void kafka_peer_log(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
    enum { SYSLOG_ERROR = 3 };
    struct kafka_peer *peer = client ? rdkafka.opaque(client) : NULL;
    const char *id = peer ? peer->id : "kafka";
    bool by_code = strcmp(facility, "FAIL") == 0 || strcmp(facility, "ERROR") == 0 ||
                   strcmp(facility, "FATAL") == 0 || strstr(text, "verification callback failed");
    if (level <= SYSLOG_ERROR && !by_code)
        log_warn("%s: librdkafka: %s", id, text);
    else
        log_debug("%s: librdkafka: %s: %s", id, facility, text);
}

/* What is left of the trouble: a broker that is down, or nothing. Returns what to log, as all is
 * well and was logged not to be; NULL: nothing. */
static const char *settle_trouble(struct kafka_peer *peer)
{
    const struct kafka_down *down = peer->down_count ? &peer->down[peer->down_count - 1] : NULL;
    uint64_t told_ns = peer->told_ns[CAUSE_UNAVAILABLE];
    bool told = false, away = false, refused = peer->told_ns[CAUSE_FORBIDDEN] != 0;
    for (int i = 0; i < CAUSE_COUNT; i++) {
        told |= peer->told_ns[i] != 0;
        away |= peer->told_ns[i] != 0 && i != CAUSE_FORBIDDEN && i != CAUSE_NONE;
    }
    memset(peer->told_ns, 0, sizeof peer->told_ns);
    peer->told_ns[CAUSE_UNAVAILABLE] = down ? told_ns : 0;
    peer->cause = CAUSE_UNAVAILABLE;
    snprintf(peer->trouble, sizeof peer->trouble, "%s", down ? down->text : "");
    if (!told || down)
        return NULL;
    return refused && !away ? "the brokers no longer refuse this user"
                            : "the brokers that are needed can be reached again";
}

/* causes: what the answer clears, a bit for each. */
static void peer_heard(struct kafka_peer *peer, int32_t broker, unsigned causes)
{
    const char *news = NULL;
    pthread_mutex_lock(&peer->mutex);
    peer->silent_since = 0;
    for (size_t i = peer->down_count; i-- > 0;)
        if (down_is(peer, &peer->down[i], broker, causes == ~0U))
            down_remove(peer, i);
    if (*peer->trouble && causes >> peer->cause & 1) {
        down_expire(peer);
        news = settle_trouble(peer);
    }
    pthread_mutex_unlock(&peer->mutex);
    if (news)
        log_info("%s: %s", peer->id, news);
}

void kafka_peer_works(struct kafka_peer *peer, int32_t broker)
{
    peer_heard(peer, broker, ~0U);
}

void kafka_peer_answers(struct kafka_peer *peer, int32_t broker)
{
    peer_heard(peer, broker, 1U << CAUSE_UNAVAILABLE);
}

int kafka_peer_close_socket(int socket, void *opaque)
{
    struct kafka_peer *peer = opaque;
    atomic_fetch_add_explicit(&peer->closed, 1, memory_order_relaxed);
    return close(socket);
}

const char *kafka_peer_wordless(const struct kafka_peer *peer, uint64_t closed)
{
    return atomic_load(&peer->closed) > closed ? KAFKA_CLOSES : KAFKA_MUTE;
}

void kafka_peer_no_broker(struct kafka_peer *peer)
{
    uint64_t now = clock_mono(&clock_system);
    pthread_mutex_lock(&peer->mutex);
    if (!peer->silent_since) {
        peer->silent_since = now;
        peer->silent_closed = atomic_load(&peer->closed);
    }
    bool wordless = !*peer->trouble && now >= peer->silent_since + SILENT_NS;
    const char *text = kafka_peer_wordless(peer, peer->silent_closed);
    pthread_mutex_unlock(&peer->mutex);
    if (!wordless)
        return;
    atomic_fetch_add_explicit(&peer->errors, 1, memory_order_relaxed);
    peer_trouble(peer, CAUSE_UNAVAILABLE, text, NULL);
}

/* Under the mutex. */
static enum cause peer_why(struct kafka_peer *peer, char *out, size_t size)
{
    snprintf(out, size, "%s", peer->trouble);
    return *peer->trouble ? peer->cause : CAUSE_NONE;
}

enum cause kafka_peer_why(struct kafka_peer *peer, char *out, size_t size)
{
    pthread_mutex_lock(&peer->mutex);
    enum cause cause = peer_why(peer, out, size);
    pthread_mutex_unlock(&peer->mutex);
    return cause;
}

bool kafka_peer_is_down(struct kafka_peer *peer, char *out, size_t size)
{
    pthread_mutex_lock(&peer->mutex);
    down_expire(peer);
    bool down = peer->down_count > 0;
    snprintf(out, size, "%s", down ? peer->down[peer->down_count - 1].text : "");
    pthread_mutex_unlock(&peer->mutex);
    return down;
}

enum cause kafka_peer_trouble(struct kafka_peer *peer, char *out, size_t size)
{
    pthread_mutex_lock(&peer->mutex);
    enum cause cause = peer_why(peer, out, size);
    peer->told_ns[cause] = clock_mono(&clock_system);
    pthread_mutex_unlock(&peer->mutex);
    return cause;
}

/* ---- outcomes ---- */

static enum cause cause_of(rd_kafka_resp_err_t code, enum verdict *verdict)
{
    *verdict = VERDICT_REJECT;
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
        return CAUSE_TOO_LARGE;
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION: /* an illegal name */
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
        return CAUSE_INVALID;
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
        return CAUSE_UNSUPPORTED;
    default:
        break;
    }
    /* Everything else passes when somebody acts, e.g. creates a topic or grants a right, or by
     * itself. */
    *verdict = VERDICT_RETRY;
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
        return CAUSE_FORBIDDEN;
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
        return CAUSE_AUTH;
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
        return CAUSE_FULL;
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
        return CAUSE_SHUTDOWN;
    default:
        return CAUSE_UNAVAILABLE;
    }
}

/* Brokers that refuse a topic answer at once, and take its records as soon as somebody has acted: a
 * long wait would only mix up what waits. */
#define REFUSED_TOPIC_NS (2 * NS_PER_S)

static bool is_refused_topic(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
           code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
           code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
           code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

static struct outcome why_of(rd_kafka_resp_err_t code, const char *topic)
{
    enum verdict verdict;
    enum cause cause = cause_of(code, &verdict);
    const char *words = rdkafka.err2str(code);
    if (code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        words = "the topic does not exist, and the broker does not create it";
    if (code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
        words = "the topic does not exist any more, or has fewer partitions than before";
    if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
        code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
        words = "this user may not write to it: it needs the operation Write";
    if (code == RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS ||
        code == RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        words = "fewer replicas are in sync than its min.insync.replicas: start the brokers that "
                "are down, or lower that";
    if (code == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
        words = "no broker acknowledged it in time";
    if (cause == CAUSE_SHUTDOWN)
        return outcome_of(verdict, cause, "no broker acknowledged it before the stop or reload");
    if (!topic)
        return outcome_of(verdict, cause, "%s", words);
    return outcome_of(verdict, cause, "topic %s: %s", topic, words);
}

struct outcome kafka_outcome(rd_kafka_resp_err_t code, const char *topic)
{
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return OUTCOME_OK;
    struct outcome why = why_of(code, topic);
    why.retry_within_ns = is_refused_topic(code) ? REFUSED_TOPIC_NS : 0;
    return why;
}
