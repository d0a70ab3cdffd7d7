/* The component: configuration, lifecycle, and what both signals share. */
#include "processors/correlation/correlation.h"

#include "processors/correlation/release/ahead.h"
#include "processors/correlation/release/pack.h"
#include "processors/correlation/release/release.h"
#include "processors/correlation/remap_only.h"
#include "processors/correlation/rule/advise.h"
#include "processors/correlation/rule/waiting.h"
#include "processors/correlation/tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define MIB          ((size_t)1 << 20)
#define TICK_AT_MOST (100 * NS_PER_MS)

/* Uploads of the last quarter of an hour are known again, about 50,000 of them: the Collector
 * retries for five minutes. */
#define UPLOADS_MAX MIB
enum { MAX_SERVICES = 10000, RETRIED_FOR_S = 900 };

static const char *const link_words[] = {"confirmed", "local_root", "all", NULL};
static const char *const candidates_words[] = {"auto", "local_root", "all", NULL};
static const char *const unconfirmed_words[] = {"remove", "keep", NULL};
static const char *const children_words[] = {"none", "inherit", NULL};
static const char *const trace_id_words[] = {"keep", "strip", NULL};
static const char *const profile_time_words[] = {"auto", "keep", NULL};

static const struct key keys[] = {
    KEY_CHOICE(struct correlation_config, link, "link", "confirmed", link_words,
               "which spans get the attribute: those whose samples arrived, every local root, all"),
    KEY_CHOICE(struct correlation_config, candidates, "candidates", "auto", candidates_words,
               "with link: confirmed, which spans wait for samples besides those the SDK marked"),
    KEY_DURATION(struct correlation_config, hold, "hold", "auto", KEY_AUTO,
                 "how long a span waits at most; auto: from the profile windows seen"),
    KEY_LIST(struct correlation_config, confirm_by, "confirm_by", "auto",
             "kinds of profile that confirm a span; auto: process_cpu if the service sends it, "
             "else wall"),
    KEY_DURATION(struct correlation_config, remember, "remember", "1h", 0,
                 "how long span ids from samples, and that a service is profiled, are remembered"),
    KEY_INT(struct correlation_config, index_max_mib, "index_max_mib", "16", 1, 65536,
            "limit of the index of span ids, MiB; the least recently seen are evicted"),
    KEY_INT(struct correlation_config, hold_max_mib, "hold_max_mib", "32", 1, 65536,
            "limit of the spans that wait, MiB; the oldest are forwarded unchanged"),
    KEY_INT(struct correlation_config, hold_max_spans, "hold_max_spans", "0", 0, 1e12,
            "the same as a number of spans; 0: only hold_max_mib limits them"),
    KEY_CHOICE(struct correlation_config, unconfirmed, "unconfirmed", "remove", unconfirmed_words,
               "whether a span without samples loses the SDK's attribute"),
    KEY_CHOICE(struct correlation_config, children, "children", "none", children_words,
               "inherit: descendants of a linked span get its id, if they have no samples"),
    KEY_BOOL(struct correlation_config, annotate, "annotate", "false",
             "adds pyroscope.profile.samples and pyroscope.profile.cpu_time_ns to linked spans"),
    KEY_MAP(struct correlation_config, remap, "remap", "{service.name: service_name}",
            KEY_REPLACES_MAP,
            "resource attributes and series labels copied under a second name; {}: none"),
    KEY_CHOICE(struct correlation_config, trace_id, "trace_id", "keep", trace_id_words,
               "trace_id labels of samples; strip them for Pyroscope servers before 2.1"),
    KEY_CHOICE(struct correlation_config, profile_time, "profile_time", "auto", profile_time_words,
               "auto: the time of a pprof of 30 to 120 s is set to the middle of its window"),
    KEY_BOOL(struct correlation_config, symbolizer, "symbolizer", "false",
             "samples without symbols count too: for a Pyroscope server with -symbolizer.enabled, "
             "or without a server"),
    KEY_END,
};

