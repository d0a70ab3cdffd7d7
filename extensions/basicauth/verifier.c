#include "extensions/basicauth/verifier.h"

#include "lib/base/thread.h"
#include "lib/net/tls/digest.h"

#include <stdlib.h>
#include <sys/queue.h>
#include <sys/resource.h>

enum { SETS = 256, WAYS = 4, NICENESS = 10 };

/* A cache of digests; the oldest of a set is replaced first. A free slot is all zero. */
struct memory {
    uint8_t digests[SETS][WAYS][DIGEST_KEYED_SIZE];
    uint8_t next[SETS];
};

struct waiter {
    SLIST_ENTRY(waiter) next;
    auth_done_fn *done;
    void *ctx;
    uint64_t until; /* mono */
};
SLIST_HEAD(waiters, waiter);

struct job {
    TAILQ_ENTRY(job) next;
    struct waiters waiters;
    unsigned waiter_count;
    uint64_t turn; /* of its user, by which the list is ordered */
    uint8_t digest[DIGEST_KEYED_SIZE];
    enum password_kind kind;
    bool known;
    char *user, *hash;
    struct view password;
};
TAILQ_HEAD(jobs, job);

/* What waits of one user. */
struct share {
    unsigned jobs, waiters;
    uint64_t turn;         /* of its last job; 0: none */
    struct job *abandoned; /* the last one without waiters; NULL: none */
};

struct verifier {
    uint8_t key[DIGEST_KEY_SIZE];
    const struct clock *clock;
    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t work;
    pthread_t thread;
    bool started, stopping;
    struct jobs jobs;
    const struct job *current; /* being checked; NULL: none */
    uint64_t turn;             /* of the job checked last */
    unsigned job_count, waiter_count;
    struct memory right, wrong;
};

/* ---- cache ---- */

static bool remembers(const struct memory *memory, const uint8_t digest[DIGEST_KEYED_SIZE])
{
    for (size_t way = 0; way < WAYS; way++)
        if (digest_same(memory->digests[digest[0]][way], digest, DIGEST_KEYED_SIZE))
            return true;
    return false;
}

static void remember(struct memory *memory, const uint8_t digest[DIGEST_KEYED_SIZE])
{
    uint8_t set = digest[0];
    if (remembers(memory, digest))
        return;
    memcpy(memory->digests[set][memory->next[set]++ % WAYS], digest, DIGEST_KEYED_SIZE);
}

/* Under the mutex. */
static enum auth_result recall(const struct verifier *verifier,
                               const uint8_t digest[DIGEST_KEYED_SIZE])
{
    if (remembers(&verifier->right, digest))
        return AUTH_GRANTED;
    return remembers(&verifier->wrong, digest) ? AUTH_DENIED : AUTH_PENDING;
}

static bool digest_of(const struct verifier *verifier, const struct verify *verify,
                      uint8_t digest[DIGEST_KEYED_SIZE])
{
    const struct view parts[] = {verify->user, verify->password, view_of(verify->hash),
                                 verify->known ? VIEW("known") : VIEW("")};
    return digest_keyed(verifier->key, parts, sizeof parts / sizeof *parts, digest);
}

enum auth_result verifier_look(struct verifier *verifier, const struct verify *verify)
{
    uint8_t digest[DIGEST_KEYED_SIZE];
    if (verify->password.size > PASSWORD_MAX)
        return AUTH_DENIED; /* of any user */
    if (!digest_of(verifier, verify, digest))
        return AUTH_LATER;
    pthread_mutex_lock(&verifier->mutex);
    enum auth_result result = recall(verifier, digest);
    pthread_mutex_unlock(&verifier->mutex);
    return result;
}

/* ---- jobs ---- */

static void job_free(struct job *job)
{
    if (job->password.data)
        explicit_bzero((void *)(uintptr_t)job->password.data, job->password.size);
    free((void *)(uintptr_t)job->password.data);
    free(job->user);
    free(job->hash);
    free(job);
}

static void verifier_answer(struct waiters *waiters, enum auth_result result)
{
    for (struct waiter *waiter; (waiter = SLIST_FIRST(waiters));) {
        SLIST_REMOVE_HEAD(waiters, next);
        waiter->done(waiter->ctx, result);
        free(waiter);
    }
}

/* Removes a job, under the mutex; the caller answers its waiters. */
static struct waiters take_out(struct verifier *verifier, struct job *job)
{
    struct waiters waiters = job->waiters;
    TAILQ_REMOVE(&verifier->jobs, job, next);
    verifier->job_count--;
    verifier->waiter_count -= job->waiter_count;
    job_free(job);
    return waiters;
}

