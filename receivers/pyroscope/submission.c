#include "receivers/pyroscope/pyroscope.h"

#include <pthread.h>
#include <stdlib.h>

struct submission {
    const struct pyroscope_receiver *self;
    struct http_request *request;
    submission_answer_fn *answer;
    struct batch **batches;
    size_t count, capacity;
    pthread_mutex_t lock; /* over waiting and worst */
    size_t waiting;
    struct outcome worst;
};

struct submission *submission_new(const struct pyroscope_receiver *self,
                                  struct http_request *request, submission_answer_fn *answer)
{
    struct submission *submission = calloc(1, sizeof *submission);
    if (!submission)
        return NULL;
    submission->self = self;
    submission->request = request;
    submission->answer = answer;
    pthread_mutex_init(&submission->lock, NULL);
    return submission;
}

static bool set_metadata(const struct submission *submission, struct batch *batch)
{
    bool failed = false;
    if (!submission->self->include_metadata)
        return true;
    struct view tenant = view_of(http_request_header(submission->request, "X-Scope-OrgID"));
    struct view authorization =
        view_of(http_request_header(submission->request, "Authorization"));
    batch_set_metadata(batch, metadata_new(tenant, authorization, &failed));
    return !failed;
}

static bool grow(struct submission *submission)
{
    if (submission->count < submission->capacity)
        return true;
    size_t capacity = submission->capacity ? submission->capacity * 2 : 4;
    struct batch **batches = realloc(submission->batches, capacity * sizeof(struct batch *));
    if (!batches)
        return false;
    submission->batches = batches;
    submission->capacity = capacity;
    return true;
}

bool submission_add(struct submission *submission, struct batch *batch)
{
    if (!grow(submission) || !set_metadata(submission, batch)) {
        batch_unref(batch);
        return false;
    }
    submission->batches[submission->count++] = batch;
    return true;
}

static void end(struct submission *submission, const struct outcome *outcome)
{
    submission->answer(submission->self, submission->request, outcome);
    for (size_t i = 0; i < submission->count; i++)
        batch_unref(submission->batches[i]);
    free(submission->batches);
    pthread_mutex_destroy(&submission->lock);
    free(submission);
}

static void count(const struct submission *submission, enum meter_count what)
{
    struct meter *meter = submission->self->env->meter;
    for (size_t i = 0; i < submission->count; i++)
        meter_add(meter, what, SIGNAL_PROFILES, submission->batches[i]->items);
}

static void offered(void *ctx, const struct outcome *outcome)
{
    struct submission *submission = ctx;
    pthread_mutex_lock(&submission->lock);
    if (outcome->verdict > submission->worst.verdict)
        submission->worst = *outcome;
    bool last = --submission->waiting == 0;
    pthread_mutex_unlock(&submission->lock);
    if (!last)
        return;
    count(submission, submission->worst.verdict == VERDICT_OK ? METER_ACCEPTED : METER_REFUSED);
    end(submission, &submission->worst);
}

void submission_offer(struct submission *submission)
{
    struct intake *intake = submission->self->env->intakes[SIGNAL_PROFILES];
    /* One more than there are batches, so that the answer waits for the end of this loop. */
    submission->waiting = submission->count + 1;
    count(submission, METER_RECEIVED);
    for (size_t i = 0; i < submission->count; i++)
        intake_accept(intake, submission->batches[i], offered, submission);
    struct outcome ok = OUTCOME_OK;
    offered(submission, &ok);
}

void submission_refuse(struct submission *submission, const struct outcome *outcome)
{
    end(submission, outcome);
}