static void check_confirm_by(const struct correlation_config *config, struct key_report *report)
{
    const struct key_list *list = &config->confirm_by;
    if (list->count == 0)
        key_report_add(report, "confirm_by", "is empty, expected auto or kinds of profile");
    for (size_t i = 0; i < list->count; i++) {
        bool automatic = strcmp(list->items[i], "auto") == 0;
        if (automatic && list->count > 1)
            key_report_add(report, "confirm_by", "expected auto alone, or a list of kinds");
        else if (!automatic && kind_parse(view_of(list->items[i])) == KIND_OTHER)
            key_report_add(report, "confirm_by",
                           "\"%s\" is not a kind of profile, expected auto or any of process_cpu, "
                           "wall, memory, mutex, block, goroutine, off_cpu, exceptions",
                           list->items[i]);
    }
}

static void correlation_check(const void *self, struct key_report *report)
{
    const struct correlation_config *config = self;
    check_confirm_by(config, report);
    if (config->remember < NS_PER_S)
        key_report_add(report, "remember", "must be 1s or more");
    if (config->children == CHILDREN_INHERIT && config->link != LINK_CONFIRMED)
        key_report_add(report, "children", "inherit needs link: confirmed");
    for (size_t i = 0; i < config->remap.count; i++)
        if (!*config->remap.pairs[i].name || !*config->remap.pairs[i].value)
            key_report_add(report, "remap", "names must not be empty");
}

/* An instance in the wrong pipeline is a fault even if another is in the right one: the signals
 * meet only within one instance. */
static const char *misplaced(const void *self, unsigned signals, bool *severe)
{
    const struct correlation_config *config = self;
    bool traces = signals & SIGNAL_BIT(SIGNAL_TRACES);
    bool profiles = signals & SIGNAL_BIT(SIGNAL_PROFILES);
    if (config->link != LINK_CONFIRMED || traces == profiles)
        return NULL;
    *severe = traces;
    if (profiles)
        return "is in a profiles pipeline but in no traces pipeline, so it links no span: name "
               "the same instance in both";
    return "is in a traces pipeline but in no profiles pipeline, so no span can be linked: "
           "name the same instance in both, or set link: local_root, which needs no profiles";
}

static const char *const link_examples[] = {
    "0123456789abcdef", "fedcba9876543210", "1111111111111111", "ffffffffffffffff",
    "abcdefabcdefabcd", "90a1b2c3d4e5f607", "00000000000000a1", NULL,
};
static const char *const name_examples[] = {"a", "shop", "42", "Front-End 2", "zähler/x.y", NULL};
static const char same_name[] = "give spans and profiles that name where they are made "
                                "(OTEL_SERVICE_NAME and the profiler's application name)";

static const struct reliance reliances[] = {
    {{SIGNAL_TRACES, false, {"pyroscope.profile.id", link_examples, false}},
     SIGNAL_COUNT,
     "and with it the link to the flame graph",
     NULL,
     NULL},
    {{SIGNAL_TRACES, true, {"service.name", name_examples, true}},
     SIGNAL_PROFILES,
     "so spans leave under another name than their profiles, and Grafana finds no flame graph",
     "so spans have another name than their profiles, and no flame graph",
     same_name},
    {{SIGNAL_PROFILES, true, {"service.name", name_examples, true}},
     SIGNAL_TRACES,
     "so profiles leave under another name than their spans, and Grafana finds no flame graph",
     "so profiles have another name than their spans, which have no flame graph",
     same_name},
    {.of.what.key = NULL},
};

/* for_profiles: without the label that a server derives itself from service.name, since it refuses
 * duplicates. */
static bool fill_remap(struct remap *remap, const struct key_map *map, bool for_profiles)
{
    remap->pairs = calloc(map->count + 1, sizeof *remap->pairs);
    for (size_t i = 0; remap->pairs && i < map->count; i++) {
        const struct key_pair *pair = &map->pairs[i];
        if (!for_profiles || strcmp(pair->value, "service_name") != 0)
            remap->pairs[remap->count++] = (struct remap_pair){pair->name, pair->value};
    }
    return remap->pairs;
}