/* The first job that a request waits for; without one, the first. NULL: none. Under the mutex. */
static struct job *next_job(const struct verifier *verifier)
{
    struct job *job;
    TAILQ_FOREACH(job, &verifier->jobs, next)
    {
        if (job->waiter_count)
            return job;
    }
    return TAILQ_FIRST(&verifier->jobs);
}

/* Moves the waiters of a job that have waited long enough. Under the mutex. */
static void take_late(struct verifier *verifier, struct job *job, uint64_t now,
                      struct waiters *late)
{
    struct waiter **at = &SLIST_FIRST(&job->waiters), *waiter;
    while ((waiter = *at)) {
        if (waiter->until > now) {
            at = &SLIST_NEXT(waiter, next);
            continue;
        }
        *at = SLIST_NEXT(waiter, next);
        SLIST_INSERT_HEAD(late, waiter, next);
        job->waiter_count--;
        verifier->waiter_count--;
    }
}

/* Called and returns under the mutex. */
static void answer_late(struct verifier *verifier)
{
    uint64_t now = clock_mono(verifier->clock);
    struct waiters late = SLIST_HEAD_INITIALIZER(late);
    struct job *job;
    TAILQ_FOREACH(job, &verifier->jobs, next)
    take_late(verifier, job, now, &late);
    if (SLIST_EMPTY(&late))
        return;
    pthread_mutex_unlock(&verifier->mutex);
    verifier_answer(&late, AUTH_LATER);
    pthread_mutex_lock(&verifier->mutex);
}

/* Runs a job; called and returns under the mutex. */
static void work_off(struct verifier *verifier, struct job *job)
{
    verifier->current = job;
    verifier->turn = job->turn > verifier->turn ? job->turn : verifier->turn;
    pthread_mutex_unlock(&verifier->mutex);
    bool fits = password_fits(job->kind, job->hash, job->password) && job->known;
    pthread_mutex_lock(&verifier->mutex);
    verifier->current = NULL;
    remember(fits ? &verifier->right : &verifier->wrong, job->digest);
    struct waiters waiters = take_out(verifier, job);
    pthread_mutex_unlock(&verifier->mutex);
    verifier_answer(&waiters, fits ? AUTH_GRANTED : AUTH_DENIED);
    pthread_mutex_lock(&verifier->mutex);
}

/* A flood of wrong passwords keeps this thread busy; other threads should not suffer. */
static void *verifier_run(void *ctx)
{
    struct verifier *verifier = ctx;
    setpriority(PRIO_PROCESS, 0, NICENESS);
    pthread_mutex_lock(&verifier->mutex);
    for (;;) {
        answer_late(verifier);
        struct job *job = next_job(verifier);
        if (verifier->stopping)
            break;
        if (job)
            work_off(verifier, job);
        else
            pthread_cond_wait(&verifier->work, &verifier->mutex);
    }
    pthread_mutex_unlock(&verifier->mutex);
    return NULL;
}

static struct job *job_new(const struct verify *verify, const uint8_t *digest)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    uint8_t *password = malloc(verify->password.size + 1);
    job->kind = verify->kind;
    job->known = verify->known;
    job->hash = strdup(verify->hash);
    job->user = strndup(verify->known ? (const char *)verify->user.data : "",
                        verify->known ? verify->user.size : 0);
    if (!password || !job->hash || !job->user) {
        free(password);
        job_free(job);
        return NULL;
    }
    if (verify->password.size)
        memcpy(password, verify->password.data, verify->password.size);
    job->password = (struct view){password, verify->password.size};
    memcpy(job->digest, digest, DIGEST_KEYED_SIZE);
    SLIST_INIT(&job->waiters);
    return job;
}

/* Under the mutex. */
static struct job *find_job(const struct verifier *verifier, const uint8_t *digest)
{
    struct job *job;
    TAILQ_FOREACH(job, &verifier->jobs, next)
    {
        if (memcmp(job->digest, digest, DIGEST_KEYED_SIZE) == 0)
            return job;
    }
    return NULL;
}

/* Under the mutex. */
static struct share share_of(const struct verifier *verifier, bool known, struct view user)
{
    struct share share = {0};
    struct job *job;
    TAILQ_FOREACH(job, &verifier->jobs, next)
    {
        if (job->known != known || (known && !view_eq(view_of(job->user), user)))
            continue;
        share.jobs++;
        share.waiters += job->waiter_count;
        share.turn = job->turn;
        if (!job->waiter_count && job != verifier->current)
            share.abandoned = job;
    }
    return share;
}

