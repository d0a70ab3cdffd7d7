/* The old form's one topic for all signals (exporters/kafka/kafka.h). */
#include "exporters/kafka/kafka.h"

const char *kafka_misplaced(const void *config, unsigned signals, bool *severe)
{
    const struct kafka_exporter *self = config;
    int into = 0;
    *severe = false;
    for (int i = 0; i < SIGNAL_COUNT; i++)
        into += (signals & SIGNAL_BIT(i)) && *self->all.topic && !*self->routes[i].topic;
    return into > 1 ? "writes several signals into the one topic of the old form, and a receiver "
                      "reads one signal from a topic: use traces.topic, metrics.topic and so on"
                    : NULL;
}
