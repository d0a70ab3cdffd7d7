/* Several signals in one topic (exporters/kafka/kafka.h). */
#include "exporters/kafka/kafka.h"

#include <string.h>

static bool is_old_form(const struct kafka_exporter *self, int signal)
{
    return *self->all.topic && !*self->routes[signal].topic;
}

/* Whether spans and profiles of a process have no key that brings them together. */
static bool is_unpaired(const struct kafka_exporter *self, unsigned signals)
{
    const unsigned both = SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_PROFILES);
    return (signals & both) == both && self->partition_by.count == 0 &&
           kafka_key_of(self, SIGNAL_TRACES) == KAFKA_KEY_NONE;
}

const char *kafka_misplaced(const void *config, unsigned signals, bool *severe)
{
    const struct kafka_exporter *self = config;
    const char *found = NULL;
    *severe = false;
    for (int i = 0; i < SIGNAL_COUNT; i++)
        for (int k = 0; k < i; k++) {
            if (!(signals & SIGNAL_BIT(i)) || !(signals & SIGNAL_BIT(k)) ||
                strcmp(kafka_topic(self, (enum signal)i), kafka_topic(self, (enum signal)k)) != 0)
                continue;
            if (is_old_form(self, i) && is_old_form(self, k))
                return "writes several signals into the one topic of the old form, and a receiver "
                       "reads one signal from a topic: use traces.topic, metrics.topic and so on";
            found = "writes several signals into one topic, and a receiver reads one signal from a "
                    "topic: give traces.topic, metrics.topic and so on different names";
        }
    if (!found && is_unpaired(self, signals))
        return "writes spans and profiles without a key, so those of a process meet at a spanlink "
               "gateway only by chance: set profiles.encoding: native, or partition_by: [service, "
               "source]; for other consumers, partition_by: [none] says that it is meant so";
    return found;
}
