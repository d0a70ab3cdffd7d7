/* Threads that read lanes. Each lane belongs to one of them. */
#ifndef RECEIVERS_KAFKA_WORKER_H
#define RECEIVERS_KAFKA_WORKER_H

#include "receivers/kafka/reader.h"

struct worker;

/* NULL: out of memory, threads or file descriptors. number: for the thread's name. */
struct worker *worker_start(unsigned number);
void worker_stop(struct worker *worker); /* joins; may be NULL */

/* The descriptor to which queues and others write 8 bytes to wake it. */
int worker_event(const struct worker *worker);
void worker_wake(struct worker *worker);

/* Adds a lane and takes a reference to it. False: no memory. */
bool worker_add(struct worker *worker, struct reader *reader);

/* Removes a lane, if the worker has it. Call reader_stop afterwards. */
void worker_remove(struct worker *worker, const struct reader *reader);

#endif
