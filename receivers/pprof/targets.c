/* The targets of the configuration, of DNS names and of files, each with its jobs. */
#include "receivers/pprof/scraper.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define SCOPE_NAME "spanlink/pprof_scrape"

enum { URL_SIZE = 2048, MEMORY_OF_ONE = 64 << 20, LABELS_MAX = 64 };

/* How a standard profile is pulled. */
static const struct {
    const char *name; /* of its series */
    bool timed;
    bool cumulative;
} standard[PROFILE_COUNT] = {
    [PROFILE_PROCESS_CPU] = {"process_cpu", true, false},
    [PROFILE_MEMORY] = {"memory", false, true},
    [PROFILE_GOROUTINE] = {"goroutine", false, false},
    [PROFILE_MUTEX] = {"mutex", false, true},
    [PROFILE_BLOCK] = {"block", false, true},
    [PROFILE_DELTA_MEMORY] = {"memory", false, false},
    [PROFILE_DELTA_MUTEX] = {"mutex", false, false},
    [PROFILE_DELTA_BLOCK] = {"block", false, false},
    [PROFILE_FGPROF] = {"fgprof", true, false},
};

/* What a target's jobs are made from. */
struct plan {
    struct scraper *scraper;
    struct target *target;
    const char *base;     /* the target's URL */
    const char *instance; /* host:port */
    const char *service;
    const struct key_map *labels;
    const struct key_map *params; /* of the target; NULL: none */
};

static const struct key_map no_pairs;

bool target_url(const char *endpoint, const char *scheme, char *out, size_t out_size)
{
    bool whole = strstr(endpoint, "://");
    int size = snprintf(out, out_size, "%s%s%s", whole ? "" : scheme, whole ? "" : "://", endpoint);
    if (size < 0 || (size_t)size >= out_size)
        return false;
    while (size > 0 && out[size - 1] == '/')
        out[--size] = '\0';
    return true;
}

/* Where the host begins, after user and password. */
static const char *host_in(const char *url)
{
    const char *host = strstr(url, "://") + 3;
    const char *at = memrchr(host, '@', strcspn(host, "/?#"));
    return at ? at + 1 : host;
}

static void targets_host_of(const char *url, char *out, size_t out_size)
{
    const char *host = host_in(url);
    snprintf(out, out_size, "%.*s", (int)strcspn(host, "/?#"), host);
}

static char *without_user(const char *url)
{
    char *text;
    int scheme = (int)(strstr(url, "://") + 3 - url);
    return asprintf(&text, "%.*s%s", scheme, url, host_in(url)) < 0 ? NULL : text;
}

static struct series *series_of(const struct plan *plan, const char *name)
{
    struct series_label labels[LABELS_MAX] = {{VIEW("__name__"), view_of(name)}};
    size_t count = 1;
    if (plan->service)
        labels[count++] = (struct series_label){VIEW("service_name"), view_of(plan->service)};
    const char *job = plan->scraper->self->job_name;
    labels[count++] = (struct series_label){VIEW("instance"), view_of(plan->instance)};
    labels[count++] =
        (struct series_label){VIEW("job"), view_of(*job ? job : plan->scraper->env->id)};
    if (!plan->labels || !key_map_get(plan->labels, "otel.scope.name")) {
        labels[count++] = (struct series_label){VIEW("otel.scope.name"), VIEW(SCOPE_NAME)};
        labels[count++] = (struct series_label){VIEW("otel.scope.version"), VIEW(SPANLINK_VERSION)};
    }
    for (size_t i = 0; plan->labels && i < plan->labels->count && count < LABELS_MAX; i++)
        labels[count++] = (struct series_label){view_of(plan->labels->pairs[i].name),
                                                view_of(plan->labels->pairs[i].value)};
    return series_new(labels, count);
}

/* Spreads pulls over the interval, with the same offsets at every start. */
static uint64_t offset_of(const char *url, uint64_t interval)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (; *url; url++)
        sum = (sum ^ (uint8_t)*url) * UINT64_C(0x100000001b3);
    return (sum ^ sum >> 29) % interval;
}

static void put_escaped(const char *text, FILE *out)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("-_.~", c);
        if (plain)
            putc(c, out);
        else
            fprintf(out, "%%%02X", c);
    }
}

static void put_parameter(const char *name, const char *value, char *joint, FILE *out)
{
    putc(*joint, out);
    *joint = '&';
    put_escaped(name, out);
    putc('=', out);
    put_escaped(value, out);
}

