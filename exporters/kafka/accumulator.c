#include "exporters/kafka/accumulator.h"

#include "lib/base/clock.h"

enum {
    FEW = 5,       /* records that librdkafka sends without an answer to those before them */
    OVERHEAD = 256 /* bytes, at least what a record needs beside value and key */
};

void accumulator_init(struct accumulator *accumulator)
{
    *accumulator = (struct accumulator){0};
    accumulator->end = &accumulator->first;
    pthread_mutex_init(&accumulator->lock, NULL);
}

void accumulator_release(struct accumulator *accumulator)
{
    pthread_mutex_destroy(&accumulator->lock);
}

void accumulator_set(struct accumulator *accumulator, uint64_t linger, size_t most,
                     size_t most_bytes)
{
    accumulator->linger = linger;
    accumulator->most = most ? most : SIZE_MAX;
    accumulator->most_bytes = most_bytes;
    accumulator->lent = false;
}

size_t accumulator_size(const struct record *record)
{
    return record->value.size + record->key.size + OVERHEAD;
}

static bool is_full(const struct accumulator *accumulator)
{
    return accumulator->count >= accumulator->most || accumulator->bytes >= accumulator->most_bytes;
}

bool accumulator_add(struct accumulator *accumulator, struct record *const *records, size_t count)
{
    pthread_mutex_lock(&accumulator->lock);
    bool empty = accumulator->count == 0, full = is_full(accumulator);
    for (size_t i = 0; i < count; i++) {
        records[i]->next = NULL;
        *accumulator->end = records[i];
        accumulator->end = &records[i]->next;
        accumulator->bytes += accumulator_size(records[i]);
    }
    accumulator->count += count;
    bool wake = !accumulator->lent && !empty && !full && is_full(accumulator);
    pthread_mutex_unlock(&accumulator->lock);
    return wake;
}

/* Under the lock. */
static struct record *take_first(struct accumulator *accumulator)
{
    struct record *taken = accumulator->first, *last = taken;
    size_t count = 1, bytes = accumulator_size(taken);
    size_t most = accumulator->most > FEW ? accumulator->most : FEW;
    while (last->next) {
        bytes += accumulator_size(last->next);
        if (count >= most || (count >= FEW && bytes > accumulator->most_bytes))
            break;
        last = last->next;
        count++;
    }
    accumulator->first = last->next;
    last->next = NULL;
    if (!accumulator->first)
        accumulator->end = &accumulator->first;
    accumulator->count -= count;
    for (const struct record *each = taken; each; each = each->next)
        accumulator->bytes -= accumulator_size(each);
    accumulator->lent = true;
    return taken;
}

struct record *accumulator_take(struct accumulator *accumulator, uint64_t now, int *wait_ms)
{
    struct record *taken = NULL;
    pthread_mutex_lock(&accumulator->lock);
    uint64_t due = accumulator->taken ? accumulator->taken + accumulator->linger : 0;
    accumulator->lent = false;
    if (accumulator->count > 0 && (now >= due || is_full(accumulator))) {
        taken = take_first(accumulator);
        accumulator->taken = now;
    } else if (accumulator->count > 0) {
        uint64_t left = (due - now + NS_PER_MS - 1) / NS_PER_MS;
        *wait_ms = left < (uint64_t)*wait_ms ? (int)left : *wait_ms;
    }
    pthread_mutex_unlock(&accumulator->lock);
    return taken;
}
