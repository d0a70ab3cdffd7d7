#include "pipeline/delivery/job.h"

/* A job may split, frame and compress its payloads, which takes as much again, and a connection's
 * buffers. */
enum { WORK_FIXED = 256 * 1024, WORK_SHARE = 4 };

static void job_take(struct job *job, struct queue *queue, size_t most)
{
    struct queue_element *element = queue_take(queue);
    for (job->count = 0; element; element = queue_take_also(queue)) {
        job->elements[job->count++] = element;
        if (job->count == most)
            return;
    }
}

static void measure(struct job *job)
{
    job->items = 0;
    job->work = WORK_FIXED;
    for (size_t i = 0; i < job->count; i++) {
        const struct queue_element *element = job->elements[i];
        job->items += queue_element_items(element);
        job->work += element->batch ? batch_work(element->batch) : 0;
    }
}

static bool has_memory(const struct job *job, const struct jobs *jobs)
{
    struct budget *budget = jobs->budget;
    return (!budget || jobs->work + job->work <= budget->limit / WORK_SHARE) &&
           budget_begin_accepted_work(budget, job->work, false);
}

static void put_back(struct job *job, struct jobs *jobs, struct queue *queue, size_t left)
{
    while (job->count > left)
        queue_put_back(queue, job->elements[--job->count]);
    jobs->starved = true;
}

bool job_begin(struct job *job, struct jobs *jobs, struct queue *queue, size_t most)
{
    job_take(job, queue, most);
    if (job->count == 0)
        return false;
    measure(job);
    bool begun = has_memory(job, jobs);
    if (!begun && job->count > 1) {
        put_back(job, jobs, queue, 1);
        measure(job);
        begun = has_memory(job, jobs);
    }
    if (!begun && jobs->running > 0) {
        put_back(job, jobs, queue, 0);
        return false;
    }
    if (!begun)
        budget_begin_accepted_work(jobs->budget, job->work, true);
    jobs->running++;
    jobs->work += job->work;
    jobs->items += job->items;
    return true;
}

void job_end(const struct job *job, struct jobs *jobs)
{
    budget_end_accepted_work(jobs->budget, job->work);
    jobs->running--;
    jobs->work -= job->work;
    jobs->items -= job->items;
}
