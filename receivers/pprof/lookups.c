/* Names of targets looked up (receivers/pprof/scraper.h). */
#include "receivers/pprof/scraper.h"

#include "lib/base/log.h"
#include "lib/base/thread.h"

enum { PLACES_MAX = 1 << 20 };

/* Logs once that a lookup fails, and once that it succeeds again. Under the lock. */
static void lookups_note(struct lookup *lookup, bool good, const char *error)
{
    const struct env *env = lookup->scraper->env;
    if (!good && !lookup->failing)
        env_warn(env, "%s; keeping its targets", error);
    if (good && lookup->failing)
        env_info(env, "%s can be resolved again", lookup->name);
    lookup->failing = !good;
}

static void *look_up(void *ctx)
{
    struct lookup *lookup = ctx;
    struct scraper *scraper = lookup->scraper;
    struct bytes places;
    char error[256] = "";
    pthread_detach(pthread_self());
    bytes_init(&places, PLACES_MAX, NULL);
    bool good = dns_lookup(lookup->type, lookup->name, lookup->port, &places, error, sizeof error);
    pthread_mutex_lock(&scraper->lock);
    if (!scraper->stopping) {
        lookups_note(lookup, good, error);
        if (good)
            targets_sync(scraper, lookup->settings, bytes_view(&places));
        lookup->due = clock_mono(&clock_system) + lookup->settings->refresh;
        lookup->busy = false;
        pthread_cond_signal(&scraper->timetable);
    }
    pthread_mutex_unlock(&scraper->lock);
    bytes_release(&places);
    scraper_unref(scraper);
    return NULL;
}

void lookup_start(struct lookup *lookup)
{
    pthread_t thread;
    lookup->busy = true;
    atomic_fetch_add(&lookup->scraper->refs, 1);
    if (thread_start(&thread, "pprof-dns", look_up, lookup))
        return;
    atomic_fetch_sub(&lookup->scraper->refs, 1);
    lookup->busy = false;
    lookup->due = clock_mono(&clock_system) + lookup->settings->refresh;
}
