#include "receivers/kafka/places.h"

#include "receivers/kafka/kafka.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kafka_place *taken;

static bool share_a_broker(const struct key_list *a, const struct key_list *b)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++)
            if (strcmp(a->items[i], b->items[j]) == 0)
                return true;
    return false;
}

static bool is_same(const struct kafka_receiver *a, const struct kafka_receiver *b)
{
    return *a->group_instance_id && strcmp(a->group_instance_id, b->group_instance_id) == 0 &&
           strcmp(a->group_id, b->group_id) == 0 &&
           share_a_broker(&a->kafka.brokers, &b->kafka.brokers);
}

bool kafka_place_take(struct kafka_place *place, const struct kafka_receiver *self)
{
    bool same = false;
    pthread_mutex_lock(&lock);
    for (const struct kafka_place *each = taken; each; each = each->next)
        same |= is_same(each->self, self);
    if (!same) {
        *place = (struct kafka_place){self, taken};
        taken = place;
    }
    pthread_mutex_unlock(&lock);
    return !same;
}

void kafka_place_give(struct kafka_place *place)
{
    pthread_mutex_lock(&lock);
    struct kafka_place **at = &taken;
    while (*at != place)
        at = &(*at)->next;
    *at = place->next;
    pthread_mutex_unlock(&lock);
}