/* A parameter of the target replaces the first configured one of the same name. */
static void put_parameters(const struct plan *plan, char *joint, FILE *out)
{
    const struct key_map *common = &plan->scraper->self->params;
    const struct key_map *own = plan->params ? plan->params : &no_pairs;
    for (size_t i = 0; i < own->count; i++)
        put_parameter(own->pairs[i].name, own->pairs[i].value, joint, out);
    for (size_t i = 0; i < common->count; i++) {
        const char *name = common->pairs[i].name;
        bool first = true;
        for (size_t j = 0; j < i; j++)
            first = first && strcmp(common->pairs[j].name, name) != 0;
        if (!first || !key_map_get(own, name))
            put_parameter(name, common->pairs[i].value, joint, out);
    }
}

/* NULL: no memory. */
static char *job_url(const struct plan *plan, const char *path, bool timed)
{
    char *url = NULL, seconds[32], joint = strchr(path, '?') ? '&' : '?';
    size_t size;
    FILE *out = open_memstream(&url, &size);
    if (!out)
        return NULL;
    fprintf(out, "%s%s%s", plan->base, *path == '/' || !*path ? "" : "/", path);
    if (plan->params)
        put_parameters(plan, &joint, out);
    snprintf(seconds, sizeof seconds, "%u", profile_seconds(plan->scraper->self));
    if (timed)
        put_parameter("seconds", seconds, &joint, out);
    if (fclose(out) == 0)
        return url;
    free(url);
    return NULL;
}

static struct job *add_job(const struct plan *plan, const char *name, const char *path, bool timed)
{
    struct target *target = plan->target;
    struct scraper *scraper = plan->scraper;
    const struct pprof_receiver *self = scraper->self;
    struct job *job = &target->jobs[target->job_count];
    *job = (struct job){.target = target,
                        .series = series_of(plan, name),
                        .client = scraper->clients[timed],
                        .interval = self->interval};
    job->url = job_url(plan, path, timed);
    job->shown = job->url ? without_user(job->url) : NULL;
    pprof_delta_init(&job->delta, MEMORY_OF_ONE, scraper->env->budget);
    target->job_count++;
    if (!job->series || !job->shown)
        return NULL;
    job->due = clock_mono(&clock_system) + offset_of(job->url, job->interval);
    return job;
}

static bool add_jobs(const struct plan *plan)
{
    const struct profiles_settings *profiles = &plan->scraper->self->profiles;
    const struct custom_profile_settings *custom = profiles->custom.items;
    plan->target->jobs = calloc(PROFILE_COUNT + profiles->custom.count, sizeof(struct job));
    bool good = plan->target->jobs;
    for (size_t i = 0; good && i < PROFILE_COUNT; i++) {
        const struct profile_settings *profile = &profiles->standard[i];
        if (!profile->enabled)
            continue;
        struct job *job = add_job(plan, standard[i].name, profile->path, standard[i].timed);
        good = job;
        if (job)
            job->cumulative = standard[i].cumulative;
    }
    for (size_t i = 0; good && i < profiles->custom.count; i++) {
        struct job *job = add_job(plan, custom[i].name, custom[i].path, custom[i].timed);
        good = job;
        if (job)
            job->cumulative = custom[i].cumulative;
    }
    return good;
}

void target_free(struct target *target)
{
    for (size_t i = 0; i < target->job_count; i++) {
        series_unref(target->jobs[i].series);
        free(target->jobs[i].url);
        free(target->jobs[i].shown);
        pprof_delta_release(&target->jobs[i].delta);
    }
    free(target->jobs);
    free(target->place);
    free(target);
}

static struct target *targets_add_target(struct scraper *scraper)
{
    struct target *target = calloc(1, sizeof *target);
    if (target) {
        target->next = scraper->targets;
        scraper->targets = target;
    }
    return target;
}

static bool add_static(struct scraper *scraper, const struct target_settings *settings)
{
    char base[URL_SIZE], instance[URL_SIZE];
    struct target *target = targets_add_target(scraper);
    if (!target || !target_url(settings->endpoint, "http", base, sizeof base))
        return false;
    targets_host_of(base, instance, sizeof instance);
    const struct plan plan = {scraper,           target,   base, instance, settings->service_name,
                              &settings->labels, &no_pairs};
    return add_jobs(&plan);
}

