#include "receivers/pprof/scraper.h"

#include "lib/base/log.h"
#include "lib/base/thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_LATE = 2 }; /* intervals that a pull waits for a worker before it is logged */

void scraper_unref(struct scraper *scraper)
{
    if (atomic_fetch_sub(&scraper->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&scraper->lock);
    pthread_cond_destroy(&scraper->timetable);
    pthread_cond_destroy(&scraper->work);
    pthread_cond_destroy(&scraper->answered);
    for (size_t i = 0; i < scraper->lookup_count; i++)
        free(scraper->lookups[i].name);
    free(scraper->lookups);
    free(scraper);
}

/* ---- workers ---- */

static void scraper_advance(struct job *job, uint64_t now)
{
    uint64_t missed = now > job->due ? (now - job->due) / job->interval : 0;
    job->due += (missed + 1) * job->interval;
}

static void *work(void *ctx)
{
    struct scraper *scraper = ctx;
    pthread_mutex_lock(&scraper->lock);
    while (!scraper->stopping) {
        struct job *job = scraper->first;
        if (!job) {
            scraper->idle++;
            pthread_cond_wait(&scraper->work, &scraper->lock);
            scraper->idle--;
            continue;
        }
        scraper->first = job->next;
        if (!scraper->first)
            scraper->last = &scraper->first;
        scraper->queue_size--;
        job->waits = false;
        pthread_mutex_unlock(&scraper->lock);
        pull_run(scraper, job);
        pthread_mutex_lock(&scraper->lock);
        job->queued = false;
        scraper_advance(job, clock_mono(&clock_system));
        pthread_cond_signal(&scraper->timetable);
    }
    pthread_mutex_unlock(&scraper->lock);
    return NULL;
}

/* Wakes or starts a worker for a queued job. Under the lock. */
static void wake_worker(struct scraper *scraper)
{
    pthread_t *thread = &scraper->workers[scraper->worker_count];
    pthread_cond_signal(&scraper->work);
    if (scraper->idle < scraper->queue_size &&
        scraper->worker_count < (unsigned)scraper->self->max_concurrent)
        scraper->worker_count += thread_start(thread, "pprof-pull", work, scraper);
}

/* ---- the timetable ---- */

static void note_late(struct scraper *scraper, const struct job *job, uint64_t now)
{
    if (!job->waits || now < job->due + MAX_LATE * job->interval || scraper->late_logged)
        return;
    scraper->late_logged = true;
    env_warn(scraper->env,
             "pulls start late, because max_concurrent (%" PRId64 ") pulls are running",
             scraper->self->max_concurrent);
}

/* Queues jobs that are due. Returns when the next one is due. */
static uint64_t queue_jobs(struct scraper *scraper, const struct target *target, uint64_t now)
{
    uint64_t next = TIME_NEVER;
    for (size_t i = 0; i < target->job_count; i++) {
        struct job *job = &target->jobs[i];
        if (job->queued) {
            note_late(scraper, job, now);
        } else if (job->due > now) {
            next = job->due < next ? job->due : next;
        } else {
            job->queued = job->waits = true;
            job->next = NULL;
            *scraper->last = job;
            scraper->last = &job->next;
            scraper->queue_size++;
            wake_worker(scraper);
        }
    }
    return next;
}

static bool is_busy(const struct target *target)
{
    for (size_t i = 0; i < target->job_count; i++)
        if (target->jobs[i].queued)
            return true;
    return false;
}

static uint64_t visit_targets(struct scraper *scraper, uint64_t now)
{
    uint64_t next = TIME_NEVER;
    for (struct target **at = &scraper->targets; *at;) {
        struct target *target = *at;
        if (target->gone && !is_busy(target)) {
            *at = target->next;
            target_free(target);
            continue;
        }
        uint64_t due = target->gone ? TIME_NEVER : queue_jobs(scraper, target, now);
        next = due < next ? due : next;
        at = &target->next;
    }
    return next;
}

static uint64_t visit_lookups(struct scraper *scraper, uint64_t now)
{
    uint64_t next = TIME_NEVER;
    for (size_t i = 0; i < scraper->lookup_count; i++) {
        struct lookup *lookup = &scraper->lookups[i];
        if (!lookup->busy && lookup->due <= now)
            lookup_start(lookup);
        if (!lookup->busy && lookup->due < next)
            next = lookup->due;
    }
    return next;
}

enum { SD_EVERY_S = 1 };

/* Releases the lock while files are read. */
static uint64_t poll_files(struct scraper *scraper, uint64_t now)
{
    if (scraper->self->file_sd.count == 0)
        return TIME_NEVER;
    if (now >= scraper->sd_due) {
        scraper->sd_due = now + SD_EVERY_S * NS_PER_S;
        pthread_mutex_unlock(&scraper->lock);
        sd_files_poll(scraper, now);
        pthread_mutex_lock(&scraper->lock);
    }
    return scraper->sd_due;
}

static uint64_t scraper_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void *wait_for_due(void *ctx)
{
    struct scraper *scraper = ctx;
    pthread_mutex_lock(&scraper->lock);
    while (!scraper->stopping) {
        uint64_t now = clock_mono(&clock_system);
        uint64_t files = poll_files(scraper, now);
        uint64_t jobs = visit_targets(scraper, now), lookups = visit_lookups(scraper, now);
        if (!scraper->stopping)
            thread_cond_wait_until(&scraper->timetable, &scraper->lock,
                                   scraper_least(files, scraper_least(jobs, lookups)));
    }
    pthread_mutex_unlock(&scraper->lock);
    return NULL;
}

/* ---- life ---- */

static bool open_clients(struct scraper *scraper, char *error, size_t error_size)
{
    const struct pprof_receiver *self = scraper->self;
    const struct client_settings *settings[] = {&self->client, &self->client, &self->remote.client};
    for (size_t i = 0; i < 3; i++) {
        uint64_t timeout = settings[i]->timeout;
        struct http_client_options options = {
            .id = scraper->env->id,
            .timeout_ns = i == 1 && timeout ? timeout + profile_seconds(self) * NS_PER_S : timeout,
            .proxy_url = self->proxy_url,
            .tls = settings[i]->tls,
            .tls_key = i == 2 ? "remote.tls" : "tls",
            .headers = &settings[i]->headers,
            .auth = settings[i]->auth.by,
            .max_reply = (size_t)self->max_profile_size,
            .budget = scraper->env->budget,
        };
        scraper->clients[i] = http_client_new(&options, error, error_size);
        if (!scraper->clients[i])
            return false;
    }
    return true;
}

static bool open_lookups(struct scraper *scraper)
{
    const struct dns_settings *dns = scraper->self->dns.items;
    scraper->lookups = calloc(scraper->self->dns.count + 1, sizeof *scraper->lookups);
    bool good = scraper->lookups;
    for (size_t i = 0; good && i < scraper->self->dns.count; i++) {
        struct lookup *lookup = &scraper->lookups[scraper->lookup_count++];
        *lookup = (struct lookup){.scraper = scraper,
                                  .settings = &dns[i],
                                  .name = strdup(dns[i].name),
                                  .type = (enum dns_type)dns[i].type,
                                  .port = (unsigned)dns[i].port};
        good = lookup->name;
    }
    return good;
}

struct scraper *scraper_open(const struct pprof_receiver *self, char *error, size_t error_size)
{
    struct scraper *scraper = calloc(1, sizeof *scraper);
    snprintf(error, error_size, "out of memory");
    if (!scraper)
        return NULL;
    scraper->refs = 1;
    scraper->self = self;
    scraper->env = self->env;
    scraper->last = &scraper->first;
    pthread_mutex_init(&scraper->lock, NULL);
    thread_cond_init(&scraper->timetable);
    thread_cond_init(&scraper->work);
    thread_cond_init(&scraper->answered);
    scraper->workers = calloc((size_t)self->max_concurrent, sizeof *scraper->workers);
    bool good = scraper->workers && open_clients(scraper, error, error_size) &&
                open_lookups(scraper) && targets_open(scraper);
    if (good) {
        scraper->waiting = thread_start(&scraper->waiter, "pprof-due", wait_for_due, scraper);
        if (scraper->waiting)
            return scraper;
        snprintf(error, error_size, "cannot start a thread");
    }
    scraper_close(scraper);
    return NULL;
}

void scraper_close(struct scraper *scraper)
{
    if (!scraper)
        return;
    pthread_mutex_lock(&scraper->lock);
    scraper->stopping = true;
    pthread_cond_broadcast(&scraper->timetable);
    pthread_cond_broadcast(&scraper->work);
    pthread_cond_broadcast(&scraper->answered);
    pthread_mutex_unlock(&scraper->lock);
    for (size_t i = 0; i < 3; i++)
        if (scraper->clients[i])
            http_client_abort(scraper->clients[i]);
    if (scraper->waiting)
        pthread_join(scraper->waiter, NULL);
    for (unsigned i = 0; i < scraper->worker_count; i++)
        pthread_join(scraper->workers[i], NULL);
    free(scraper->workers);
    for (struct target *target = scraper->targets, *next; target; target = next) {
        next = target->next;
        target_free(target);
    }
    for (size_t i = 0; i < 3; i++)
        http_client_free(scraper->clients[i]);
    sd_files_free(scraper);
    scraper_unref(scraper);
}

void scraper_explain(struct scraper *scraper, struct bytes *out)
{
    pthread_mutex_lock(&scraper->lock);
    for (const struct target *target = scraper->targets; target; target = target->next)
        for (size_t i = 0; i < target->job_count; i++) {
            const struct job *job = &target->jobs[i];
            bytes_printf(out, "%s: %s: pulled %" PRIu64 ", failed %" PRIu64 "%s%s\n",
                         scraper->env->id, job->shown, job->pulled, job->failed,
                         job->fault[0] ? ": " : "", job->fault);
        }
    pthread_mutex_unlock(&scraper->lock);
}
