/* The threads that read lanes. Each lane belongs to one of them; the others never touch it. */
#ifndef RECEIVERS_KAFKA_WORKER_H
#define RECEIVERS_KAFKA_WORKER_H

#include "receivers/kafka/reader.h"

struct worker;

/* NULL: no memory, thread or descriptor. number: for the thread's name. */
struct worker *worker_start(unsigned number);
void worker_stop(struct worker *worker); /* joins; may be NULL */

/* The descriptor to which queues and others write 8 bytes to wake it. */
int worker_event(const struct worker *worker);
void worker_wake(struct worker *worker);

/* Gives it a lane, with a reference of its own. False: no memory. */
bool worker_add(struct worker *worker, struct reader *reader);

/* Takes a lane away, if it has it; reader_stop follows. */
void worker_remove(struct worker *worker, const struct reader *reader);

#endif
