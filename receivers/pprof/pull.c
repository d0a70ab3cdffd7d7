/* One pull: GET, check, take the delta, offer. */
#include "receivers/pprof/scraper.h"

#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "pipeline/pprof_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* ARENA_CAP: memory for the index of a profile and its delta, besides the profile itself. */
enum { ARENA_CAP = 512 << 20, OFFERS = 5, REDIRECTS = 10 };

static bool stopping(struct scraper *scraper)
{
    pthread_mutex_lock(&scraper->lock);
    bool stops = scraper->stopping;
    pthread_mutex_unlock(&scraper->lock);
    return stops;
}

/* ---- logging ---- */

/* Whether a failure is logged: the first of the profile, and of a target without answer only one.
 * Under the lock. */
static bool is_news(struct job *job, bool answered)
{
    struct target *target = job->target;
    bool news = answered ? !job->fault_logged || job->silent_logged
                         : !job->silent_logged && !target->silent;
    if (answered)
        job->fault_logged = true;
    job->silent_logged = !answered && (news || job->silent_logged);
    target->silent = !answered;
    return news;
}

static void note_failure(struct scraper *scraper, struct job *job, bool answered, const char *text)
{
    pthread_mutex_lock(&scraper->lock);
    if (is_news(job, answered) && !scraper->stopping)
        env_warn(scraper->env, "%s: %s", job->shown, text);
    snprintf(job->fault, sizeof job->fault, "%s", text);
    job->failed++;
    pthread_mutex_unlock(&scraper->lock);
}

static void note_success(struct scraper *scraper, struct job *job)
{
    pthread_mutex_lock(&scraper->lock);
    if (job->fault_logged || job->silent_logged)
        env_info(scraper->env, "%s works again", job->shown);
    job->fault[0] = '\0';
    job->fault_logged = job->silent_logged = job->target->silent = false;
    job->pulled++;
    pthread_mutex_unlock(&scraper->lock);
}

/* ---- the offer ---- */

struct offer {
    _Atomic unsigned refs; /* the pull's and the intake's */
    struct scraper *scraper;
    bool done; /* under the scraper's lock */
    struct outcome outcome;
};

static void offer_unref(struct offer *offer)
{
    if (atomic_fetch_sub(&offer->refs, 1) != 1)
        return;
    scraper_unref(offer->scraper);
    free(offer);
}

static void answered(void *ctx, const struct outcome *outcome)
{
    struct offer *offer = ctx;
    pthread_mutex_lock(&offer->scraper->lock);
    offer->outcome = *outcome;
    offer->done = true;
    pthread_cond_broadcast(&offer->scraper->answered);
    pthread_mutex_unlock(&offer->scraper->lock);
    offer_unref(offer);
}

/* Takes over the batch. If an exporter downstream has no queue, the outcome arrives after the
 * backend's response, once the last reference to the batch is dropped. Does not wait for it when
 * the receiver stops. */
static struct outcome offer_once(struct scraper *scraper, struct batch *batch)
{
    struct outcome outcome = OUTCOME_OK;
    struct offer *offer = calloc(1, sizeof *offer);
    if (!offer) {
        batch_unref(batch);
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    }
    offer->refs = 2;
    offer->scraper = scraper;
    atomic_fetch_add(&scraper->refs, 1);
    intake_accept(scraper->env->intakes[SIGNAL_PROFILES], batch, answered, offer);
    batch_unref(batch);
    pthread_mutex_lock(&scraper->lock);
    while (!offer->done && !scraper->stopping)
        pthread_cond_wait(&scraper->answered, &scraper->lock);
    if (offer->done)
        outcome = offer->outcome;
    pthread_mutex_unlock(&scraper->lock);
    offer_unref(offer);
    return outcome;
}

/* Waits that many seconds. False: the receiver stops. */
static bool wait_before_retry(struct scraper *scraper, unsigned seconds)
{
    uint64_t until = clock_mono(&clock_system) + seconds * NS_PER_S;
    pthread_mutex_lock(&scraper->lock);
    while (!scraper->stopping && clock_mono(&clock_system) < until)
        thread_cond_wait_until(&scraper->answered, &scraper->lock, until);
    bool goes_on = !scraper->stopping;
    pthread_mutex_unlock(&scraper->lock);
    return goes_on;
}

/* Offers a copy for each attempt, because the intake sets a batch's receipts. */
static struct outcome offer_copies(struct scraper *scraper, const struct batch *batch)
{
    struct outcome outcome;
    for (unsigned tries = 1;; tries++) {
        struct batch *copy = batch_with_payload(batch, buffer_ref(batch->payload), batch->items);
        if (!copy)
            return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
        outcome = offer_once(scraper, copy);
        if (outcome.verdict != VERDICT_RETRY || tries == OFFERS ||
            !wait_before_retry(scraper, outcome_retry_seconds(&outcome)))
            return outcome;
    }
}

static void offer(struct scraper *scraper, struct job *job, struct batch *batch)
{
    struct meter *meter = scraper->env->meter;
    struct outcome outcome = offer_copies(scraper, batch);
    if (outcome.verdict == VERDICT_OK) {
        meter_accepted(meter, ADMISSION_PULL, SIGNAL_PROFILES, 1);
        meter_accepted_samples(meter, ADMISSION_PULL, batch->samples);
        return;
    }
    const struct refusal refusal = {.transport = ADMISSION_PULL,
                                    .signal = SIGNAL_PROFILES,
                                    .why = &outcome,
                                    .items = 1,
                                    .samples = batch->samples};
    meter_refused(meter, &refusal);
    env_warn(scraper->env, "%s: a profile was dropped: %s", job->shown, outcome.text);
}

