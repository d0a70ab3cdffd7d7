#include "lib/kafka/kafka_settings.h"

#include "lib/kafka/kafka_throttle.h"
#include "lib/late/late.h"
#include "lib/net/tls/tls_version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The Collector's names of the mechanisms, which librdkafka uses too. */
static const char *const mechanisms[] = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", NULL};

static const struct key sasl_keys[] = {
    KEY_STRING(struct kafka_sasl, username, "username", NULL, KEY_REQUIRED, "user name"),
    KEY_FLAGGED(struct kafka_sasl, password, char *, "password", KEY_TYPE_SECRET, NULL,
                KEY_REQUIRED, "password"),
    KEY_CHOICE(struct kafka_sasl, mechanism, "mechanism", "SCRAM-SHA-512", mechanisms,
               "SASL mechanism"),
    KEY_IGNORED("version", "accepted; the version is agreed with the broker"),
    KEY_END,
};

const struct key kafka_auth_keys[] = {
    KEY_SWITCHED(struct kafka_auth, sasl, struct kafka_sasl, has_sasl, "sasl", sasl_keys,
                 "SASL; off: none"),
    KEY_END,
};

static const struct key metadata_retry_keys[] = {
    KEY_IGNORED("max", "accepted; has no effect"),
    KEY_IGNORED("backoff", "accepted; has no effect"),
    KEY_END,
};

const struct key kafka_metadata_keys[] = {
    KEY_BOOL(struct kafka_metadata, full, "full", "true",
             "ask about all topics in use; false: only about one when it is needed"),
    KEY_DURATION(struct kafka_metadata, refresh_interval, "refresh_interval", "10m", 0,
                 "how often to ask again"),
    {.name = "retry",
     .type = KEY_TYPE_GROUP,
     .rows = metadata_retry_keys,
     .text = "accepted; librdkafka retries by itself"},
    KEY_END,
};

/* ---- checking ---- */

/* Splits "host:port" or "[::1]:port"; the port is 9092 if none is given. False: malformed. */
static bool broker_parse(const char *text, struct place *place)
{
    const char *colon = strrchr(text, ':');
    bool bracket = *text == '[';
    const char *end = bracket ? strchr(text, ']') : colon;
    if (bracket && (!end || (end[1] && end[1] != ':')))
        return false;
    if (!end)
        end = text + strlen(text);
    text += bracket;
    const char *port = bracket ? (end[1] ? end + 2 : "9092") : *end ? end + 1 : "9092";
    if (end == text || !*port || strspn(port, "0123456789") != strlen(port) || atoi(port) > 65535 ||
        strlen(port) > 5 || strcspn(text, " ,/") < (size_t)(end - text))
        return false;
    *place = (struct place){.key = "brokers"};
    if ((size_t)(end - text) >= sizeof place->host)
        return false;
    memcpy(place->host, text, (size_t)(end - text));
    memcpy(place->port, port, strlen(port) + 1);
    return true;
}

void kafka_settings_places(const struct kafka_settings *settings, place_visit_fn *visit, void *ctx)
{
    struct place place;
    for (size_t i = 0; i < settings->brokers.count; i++)
        if (broker_parse(settings->brokers.items[i], &place))
            visit(ctx, &place);
}

static bool kafka_uses_tls(const struct kafka_settings *settings)
{
    return settings->has_tls && !settings->tls.insecure;
}

/* Reports keys for which librdkafka has no setting. */
static void check_tls(const struct tls_client_settings *tls, struct key_report *report)
{
    tls_client_check(tls, "tls", report);
    if (*tls->server_name_override)
        key_report_add(report, "tls.server_name_override",
                       "is not supported for Kafka: the certificate must name the broker's host");
    if (!tls_version_has_12(tls->min_version))
        key_report_add(report, "tls.min_version", "is not supported for Kafka, expected 1.2");
    if (tls->max_version != 0)
        key_report_add(report, "tls.max_version", "is not supported for Kafka");
    if (tls->suites.cipher_suites.count)
        key_report_add(report, "tls.cipher_suites", "is not supported for Kafka");
    if (tls->suites.curve_preferences.count)
        key_report_add(report, "tls.curve_preferences", "is not supported for Kafka");
}

void kafka_settings_check(const struct kafka_settings *settings, struct key_report *report)
{
    struct place place;
    if (settings->brokers.count == 0)
        key_report_add(report, "brokers", "is empty, expected a list such as [kafka:9092]");
    for (size_t i = 0; i < settings->brokers.count; i++)
        if (!broker_parse(settings->brokers.items[i], &place))
            key_report_add(report, "brokers", "has \"%s\", expected host:port",
                           settings->brokers.items[i]);
    if (settings->has_tls)
        check_tls(&settings->tls, report);
    if (settings->auth.has_sasl && settings->auth.sasl.mechanism == 0 && !kafka_uses_tls(settings))
        key_report_warn(report, "auth.sasl.mechanism",
                        "is PLAIN without TLS: the password is sent in cleartext");
}

/* ---- the configuration ---- */

bool kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value, char *error,
                    size_t error_size)
{
    char why[192];
    if (*error)
        return false;
    if (rdkafka.conf_set(conf, name, value, why, sizeof why) == RD_KAFKA_CONF_OK)
        return true;
    snprintf(error, error_size, "librdkafka %s: %s", rdkafka.version_str(), why);
    return false;
}

bool kafka_conf_set_int(rd_kafka_conf_t *conf, const char *name, int64_t value, char *error,
                        size_t error_size)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return kafka_conf_set(conf, name, text, error, error_size);
}

