/* Brokers that delay a client because it exceeds a quota. */
#ifndef LIB_KAFKA_KAFKA_THROTTLE_H
#define LIB_KAFKA_KAFKA_THROTTLE_H

#include "lib/kafka/kafka_peer.h"

#include <stddef.h>

/* rd_kafka_conf_set_throttle_cb's; kafka_conf_new sets it. Logs it, at most once a minute. Runs on
 * the thread that polls the client. */
void kafka_throttle_note(rd_kafka_t *client, const char *broker, int32_t id, int ms, void *opaque);

/* Whether a broker delayed this client in the last 30 s; out is then a sentence. Any thread. */
bool kafka_throttle_lasts(struct kafka_peer *peer, char *out, size_t size);

#endif