static struct confirm_by confirm_of(const struct key_list *list)
{
    struct confirm_by confirm = {0};
    for (size_t i = 0; i < list->count; i++) {
        enum kind kind = kind_parse(view_of(list->items[i]));
        if (kind == KIND_OTHER)
            confirm.automatic = true;
        else
            confirm.kinds |= KIND_BIT(kind);
    }
    return confirm;
}

/* What a reload that replaces the instance hands to the next one, which counts nothing before the
 * old one is closed. */
struct heirloom {
    struct tallies tallies;
    uint64_t since; /* of the first; 1: a reload added that; 0: none was open yet */
};

static void heirloom_release(void *heirloom)
{
    tallies_release(&((struct heirloom *)heirloom)->tallies);
}

static struct tallies *correlation_inherit(struct correlation *self)
{
    struct meter *meter = self->env->meter;
    struct heirloom *heirloom =
        meter ? meter_area(meter, sizeof *heirloom, heirloom_release) : NULL;
    if (!heirloom)
        return &self->tallies;
    self->reloaded = heirloom->since > 0 || self->env->by_reload;
    if (!heirloom->since)
        heirloom->since = self->env->by_reload ? 1 : self->since;
    self->first_since = &heirloom->since;
    return &heirloom->tallies;
}

static void init_tables(struct correlation *self)
{
    const struct correlation_config *config = &self->config;
    struct budget *budget = self->env->budget;
    uint64_t seconds = config->remember / NS_PER_S, seed = self->started;
    uint32_t remember = seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
    size_t index = (size_t)config->index_max_mib * MIB;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
        seed = self->started;
    span_index_init(&self->index, index, config->annotate, remember, seed, budget);
    id_table_init(&self->ancestry, index, true, remember, ~seed, budget);
    id_table_init(&self->uploads, UPLOADS_MAX, false, RETRIED_FOR_S, seed * 7, budget);
    services_init(&self->services, MAX_SERVICES, config->remember, budget);
    self->services.tallies = self->top ? NULL : correlation_inherit(self);
    self->services.let_go = waiting_give_up;
    self->services.ctx = self;
    interner_init(&self->interner, budget);
    recent_init(&self->recent, seed * 3, budget);
    bytes_init(&self->advice, ADVICE_MAX,
               NULL); /* no budget: it also reports that the budget is full */
    self->hold = (struct hold){
        .max_bytes = (size_t)config->hold_max_mib * MIB,
        .max_spans = (uint64_t)config->hold_max_spans,
    };
    correlation_published(self)->hold_limit = (size_t)config->hold_max_mib * MIB;
    held_ids_init(&self->hold.ids, seed * 5, budget);
}

void correlation_begin(struct correlation *self)
{
    self->rules = (struct evidence_rules){
        .confirm = confirm_of(&self->config.confirm_by),
        .hold = self->config.hold,
        .remember = self->config.remember,
    };
    self->policy = (struct edit_policy){
        .keep_unconfirmed = self->config.unconfirmed == UNCONFIRMED_KEEP,
        .annotate = self->config.annotate,
    };
    self->started = self->since = clock_wall(self->env->clock);
    self->started_mono = clock_mono(self->env->clock);
    self->recalled_from = UINT64_MAX;
    self->outgoing_due = TIME_NEVER;
    self->tick_at = TIME_NEVER;
    init_tables(self);
    pthread_mutex_init(&self->lock, NULL);
    self->open = true;
}

static bool open_instance(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct correlation *self = instance;
    self->env = env;
    if (!fill_remap(&self->remap, &self->config.remap, false) ||
        !fill_remap(&self->profile_remap, &self->config.remap, true)) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    lanes_init(&self->lanes);
    correlation_begin(self);
    self->holder =
        (struct watch_holder){.ctx = self, .waits = correlation_waits, .visit = correlation_visit};
    watch_add_holder(env->watch, &self->holder);
    profiles_note_start(self);
    return true;
}