/* The profile that Go serves at the URL's path; NULL: unknown. */
static const char *name_of(const char *url, bool *cumulative)
{
    static const struct {
        const char *path, *name;
        bool cumulative;
    } known[] = {
        {"/profile", "process_cpu", false}, {"/allocs", "memory", true}, {"/heap", "memory", true},
        {"/goroutine", "goroutine", false}, {"/mutex", "mutex", true},   {"/block", "block", true},
    };
    size_t size = strcspn(url, "?#");
    *cumulative = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].path);
        if (size >= n && strncmp(url + size - n, known[i].path, n) == 0) {
            /* With seconds=, Go itself returns the delta. */
            *cumulative = known[i].cumulative && !strstr(url + size, "seconds=");
            return known[i].name;
        }
    }
    return NULL;
}

static bool add_remote(struct scraper *scraper)
{
    const struct remote_settings *remote = &scraper->self->remote;
    char instance[URL_SIZE];
    bool cumulative;
    struct target *target = targets_add_target(scraper);
    if (!target || !(target->jobs = calloc(1, sizeof *target->jobs)))
        return false;
    const char *name = name_of(remote->endpoint, &cumulative);
    targets_host_of(remote->endpoint, instance, sizeof instance);
    const struct plan plan = {
        scraper, target, remote->endpoint, instance, name ? remote->service_name : NULL,
        NULL,    NULL};
    struct job *job = add_job(&plan, name ? name : remote->service_name, "", false);
    if (!job)
        return false;
    job->by_types = !name;
    job->cumulative = cumulative;
    job->client = scraper->clients[2];
    job->interval = remote->interval;
    job->due = clock_mono(&clock_system) + remote->initial_delay;
    return true;
}

bool targets_open(struct scraper *scraper)
{
    const struct pprof_receiver *self = scraper->self;
    const struct target_settings *targets = self->targets.items;
    for (size_t i = 0; i < self->targets.count; i++)
        if (!add_static(scraper, &targets[i]))
            return false;
    return !self->has_remote || add_remote(scraper);
}

/* Out of memory: the target is missing until the next lookup or poll. */
static void add_found(struct scraper *scraper, const void *source, const char *known_as,
                      const char *scheme, const struct plan *of)
{
    char base[URL_SIZE];
    struct plan plan = *of;
    struct target *target = targets_add_target(scraper);
    if (!target)
        return;
    *target = (struct target){
        .next = target->next, .source = source, .place = strdup(known_as), .seen = true};
    plan.target = target;
    plan.base = base;
    bool good = target->place && target_url(plan.instance, scheme, base, URL_SIZE);
    if (!good || !add_jobs(&plan)) {
        scraper->targets = target->next;
        target_free(target);
    }
}

static void begin_look(struct scraper *scraper)
{
    for (struct target *target = scraper->targets; target; target = target->next)
        target->seen = false;
}

/* Marks a known target as seen. False: it is new. */
static bool mark_seen(struct scraper *scraper, const void *source, const char *known_as)
{
    struct target *target = scraper->targets;
    while (target &&
           (target->source != source || target->gone || strcmp(target->place, known_as) != 0))
        target = target->next;
    if (target)
        target->seen = true;
    return target;
}

static void end_look(struct scraper *scraper, const void *source)
{
    for (struct target *target = scraper->targets; target; target = target->next)
        target->gone = target->gone || (target->source == source && !target->seen);
}

void targets_sync(struct scraper *scraper, const struct dns_settings *dns, struct view places)
{
    const char *at = (const char *)places.data, *end = at + places.size;
    begin_look(scraper);
    for (; at < end; at += strlen(at) + 1) {
        const struct plan plan = {.scraper = scraper,
                                  .instance = at,
                                  .service = dns->service_name,
                                  .labels = &dns->labels,
                                  .params = &no_pairs};
        if (!mark_seen(scraper, dns, at))
            add_found(scraper, dns, at, dns->scheme ? "https" : "http", &plan);
    }
    end_look(scraper, dns);
}

void targets_sync_file(struct scraper *scraper, const void *file, const char *service_name,
                       const struct sd_target *found, size_t count)
{
    begin_look(scraper);
    for (size_t i = 0; i < count; i++) {
        const struct sd_target *of = &found[i];
        const struct plan plan = {.scraper = scraper,
                                  .instance = of->address,
                                  .service = of->service_name ? of->service_name : service_name,
                                  .labels = of->labels,
                                  .params = of->params};
        if (!mark_seen(scraper, file, of->text))
            add_found(scraper, file, of->text, of->scheme, &plan);
    }
    end_look(scraper, file);
}
