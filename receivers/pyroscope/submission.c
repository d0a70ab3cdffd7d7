/* The batches of one request and its one answer (receivers/pyroscope/pyroscope.h). */
#include "receivers/pyroscope/pyroscope.h"

#include <pthread.h>
#include <stdlib.h>

/* One batch of a submission, and the context of its callback. If the client waits for a backend,
 * its response is sent when the last reference to the batch is dropped, so none is kept after the
 * offer. */
struct entry {
    struct submission *submission;
    struct batch *batch; /* NULL: offered */
    uint32_t items, samples;
};

struct submission {
    const struct pyroscope_receiver *self;
    struct http_request *request;
    submission_answer_fn *answer;
    struct entry *entries;
    size_t count, capacity;
    pthread_mutex_t lock; /* guards the fields below */
    size_t waiting;
    struct outcome worst;
    uint32_t refused; /* profiles */
};

void pyroscope_count_refused(const struct pyroscope_receiver *self,
                             const struct http_request *request, const struct outcome *why,
                             uint32_t items)
{
    meter_refused_profiles(self->env->meter, http_request_peer(request), why, items);
}

static void pyroscope_submission_refuse(const struct pyroscope_receiver *self,
                                        struct http_request *request, submission_answer_fn *answer,
                                        const struct outcome *outcome)
{
    if (outcome->verdict != VERDICT_OK)
        pyroscope_count_refused(self, request, outcome, 0);
    answer(self, request, outcome);
}

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
    if (!submission->self->http.include_metadata)
        return true;
    struct view tenant = view_of(http_request_header(submission->request, "X-Scope-OrgID"));
    struct view authorization = {0};
    if (!submission->self->http.auth.on)
        authorization = view_of(http_request_header(submission->request, "Authorization"));
    batch_set_metadata(batch, metadata_new(tenant, authorization, &failed));
    return !failed;
}

static bool submission_grow(struct submission *submission)
{
    if (submission->count < submission->capacity)
        return true;
    size_t capacity = submission->capacity ? submission->capacity * 2 : 4;
    struct entry *entries = realloc(submission->entries, capacity * sizeof *entries);
    if (!entries)
        return false;
    submission->entries = entries;
    submission->capacity = capacity;
    return true;
}

bool submission_add(struct submission *submission, struct batch *batch)
{
    if (!submission_grow(submission) || !set_metadata(submission, batch)) {
        batch_unref(batch);
        return false;
    }
    submission->entries[submission->count++] =
        (struct entry){submission, batch, batch->items, batch->samples};
    return true;
}

static void submission_end(struct submission *submission, const struct outcome *outcome)
{
    if (outcome->verdict != VERDICT_OK || submission->refused)
        pyroscope_count_refused(submission->self, submission->request, outcome,
                                submission->refused);
    submission->answer(submission->self, submission->request, outcome);
    for (size_t i = 0; i < submission->count; i++)
        batch_unref(submission->entries[i].batch);
    free(submission->entries);
    pthread_mutex_destroy(&submission->lock);
    free(submission);
}

/* Records the outcome of one batch; the last one ends the submission. */
static void submission_settle(struct submission *submission, const struct outcome *outcome,
                              uint32_t refused)
{
    pthread_mutex_lock(&submission->lock);
    submission->refused += refused;
    uint32_t rejected = submission->worst.rejected + outcome->rejected;
    bool partial = outcome->rejected && submission->worst.verdict == VERDICT_OK;
    if (outcome->verdict > submission->worst.verdict || partial)
        submission->worst = *outcome;
    submission->worst.rejected = rejected;
    bool last = --submission->waiting == 0;
    pthread_mutex_unlock(&submission->lock);
    if (last)
        submission_end(submission, &submission->worst);
}

static void submission_offered(void *ctx, const struct outcome *outcome)
{
    const struct entry *entry = ctx;
    bool taken = outcome->verdict == VERDICT_OK;
    if (taken)
        meter_accepted(entry->submission->self->env->meter, ADMISSION_HTTP, SIGNAL_PROFILES,
                       entry->items);
    if (taken)
        meter_accepted_samples(entry->submission->self->env->meter, ADMISSION_HTTP, entry->samples);
    submission_settle(entry->submission, outcome, taken ? 0 : entry->items);
}

void submission_offer(struct submission *submission)
{
    struct intake *intake = submission->self->env->intakes[SIGNAL_PROFILES];
    struct outcome ok = OUTCOME_OK;
    /* One more than the batches, so that the response is not sent before this loop ends. */
    submission->waiting = submission->count + 1;
    for (size_t i = 0; i < submission->count; i++) {
        struct entry *entry = &submission->entries[i];
        struct batch *batch = entry->batch;
        entry->batch = NULL;
        intake_accept(intake, batch, submission_offered, entry);
        batch_unref(batch);
    }
    submission_settle(submission, &ok, 0);
}

void submission_refuse(struct submission *submission, const struct outcome *outcome)
{
    submission_end(submission, outcome);
}

void submission_run(const struct pyroscope_receiver *self, struct http_request *request,
                    submission_answer_fn *answer, const struct outcome *outcome,
                    struct batch *batch)
{
    struct outcome no_memory = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    if (!batch || outcome->verdict != VERDICT_OK) {
        batch_unref(batch);
        pyroscope_submission_refuse(self, request, answer, outcome);
        return;
    }
    struct submission *submission = submission_new(self, request, answer);
    if (!submission) {
        batch_unref(batch);
        pyroscope_submission_refuse(self, request, answer, &no_memory);
    } else if (submission_add(submission, batch)) {
        submission_offer(submission);
    } else {
        submission_refuse(submission, &no_memory);
    }
}
