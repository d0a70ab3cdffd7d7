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
};
SLIST_HEAD(waiters, waiter);

struct job {
    STAILQ_ENTRY(job) next;
    struct waiters waiters;
    uint8_t digest[DIGEST_KEYED_SIZE];
    enum password_kind kind;
    bool known;
    char *user, *hash;
    struct view password;
};
STAILQ_HEAD(jobs, job);

struct verifier {
    uint8_t key[DIGEST_KEY_SIZE];
    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t work;
    pthread_t thread;
    bool started, stopping;
    struct jobs jobs; /* the first one is being checked */
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

/* Removes the first job, under the mutex; the caller answers its waiters. */
static struct waiters take_first(struct verifier *verifier)
{
    struct job *job = STAILQ_FIRST(&verifier->jobs);
    struct waiters waiters = job->waiters;
    struct waiter *waiter;
    STAILQ_REMOVE_HEAD(&verifier->jobs, next);
    verifier->job_count--;
    SLIST_FOREACH(waiter, &waiters, next)
    verifier->waiter_count--;
    job_free(job);
    return waiters;
}

/* Runs the first job; called and returns under the mutex. */
static void work_off(struct verifier *verifier)
{
    const struct job *job = STAILQ_FIRST(&verifier->jobs);
    pthread_mutex_unlock(&verifier->mutex);
    bool fits = password_fits(job->kind, job->hash, job->password) && job->known;
    pthread_mutex_lock(&verifier->mutex);
    remember(fits ? &verifier->right : &verifier->wrong, job->digest);
    struct waiters waiters = take_first(verifier);
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
    while (!verifier->stopping) {
        if (STAILQ_EMPTY(&verifier->jobs))
            pthread_cond_wait(&verifier->work, &verifier->mutex);
        else
            work_off(verifier);
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

/* Returns the job of that digest, or a new one; NULL: too many wait. Under the mutex. */
static struct job *find_job(struct verifier *verifier, const struct verify *verify,
                            const uint8_t *digest)
{
    struct job *job;
    unsigned of_user = 0;
    struct view user = verify->known ? verify->user : VIEW("");
    if (verifier->waiter_count == VERIFIER_WAITERS || verifier->stopping)
        return NULL;
    STAILQ_FOREACH(job, &verifier->jobs, next)
    {
        if (memcmp(job->digest, digest, DIGEST_KEYED_SIZE) == 0)
            return job;
        of_user += job->known == verify->known && view_eq(view_of(job->user), user);
    }
    if (of_user >= VERIFIER_PER_USER || verifier->job_count >= VERIFIER_JOBS)
        return NULL;
    job = job_new(verify, digest);
    if (job) {
        STAILQ_INSERT_TAIL(&verifier->jobs, job, next);
        verifier->job_count++;
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
    struct job *job = waiter ? find_job(verifier, verify, digest) : NULL;
    if (!job) {
        free(waiter);
        return false;
    }
    *waiter = (struct waiter){.done = done, .ctx = ctx};
    SLIST_INSERT_HEAD(&job->waiters, waiter, next);
    verifier->waiter_count++;
    pthread_cond_signal(&verifier->work);
    return true;
}

void verifier_check(struct verifier *verifier, const struct verify *verify, auth_done_fn *done,
                    void *ctx)
{
    uint8_t digest[DIGEST_KEYED_SIZE];
    enum auth_result result = AUTH_LATER;
    if (digest_of(verifier, verify, digest)) {
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

struct verifier *verifier_new(void)
{
    struct verifier *verifier = calloc(1, sizeof *verifier);
    if (!verifier || !digest_key(verifier->key)) {
        free(verifier);
        return NULL;
    }
    pthread_mutex_init(&verifier->mutex, NULL);
    thread_cond_init(&verifier->work);
    STAILQ_INIT(&verifier->jobs);
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
    while (!STAILQ_EMPTY(&verifier->jobs)) {
        struct waiters waiters = take_first(verifier);
        verifier_answer(&waiters, AUTH_LATER);
    }
    pthread_cond_destroy(&verifier->work);
    pthread_mutex_destroy(&verifier->mutex);
    explicit_bzero(verifier, sizeof *verifier);
    free(verifier);
}
