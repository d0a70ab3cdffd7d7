#include "receivers/kafka/worker.h"

#include "lib/base/thread.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct worker {
    pthread_t thread;
    int event;
    _Atomic bool stopping;
    pthread_mutex_t lock; /* guards the list */
    struct reader **readers;
    size_t count, capacity;
};

static struct reader *worker_reader(struct worker *worker, size_t i)
{
    pthread_mutex_lock(&worker->lock);
    struct reader *reader = i < worker->count ? reader_ref(worker->readers[i]) : NULL;
    pthread_mutex_unlock(&worker->lock);
    return reader;
}

/* Returns when the next step is due. */
static uint64_t worker_round(struct worker *worker)
{
    uint64_t due = TIME_NEVER;
    struct reader *reader;
    for (size_t i = 0; (reader = worker_reader(worker, i)); i++) {
        uint64_t next = reader_step(reader, clock_mono(&clock_system));
        due = next < due ? next : due;
        reader_unref(reader);
    }
    return due;
}

static void worker_wait(struct worker *worker, uint64_t due)
{
    uint64_t now = clock_mono(&clock_system), count;
    struct pollfd fd = {.fd = worker->event, .events = POLLIN};
    int ms = -1;
    if (due != TIME_NEVER)
        ms = due <= now ? 0 : (int)((due - now) / NS_PER_MS) + 1;
    if (poll(&fd, 1, ms) > 0)
        (void)!read(worker->event, &count, sizeof count);
}

static void *worker_run(void *ctx)
{
    struct worker *worker = ctx;
    while (!atomic_load(&worker->stopping))
        worker_wait(worker, worker_round(worker));
    return NULL;
}

struct worker *worker_start(unsigned number)
{
    struct worker *worker = calloc(1, sizeof *worker);
    char name[16];
    if (!worker)
        return NULL;
    snprintf(name, sizeof name, "kafka/%u", number % 1000);
    pthread_mutex_init(&worker->lock, NULL);
    worker->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (worker->event >= 0 && thread_start(&worker->thread, name, worker_run, worker))
        return worker;
    if (worker->event >= 0)
        close(worker->event);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
    return NULL;
}

void worker_stop(struct worker *worker)
{
    if (!worker)
        return;
    atomic_store(&worker->stopping, true);
    worker_wake(worker);
    pthread_join(worker->thread, NULL);
    close(worker->event);
    pthread_mutex_destroy(&worker->lock);
    free(worker->readers);
    free(worker);
}

int worker_event(const struct worker *worker)
{
    return worker->event;
}

void worker_wake(struct worker *worker)
{
    uint64_t one = 1;
    (void)!write(worker->event, &one, sizeof one);
}

bool worker_add(struct worker *worker, struct reader *reader)
{
    pthread_mutex_lock(&worker->lock);
    bool room = worker->count < worker->capacity;
    if (!room) {
        size_t capacity = worker->capacity ? worker->capacity * 2 : 8;
        struct reader **readers = realloc(worker->readers, capacity * sizeof *readers);
        room = readers;
        worker->readers = readers ? readers : worker->readers;
        worker->capacity = readers ? capacity : worker->capacity;
    }
    if (room)
        worker->readers[worker->count++] = reader_ref(reader);
    pthread_mutex_unlock(&worker->lock);
    worker_wake(worker);
    return room;
}

void worker_remove(struct worker *worker, const struct reader *reader)
{
    struct reader *found = NULL;
    pthread_mutex_lock(&worker->lock);
    for (size_t i = 0; i < worker->count && !found; i++)
        if (worker->readers[i] == reader) {
            found = worker->readers[i];
            worker->readers[i] = worker->readers[--worker->count];
        }
    pthread_mutex_unlock(&worker->lock);
    reader_unref(found);
}
