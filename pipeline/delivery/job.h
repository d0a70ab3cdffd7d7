/*
 * What a worker sends at once: an element, or several where the exporter sends them together; and
 * the memory that all jobs of an exporter use beyond their payloads. Passive structures: the owner
 * of the queue holds its lock around every call.
 */
#ifndef PIPELINE_DELIVERY_JOB_H
#define PIPELINE_DELIVERY_JOB_H

#include "pipeline/delivery/dispatch.h"

struct job {
    struct queue_element *elements[DISPATCH_TOGETHER];
    struct dispatch_end ends[DISPATCH_TOGETHER];
    size_t count;
    uint64_t items; /* of all elements */
    size_t work;    /* bytes that it may use beyond its payloads */
};

/* The jobs that run. They use at most a share of the budget: the rest stays free for data, even if
 * the backend never responds. */
struct jobs {
    struct budget *budget; /* NULL: no limit */
    size_t running;
    size_t work;    /* of these */
    uint64_t items; /* of these */
    bool starved;   /* an element was put back for lack of memory since this was last cleared */
};

/* Takes the next elements, at most `most`, and begins their job on this thread. While memory is
 * short fewer run at once, and with one element, but always one. False: nothing to do now. */
bool job_begin(struct job *job, struct jobs *jobs, struct queue *queue, size_t most);

/* Ends the thread's job; the elements are the caller's. */
void job_end(const struct job *job, struct jobs *jobs);

#endif