/* ---- the profile ---- */

struct pulled {
    uint64_t from, until; /* wall */
    struct bytes raw;     /* empty: nothing to send */
};

/* Replaces the profile by its delta. */
static struct outcome take_delta(struct job *job, struct bytes *raw)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    struct bytes out;
    arena_init(&arena, ARENA_CAP);
    arena_charge(&arena, raw->budget, budget_take, ARENA_SMALL);
    bytes_init(&out, raw->max, raw->budget);
    enum pprof_delta_result result = PPROF_DELTA_NO_ROOM;
    if (pprof_open(&pprof, bytes_view(raw), &arena, &fault))
        result = pprof_delta_next(&job->delta, &pprof, &arena, &out);
    bytes_release(raw);
    arena_release(&arena);
    *raw = out;
    if (result != PPROF_DELTA_NO_ROOM)
        return OUTCOME_OK;
    return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory for the delta");
}

static struct batch *make_batch(const struct job *job, struct pulled *pulled, struct view came)
{
    struct profile_origin *origin = calloc(1, sizeof *origin);
    struct batch *batch = pprof_request_batch(&pulled->raw, job->cumulative ? VIEW("") : came,
                                              series_ref(job->series));
    if (!origin || !batch) {
        free(origin);
        batch_unref(batch);
        return NULL;
    }
    origin->by_ingest = job->by_types;
    origin->from_ns = pulled->from;
    origin->until_ns = pulled->until;
    batch_set_profile(batch, origin);
    return batch;
}

static struct outcome pull_read_reply(struct job *job, const struct http_reply *reply,
                                      struct bytes *raw)
{
    struct view body = bytes_view(&reply->body);
    if (reply->status != 200) {
        size_t size = body.size < 100 ? body.size : 100;
        const uint8_t *end = size ? memchr(body.data, '\n', size) : NULL;
        size = end ? (size_t)(end - body.data) : size;
        return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "answered %ld%s%.*s", reply->status,
                          size ? ": " : "", (int)size, (const char *)body.data);
    }
    if (reply->cut == BYTES_FULL)
        return outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE, "larger than max_profile_size");
    if (reply->cut == BYTES_NO_MEMORY)
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "refused due to high memory usage");
    if (body.size == 0)
        return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "answered with an empty body");
    struct outcome outcome = pprof_request_read(body, raw);
    if (outcome.verdict == VERDICT_OK && raw->size > 0 && job->cumulative)
        outcome = take_delta(job, raw);
    return outcome;
}

/* The host of a URL, without the port. */
static struct view pull_host_of(const char *url)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    size_t size = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', size);
    if (at) {
        size -= (size_t)(at + 1 - host);
        host = at + 1;
    }
    const char *end = *host == '[' ? memchr(host, ']', size) : memchr(host, ':', size);
    size = end ? (size_t)(end - host) : size;
    return (struct view){(const uint8_t *)host, size};
}

/* Whether credentials may be sent to the redirect: same host, and not from TLS to cleartext. */
static bool may_follow(const char *from, const char *to)
{
    struct view a = pull_host_of(from), b = pull_host_of(to);
    bool leaves_tls = strncasecmp(from, "https:", 6) == 0 && strncasecmp(to, "https:", 6) != 0;
    return !leaves_tls && a.size == b.size &&
           strncasecmp((const char *)a.data, (const char *)b.data, a.size) == 0;
}

/* GETs the profile, following redirects to the target's own host. False: no response,
 * reply->error is the reason. */
static bool pull_get(struct scraper *scraper, const struct job *job, struct http_reply *reply)
{
    bool got = http_client_get(job->client, job->url, NULL, 0, reply);
    for (unsigned hops = 0; got && reply->redirect && scraper->self->follow_redirects; hops++) {
        char *to = reply->redirect;
        if (hops == REDIRECTS || !may_follow(job->url, to)) {
            bytes_clear(&reply->body);
            const char *why = hops == REDIRECTS ? "too many redirects" : "redirect to another host";
            bytes_append_view(&reply->body, view_of(why));
            break;
        }
        reply->redirect = NULL;
        http_reply_release(reply);
        got = http_client_get(job->client, to, NULL, 0, reply);
        free(to);
    }
    return got;
}

void pull_run(struct scraper *scraper, struct job *job)
{
    struct http_reply reply;
    struct pulled pulled = {.from = clock_wall(scraper->env->clock)};
    bool got = pull_get(scraper, job, &reply);
    pulled.until = clock_wall(scraper->env->clock);
    bytes_init(&pulled.raw, (size_t)scraper->self->max_profile_size, scraper->env->budget);
    if (!got) {
        note_failure(scraper, job, false, reply.error);
    } else {
        struct outcome outcome = pull_read_reply(job, &reply, &pulled.raw);
        if (outcome.verdict == VERDICT_OK)
            note_success(scraper, job);
        else
            note_failure(scraper, job, true, outcome.text);
        if (outcome.verdict != VERDICT_OK)
            bytes_release(&pulled.raw);
    }
    struct batch *batch = NULL;
    if (pulled.raw.size > 0 && !stopping(scraper))
        batch = make_batch(job, &pulled, bytes_view(&reply.body));
    http_reply_release(&reply);
    if (batch)
        offer(scraper, job, batch);
    batch_unref(batch);
    bytes_release(&pulled.raw);
}