static enum verdict consume(void *instance, struct batch *batch, struct outlet *next)
{
    struct correlation *self = instance;
    bool linked = batch->signal == SIGNAL_TRACES || batch->signal == SIGNAL_PROFILES;
    if (batch->lane && linked)
        return lanes_consume(self, batch, next);
    switch (batch->signal) {
    case SIGNAL_TRACES:
        return traces_consume(self, batch, next);
    case SIGNAL_PROFILES:
        return profiles_consume(self, batch, next);
    case SIGNAL_METRICS:
    case SIGNAL_LOGS:
        return remap_only_consume(&self->remap, batch, next);
    case SIGNAL_COUNT:
        break;
    }
    return VERDICT_REJECT;
}

/* Lets due spans go, some at a time; returns when something is due next, mono. */
static uint64_t correlation_let_go(struct correlation *self)
{
    for (;;) {
        struct release release = {0};
        pthread_mutex_lock(&self->lock);
        struct judge_now now = correlation_now(self);
        uint64_t next = waiting_judge_due(self, now, &release);
        bool more = next <= now.mono;
        /* Spans that are due within a moment of one another leave in one batch. */
        if (next < now.mono + TICK_AT_MOST)
            next = now.mono + TICK_AT_MOST;
        self->tick_at = next;
        correlation_publish_hold(self);
        pthread_mutex_unlock(&self->lock);
        release_send(self, &release);
        if (!more)
            return next;
    }
}

uint64_t correlation_tick(struct correlation *self, uint64_t mono_ns)
{
    pthread_mutex_lock(&self->lock);
    bool resume = self->outgoing_due <= mono_ns;
    pthread_mutex_unlock(&self->lock);
    if (resume)
        release_resume(self);
    uint64_t next = correlation_let_go(self), advice = advise_minutely(self, mono_ns);
    if (advice < next)
        next = advice;
    advise_log(self);

    pthread_mutex_lock(&self->lock);
    if (self->outgoing_due < next)
        next = self->outgoing_due;
    pthread_mutex_unlock(&self->lock);
    return next;
}

static uint64_t tick(void *instance, uint64_t mono_ns)
{
    struct correlation *self = instance;
    uint64_t next = correlation_tick(self, mono_ns), lanes = lanes_tick(self, mono_ns);
    return lanes < next ? lanes : next;
}

void correlation_hand_on(struct correlation *self)
{
    struct release release = {0};
    uint64_t undecided = waiting_judge_all(self, correlation_now(self), &release);
    if (undecided)
        env_info(self->env, "%" PRIu64 " span%s that waited for samples %s handed on undecided",
                 undecided, undecided == 1 ? "" : "s", undecided == 1 ? "was" : "were");
    release_send(self, &release);
    release_finish(self);
}

void correlation_release(struct correlation *self)
{
    (void)advise_minutely(self, TIME_NEVER - 1);
    advise_log(self);
    correlation_publish_none(self);
    ahead_release(self);
    bytes_release(&self->advice);
    held_ids_release(&self->hold.ids);
    recent_release(&self->recent);
    services_release(&self->services);
    tallies_release(&self->tallies);
    id_table_release(&self->index.table);
    id_table_release(&self->ancestry);
    id_table_release(&self->uploads);
    interner_release(&self->interner);
    pthread_mutex_destroy(&self->lock);
    self->open = false;
}

static void close_instance(void *instance)
{
    struct correlation *self = instance;
    if (self->open) {
        watch_remove_holder(self->env->watch, &self->holder);
        lanes_close(self);
        correlation_hand_on(self);
        correlation_release(self);
    }
    free(self->remap.pairs);
    free(self->profile_remap.pairs);
    self->remap = self->profile_remap = (struct remap){0};
}

const struct component processor_correlation = {
    .type = "correlation",
    .text = "links spans with the profile samples that were taken while they ran",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNALS_ALL,
    .size = sizeof(struct correlation),
    .keys = keys,
    .check = correlation_check,
    .misplaced = misplaced,
    .relies = reliances,
    .open = open_instance,
    .holds = SIGNAL_BIT(SIGNAL_TRACES),
    .consume = consume,
    .recall = profiles_recall,
    .tick = tick,
    .explain = correlation_explain,
    .metrics = correlation_metrics,
    .measure = correlation_measure,
    .close = close_instance,
};