int64_t kafka_ms(uint64_t ns, int64_t low, int64_t high)
{
    uint64_t ms = ns / 1000000 + (ns % 1000000 != 0);
    return ms < (uint64_t)low ? low : ms > (uint64_t)high ? high : (int64_t)ms;
}

static void set_brokers(const struct key_list *brokers, rd_kafka_conf_t *conf, char *error,
                        size_t error_size)
{
    struct bytes text;
    bytes_init(&text, 1 << 20, NULL);
    for (size_t i = 0; i < brokers->count; i++)
        bytes_printf(&text, "%s%s", i ? "," : "", brokers->items[i]);
    if (bytes_append(&text, "", 1) == BYTES_OK)
        kafka_conf_set(conf, "bootstrap.servers", (const char *)text.data, error, error_size);
    else
        snprintf(error, error_size, "brokers: out of memory");
    bytes_release(&text);
}

/* The files are read and checked as for every TLS client. librdkafka, which uses OpenSSL, gets
 * memory files with their contents. */
static void set_tls(const struct tls_client_settings *tls, struct kafka_peer *peer,
                    rd_kafka_conf_t *conf, char *error, size_t error_size)
{
    static const char *const names[TLS_PARTS] = {[TLS_CERT] = "ssl.certificate.location",
                                                 [TLS_KEY] = "ssl.key.location",
                                                 [TLS_CA] = "ssl.ca.location"};
    if (!late_has_tls(error, error_size))
        return;
    if (!peer->tls)
        peer->tls = tls_client_new(tls, peer->id, "tls", TLS_LOOK_NS, error, error_size);
    if (!peer->tls)
        return;
    tls_material_unref(peer->material);
    const struct tls_material *material = peer->material = tls_client_material(peer->tls);
    for (int part = 0; part < TLS_PARTS; part++)
        if (*material->paths[part])
            kafka_conf_set(conf, names[part], material->paths[part], error, error_size);
    if (!*material->paths[TLS_CA] && tls_system_ca())
        kafka_conf_set(conf, names[TLS_CA], tls_system_ca(), error, error_size);
    if (!tls->insecure_skip_verify)
        rdkafka.conf_set_ssl_cert_verify_cb(conf, kafka_peer_verify);
    kafka_conf_set(conf, "enable.ssl.certificate.verification",
                   tls->insecure_skip_verify ? "false" : "true", error, error_size);
    kafka_conf_set(conf, "ssl.endpoint.identification.algorithm",
                   tls->insecure_skip_verify ? "none" : "https", error, error_size);
}

static void set_security(const struct kafka_settings *settings, rd_kafka_conf_t *conf, char *error,
                         size_t error_size)
{
    static const char *const protocols[2][2] = {{"plaintext", "ssl"},
                                                {"sasl_plaintext", "sasl_ssl"}};
    const struct kafka_auth *auth = &settings->auth;
    kafka_conf_set(conf, "security.protocol", protocols[auth->has_sasl][kafka_uses_tls(settings)],
                   error, error_size);
    if (!auth->has_sasl)
        return;
    kafka_conf_set(conf, "sasl.mechanisms", mechanisms[auth->sasl.mechanism], error, error_size);
    kafka_conf_set(conf, "sasl.username", auth->sasl.username, error, error_size);
    kafka_conf_set(conf, "sasl.password", auth->sasl.password, error, error_size);
}

rd_kafka_conf_t *kafka_conf_new(const struct kafka_settings *settings, struct kafka_peer *peer,
                                char *error, size_t error_size)
{
    enum { MAX_MS = 3600 * 1000 };
    *error = '\0';
    if (!rdkafka_ready()) {
        snprintf(error, error_size, "%s", RDKAFKA_MISSING);
        return NULL;
    }
    rd_kafka_conf_t *conf = rdkafka.conf_new();
    peer->scram = settings->auth.has_sasl && settings->auth.sasl.mechanism != 0;
    peer->single = settings->brokers.count == 1;
    rdkafka.conf_set_opaque(conf, peer);
    rdkafka.conf_set_log_cb(conf, kafka_peer_log);
    rdkafka.conf_set_error_cb(conf, kafka_peer_error);
    rdkafka.conf_set_throttle_cb(conf, kafka_throttle_note);
    rdkafka.conf_set_closesocket_cb(conf, kafka_peer_close_socket);
    set_brokers(&settings->brokers, conf, error, error_size);
    kafka_conf_set(conf, "client.id", settings->client_id, error, error_size);
    kafka_conf_set(conf, "log.connection.close", "false", error, error_size);
    kafka_conf_set(conf, "topic.metadata.refresh.sparse",
                   settings->metadata.full ? "false" : "true", error, error_size);
    kafka_conf_set_int(conf, "topic.metadata.refresh.interval.ms",
                       kafka_ms(settings->metadata.refresh_interval, 10, MAX_MS), error,
                       error_size);
    kafka_conf_set_int(conf, "connections.max.idle.ms",
                       kafka_ms(settings->conn_idle_timeout, 0, INT32_MAX), error, error_size);
    set_security(settings, conf, error, error_size);
    if (!*error && kafka_uses_tls(settings))
        set_tls(&settings->tls, peer, conf, error, error_size);
    if (!*error)
        return conf;
    rdkafka.conf_destroy(conf);
    return NULL;
}

rd_kafka_t *kafka_client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *error,
                             size_t error_size)
{
    char why[256];
    rd_kafka_t *client = *error ? NULL : rdkafka.new(type, conf, why, sizeof why);
    if (!client) {
        if (!*error)
            snprintf(error, error_size, "librdkafka %s: %s", rdkafka.version_str(), why);
        rdkafka.conf_destroy(conf);
    }
    return client;
}