static bool has_room(const struct verifier *verifier, const struct share *share)
{
    return share->jobs < VERIFIER_PER_USER && verifier->job_count < VERIFIER_JOBS;
}

/* Behind the jobs of the same turn. */
static void insert(struct verifier *verifier, struct job *job)
{
    struct job *at = TAILQ_LAST(&verifier->jobs, jobs);
    while (at && at->turn > job->turn)
        at = TAILQ_PREV(at, jobs, next);
    if (at)
        TAILQ_INSERT_AFTER(&verifier->jobs, at, job, next);
    else
        TAILQ_INSERT_HEAD(&verifier->jobs, job, next);
    verifier->job_count++;
}

/* Returns the job of that digest, or a new one; NULL: too many wait. Under the mutex. */
static struct job *get_job(struct verifier *verifier, const struct verify *verify,
                           const uint8_t *digest)
{
    struct share share = share_of(verifier, verify->known, verify->user);
    if (verifier->waiter_count == VERIFIER_WAITERS || share.waiters >= VERIFIER_WAITERS_PER_USER)
        return NULL;
    struct job *job = find_job(verifier, digest);
    if (job)
        return job;
    while (share.abandoned && !has_room(verifier, &share)) {
        take_out(verifier, share.abandoned);
        share = share_of(verifier, verify->known, verify->user);
    }
    job = has_room(verifier, &share) ? job_new(verify, digest) : NULL;
    if (job) {
        job->turn = share.jobs ? share.turn + 1 : verifier->turn + 1;
        insert(verifier, job);
    }
    return job;
}

/* Under the mutex. False: no room, no memory or no thread. */
static bool verifier_add(struct verifier *verifier, const struct verify *verify,
                         const uint8_t *digest, auth_done_fn *done, void *ctx)
{
    if (!verifier->started)
        verifier->started = thread_start(&verifier->thread, "basicauth", verifier_run, verifier);
    struct waiter *waiter = verifier->started ? malloc(sizeof *waiter) : NULL;
    bool open = waiter && !verifier->stopping;
    struct job *job = open ? get_job(verifier, verify, digest) : NULL;
    if (!job) {
        free(waiter);
        return false;
    }
    uint64_t until = clock_mono(verifier->clock) + VERIFIER_WAIT_NS;
    *waiter = (struct waiter){.done = done, .ctx = ctx, .until = until};
    SLIST_INSERT_HEAD(&job->waiters, waiter, next);
    job->waiter_count++;
    verifier->waiter_count++;
    pthread_cond_signal(&verifier->work);
    return true;
}

void verifier_check(struct verifier *verifier, const struct verify *verify, auth_done_fn *done,
                    void *ctx)
{
    uint8_t digest[DIGEST_KEYED_SIZE];
    enum auth_result result = AUTH_LATER;
    if (verify->password.size > PASSWORD_MAX) {
        result = AUTH_DENIED;
    } else if (digest_of(verifier, verify, digest)) {
        pthread_mutex_lock(&verifier->mutex);
        result = recall(verifier, digest);
        if (result == AUTH_PENDING && !verifier_add(verifier, verify, digest, done, ctx))
            result = AUTH_LATER;
        pthread_mutex_unlock(&verifier->mutex);
    }
    if (result != AUTH_PENDING)
        done(ctx, result);
}

/* ---- life ---- */

struct verifier *verifier_new(const struct clock *clock)
{
    struct verifier *verifier = calloc(1, sizeof *verifier);
    if (!verifier || !digest_key(verifier->key)) {
        free(verifier);
        return NULL;
    }
    verifier->clock = clock;
    pthread_mutex_init(&verifier->mutex, NULL);
    thread_cond_init(&verifier->work);
    TAILQ_INIT(&verifier->jobs);
    return verifier;
}

void verifier_free(struct verifier *verifier)
{
    if (!verifier)
        return;
    pthread_mutex_lock(&verifier->mutex);
    verifier->stopping = true;
    pthread_cond_signal(&verifier->work);
    pthread_mutex_unlock(&verifier->mutex);
    if (verifier->started)
        pthread_join(verifier->thread, NULL);
    while (!TAILQ_EMPTY(&verifier->jobs)) {
        struct waiters waiters = take_out(verifier, TAILQ_FIRST(&verifier->jobs));
        verifier_answer(&waiters, AUTH_LATER);
    }
    pthread_cond_destroy(&verifier->work);
    pthread_mutex_destroy(&verifier->mutex);
    explicit_bzero(verifier, sizeof *verifier);
    free(verifier);
}
