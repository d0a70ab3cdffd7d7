/*
 * The settings that the Kafka exporter and receiver share, with the Collector's names, and their
 * translation into librdkafka's.
 */
#ifndef LIB_KAFKA_KAFKA_SETTINGS_H
#define LIB_KAFKA_KAFKA_SETTINGS_H

#include "lib/base/place.h"
#include "lib/kafka/kafka_peer.h"
#include "lib/kafka/rdkafka.h"
#include "lib/net/tls/tls_client.h"
#include "lib/settings/key.h"

struct kafka_sasl {
    char *username;
    char *password;
    int mechanism; /* index into kafka_mechanisms */
};

struct kafka_auth {
    bool has_sasl;
    struct kafka_sasl sasl;
};

struct kafka_metadata {
    bool full;
    uint64_t refresh_interval;
};

struct kafka_settings {
    struct key_list brokers;
    char *client_id;
    uint64_t conn_idle_timeout;
    bool has_tls;
    struct tls_client_settings tls;
    struct kafka_auth auth;
    struct kafka_metadata metadata;
};

extern const struct key kafka_auth_keys[], kafka_metadata_keys[];

/* Rows for member `kafka` (struct kafka_settings) of a component's struct T. */
#define KAFKA_KEYS(T, kafka)                                                                       \
    KEY_LIST(T, kafka.brokers, "brokers", "[localhost:9092]",                                      \
             "host:port of brokers to ask first for the others"),                                  \
        KEY_STRING(T, kafka.client_id, "client_id", "otel-collector", 0,                           \
                   "name of this client in the brokers' logs and quotas"),                         \
        KEY_DURATION(T, kafka.conn_idle_timeout, "conn_idle_timeout", "9m", 0,                     \
                     "how long an unused connection is kept; 0: for ever"),                        \
        KEY_SWITCHED(T, kafka.tls, struct tls_client_settings, kafka.has_tls, "tls",               \
                     tls_client_keys, "TLS to the brokers; off: cleartext"),                       \
        KEY_GROUP(T, kafka.auth, struct kafka_auth, "auth", kafka_auth_keys,                       \
                  "credentials for the brokers"),                                                  \
        KEY_GROUP(T, kafka.metadata, struct kafka_metadata, "metadata", kafka_metadata_keys,       \
                  "what the client asks about topics and brokers"),                                \
        KEY_IGNORED("protocol_version", "accepted; the version is agreed with the broker"),        \
        KEY_HINT("resolve_canonical_bootstrap_servers_only", "accepted; has no effect"),           \
        KEY_HINT("use_leader_epoch", "accepted; has no effect")

/* Reports contradictions, and settings that librdkafka does not support. */
void kafka_settings_check(const struct kafka_settings *settings, struct key_report *report);

/* Calls visit for each broker. */
void kafka_settings_places(const struct kafka_settings *settings, place_visit_fn *visit, void *ctx);

/* Loads librdkafka and makes a configuration from the settings, with peer as its opaque pointer and
 * peer's log and error callbacks; the caller adds its own settings. Pass the result to rdkafka.new,
 * or free it with rdkafka.conf_destroy. peer keeps the TLS files that rdkafka.new reads, until it
 * is released or used for another configuration. NULL: error is a sentence that may begin with the
 * path of a key. */
rd_kafka_conf_t *kafka_conf_new(const struct kafka_settings *settings, struct kafka_peer *peer,
                                char *error, size_t error_size);

/* Sets a property. False: error is a sentence; if it is not empty, as after an earlier failure,
 * nothing is set. */
bool kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value, char *error,
                    size_t error_size);
bool kafka_conf_set_int(rd_kafka_conf_t *conf, const char *name, int64_t value, char *error,
                        size_t error_size);

/* Makes the client; releases conf in any case. NULL: error is a sentence. */
rd_kafka_t *kafka_client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *error,
                             size_t error_size);

/* Nanoseconds as librdkafka's milliseconds, rounded up, in low..high. */
int64_t kafka_ms(uint64_t ns, int64_t low, int64_t high);

#endif
