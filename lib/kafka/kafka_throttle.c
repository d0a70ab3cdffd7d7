#include "lib/kafka/kafka_throttle.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"

#include "lib/base/view.h"

#include <stdio.h>
#include <string.h>

/* How long it is told after a delay, and how often it is logged. */
#define TOLD_NS  (30 * NS_PER_S)
#define EVERY_NS (60 * NS_PER_S)

/* "sasl_ssl://b:9093/1" or "b:9093/1": the address alone. */
static struct view address_of(const char *broker)
{
    const char *scheme = strstr(broker, "://");
    const char *from = scheme ? scheme + 3 : broker;
    return (struct view){(const uint8_t *)from, strcspn(from, "/")};
}

static void describe(const struct kafka_throttle *throttle, char *out, size_t size)
{
    snprintf(out, size,
             "broker %s delays this client, by %.1f s the last time: it exceeds a quota of its "
             "user or client_id",
             throttle->broker, throttle->ms / 1e3);
}

void kafka_throttle_note(rd_kafka_t *client, const char *broker, int32_t id, int ms, void *opaque)
{
    struct kafka_peer *peer = opaque;
    struct kafka_throttle *throttle = &peer->throttle;
    uint64_t now = clock_mono(&clock_system);
    char text[KAFKA_TROUBLE_SIZE];
    (void)client, (void)id;
    if (ms <= 0)
        return;
    pthread_mutex_lock(&peer->mutex);
    snprintf(throttle->broker, sizeof throttle->broker, "%.*s", VIEW_ARG(address_of(broker)));
    throttle->ms = ms;
    throttle->until = now + (uint64_t)ms * NS_PER_MS + TOLD_NS;
    bool due = !throttle->logged || now >= throttle->logged + EVERY_NS;
    throttle->logged = due ? now : throttle->logged;
    describe(throttle, text, sizeof text);
    pthread_mutex_unlock(&peer->mutex);
    if (due)
        log_line(LOG_WARN, "%s: %s", peer->id, text);
}

bool kafka_throttle_lasts(struct kafka_peer *peer, char *out, size_t size)
{
    pthread_mutex_lock(&peer->mutex);
    bool lasts = clock_mono(&clock_system) < peer->throttle.until;
    if (lasts)
        describe(&peer->throttle, out, size);
    pthread_mutex_unlock(&peer->mutex);
    return lasts;
}
