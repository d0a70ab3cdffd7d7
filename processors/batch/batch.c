/* Collects small requests into larger ones, by number of items and by time; only data of one
 * pipeline and tenant are combined. OTLP requests are merged by concatenation. */
#include "pipeline/answered.h"
#include "pipeline/backlog.h"
#include "pipeline/client_info.h"
#include "pipeline/component.h"
#include "pipeline/gathering.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A group is sent before it grows past this, the largest request that a gRPC exporter sends by
 * default, so that a merged request is not cut again; or past such a part of the memory limit, as
 * it may be copied whatever there is. */
enum { GROUP_BYTES = 4000000, GROUP_SHARE = 8 };

/* Requests that become one: same outlet, same headers of metadata_keys, and mergeable. */
struct group {
    struct group *next;
    struct outlet *outlet;
    struct client_info *client; /* those headers; NULL: there are no metadata_keys */
    uint64_t due;
    struct gathering requests;
};

struct batcher {
    int64_t send_batch_size;
    int64_t send_batch_max_size;
    uint64_t timeout;
    struct key_list metadata_keys;
    const struct env *env;
    pthread_mutex_t lock;
    struct group *groups;   /* under lock */
    struct backlog backlog; /* what no queue has taken yet; from here on not under lock */
    _Atomic uint64_t group_count;
    _Atomic uint64_t by_size, by_timeout;
    struct histogram sent_items, sent_bytes;
};

static const struct key keys[] = {
    KEY_INT(struct batcher, send_batch_size, "send_batch_size", "8192", 0, 4294967295.0,
            "items after which a batch is sent at once; 0: each request is sent alone"),
    KEY_INT(struct batcher, send_batch_max_size, "send_batch_max_size", "0", 0, 4294967295.0,
            "larger batches are split; 0: no limit"),
    KEY_DURATION(struct batcher, timeout, "timeout", "200ms", 0,
                 "a batch is sent after this time whatever its size; 0: at once"),
    KEY_LIST(struct batcher, metadata_keys, "metadata_keys", NULL,
             "requests with different values of these headers are not merged (the receiver needs "
             "include_metadata)"),
    KEY_IGNORED("metadata_cardinality_limit", "accepted; the memory budget is the limit"),
    KEY_END,
};

static const struct metric metrics[] = {
    METRIC_HISTOGRAM_FIELD(struct batcher, sent_items, "otelcol_processor_batch_batch_send_size",
                           &histogram_items, METRIC_NORMAL, "{units}", "Items of a batch."),
    METRIC_HISTOGRAM_FIELD(struct batcher, sent_bytes,
                           "otelcol_processor_batch_batch_send_size_bytes", &histogram_bytes,
                           METRIC_DETAILED, "By", "Bytes of a batch."),
    METRIC_FIELD(struct batcher, by_size, "otelcol_processor_batch_batch_size_trigger_send",
                 METRIC_COUNTER, METRIC_NORMAL, "{times}", "Batches sent because of their size."),
    METRIC_FIELD(struct batcher, by_timeout, "otelcol_processor_batch_timeout_trigger_send",
                 METRIC_COUNTER, METRIC_NORMAL, "{times}", "Batches sent because of the timeout."),
    METRIC_FIELD(struct batcher, group_count, "otelcol_processor_batch_metadata_cardinality",
                 METRIC_GAUGE, METRIC_NORMAL, "{combinations}",
                 "Groups (pipeline and tenant) with waiting items."),
    METRIC_END,
};

static void batch_check(const void *config, struct key_report *report)
{
    const struct batcher *self = config;
    if (self->send_batch_max_size > 0 && self->send_batch_max_size < self->send_batch_size)
        key_report_add(report, "send_batch_max_size",
                       "must be greater than or equal to send_batch_size");
    for (size_t i = 0; i < self->metadata_keys.count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcasecmp(self->metadata_keys.items[i], self->metadata_keys.items[k]) == 0)
                key_report_add(report, "metadata_keys", "contains \"%s\" twice",
                               self->metadata_keys.items[i]);
}

static const char *batch_header(const void *instance, size_t i)
{
    const struct batcher *self = instance;
    return i < self->metadata_keys.count ? self->metadata_keys.items[i] : NULL;
}

static void count(struct histogram *histogram, const struct histogram_bounds *bounds, uint64_t n)
{
    if (metric_wanted(METRIC_NORMAL))
        histogram_add(histogram, bounds, n);
}

static void batch_passed(void *ctx, const struct batch *part)
{
    struct batcher *self = ctx;
    count(&self->sent_items, &histogram_items, part->items);
    count(&self->sent_bytes, &histogram_bytes, part->payload->size);
}

/* Hands on a batch (taken over) in parts; returns what no queue took, or NULL. */
static struct batch *push(void *ctx, struct outlet *outlet, struct batch *batch)
{
    struct batcher *self = ctx;
    const struct answered to = {.env = self->env,
                                .outlet = outlet,
                                .most = (uint32_t)self->send_batch_max_size,
                                .passed = batch_passed,
                                .ctx = self};
    return answered_push(&to, batch);
}

static void wake(void *ctx, uint64_t mono_ns)
{
    const struct batcher *self = ctx;
    env_tick_at(self->env, mono_ns);
}

static bool batch_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct batcher *self = instance;
    (void)error;
    (void)error_size;
    pthread_mutex_init(&self->lock, NULL);
    self->env = env;
    self->backlog = (struct backlog){.env = env, .push = push, .wake = wake, .ctx = self};
    backlog_begin(&self->backlog);
    if (self->metadata_keys.count)
        client_info_want(true);
    return true;
}

static void free_group(struct group *group)
{
    gathering_release(&group->requests);
    client_info_unref(group->client);
    free(group);
}

/* Without the memory for a copy, the batch itself. */
static void push_answered(struct batcher *self, struct outlet *outlet, struct batch *batch)
{
    struct batch *answered = answered_batch(batch);
    backlog_push(&self->backlog, outlet, answered ? answered : batch_ref(batch));
}

/* Merges a group (taken over) and hands it on. admitted: a place is reserved for it. */
static void flush(struct batcher *self, struct group *group, bool admitted)
{
    struct batch *merged = gathering_merge(&group->requests, self->env->budget);
    if (merged) {
        merged->admitted = admitted;
        merged->answered = true;
        merged->forced = false;
        if (group->client)
            batch_set_client(merged, client_info_ref(group->client));
        backlog_push(&self->backlog, group->outlet, merged);
    }
    for (size_t i = 0; !merged && i < group->requests.count; i++)
        push_answered(self, group->outlet, group->requests.batches[i]);
    free_group(group);
}

static bool belongs(const struct group *group, const struct batch *batch,
                    const struct outlet *outlet, const struct client_info *client)
{
    return group->outlet == outlet && batch_mergeable(group->requests.batches[0], batch) &&
           (!client || client_info_same_headers(group->client, client));
}

static struct group **batch_find(struct batcher *self, const struct batch *batch,
                                 const struct outlet *outlet, const struct client_info *client)
{
    struct group **at = &self->groups;
    while (*at && !belongs(*at, batch, outlet, client))
        at = &(*at)->next;
    return at;
}

static struct group *group_new(struct batcher *self, struct outlet *outlet,
                               struct client_info *client)
{
    struct group *group = calloc(1, sizeof *group);
    if (group) {
        group->outlet = outlet;
        group->client = client ? client_info_ref(client) : NULL;
        group->due = clock_mono(self->env->clock) + self->timeout;
    }
    return group;
}

/* Moves a group to the end of the list of those to send now. */
static void take_out(struct batcher *self, struct group **at, struct group **full)
{
    struct group *group = *at;
    *at = group->next;
    group->next = NULL;
    self->group_count--;
    while (*full)
        full = &(*full)->next;
    *full = group;
}

static size_t most_bytes(const struct batcher *self)
{
    size_t share = budget_share(self->env->budget) / GROUP_SHARE;
    return share < GROUP_BYTES ? share : GROUP_BYTES;
}

/* Adds the batch to its group; *full gets the groups to send now. client: that of the group. */
static bool batch_gather(struct batcher *self, struct batch *batch, struct outlet *next,
                         struct client_info *client, struct group **full)
{
    struct group **at = batch_find(self, batch, next, client);
    if (*at && (*at)->requests.bytes + batch->payload->size > most_bytes(self)) {
        take_out(self, at, full);
        at = batch_find(self, batch, next, client);
    }
    struct group *group = *at ? *at : group_new(self, next, client);
    if (!group || !gathering_add(&group->requests, batch)) {
        if (!*at && group)
            free_group(group);
        return false;
    }
    if (!*at) {
        *at = group;
        self->group_count++;
        env_tick_at(self->env, group->due);
    }
    if (group->requests.items >= (uint64_t)self->send_batch_size)
        take_out(self, at, full);
    return true;
}

static enum verdict batch_consume(void *instance, struct batch *batch, struct outlet *next)
{
    struct batcher *self = instance;
    struct group *full = NULL;
    /* Profiles refer to their request's dictionary, so two requests cannot be concatenated. */
    if (batch->encoding != BATCH_OTLP || batch->signal == SIGNAL_PROFILES)
        return outlet_push(next, batch);
    if (self->timeout == 0 || self->send_batch_size == 0) {
        push_answered(self, next, batch);
        return VERDICT_OK;
    }
    const struct key_list *names = &self->metadata_keys;
    struct client_info *client =
        names->count ? client_info_only(batch->client, names->items, names->count) : NULL;
    if (names->count && !client)
        return VERDICT_RETRY;
    pthread_mutex_lock(&self->lock);
    bool gathered = batch_gather(self, batch, next, client, &full);
    pthread_mutex_unlock(&self->lock);
    client_info_unref(client);
    for (bool admitted = batch->admitted; full; admitted = false) {
        struct group *group = full;
        full = group->next;
        self->by_size++;
        flush(self, group, admitted);
    }
    return gathered ? VERDICT_OK : VERDICT_RETRY;
}

/* Removes the groups that are due; *next: when the earliest of the others is. */
static struct group *take_due(struct batcher *self, uint64_t now, uint64_t *next)
{
    struct group *due = NULL, **at = &self->groups;
    while (*at) {
        struct group *group = *at;
        if (group->due > now) {
            *next = group->due < *next ? group->due : *next;
            at = &group->next;
            continue;
        }
        *at = group->next;
        self->group_count--;
        group->next = due;
        due = group;
    }
    return due;
}

static void flush_due(struct batcher *self, uint64_t now, uint64_t *next)
{
    pthread_mutex_lock(&self->lock);
    struct group *due = take_due(self, now, next);
    pthread_mutex_unlock(&self->lock);
    backlog_offer_again(&self->backlog);
    while (due) {
        struct group *group = due;
        due = group->next;
        self->by_timeout++;
        flush(self, group, false);
    }
}

static uint64_t batch_tick(void *instance, uint64_t mono_ns)
{
    uint64_t next = TIME_NEVER;
    flush_due(instance, mono_ns, &next);
    return next;
}

static void batch_close(void *instance)
{
    struct batcher *self = instance;
    uint64_t next = TIME_NEVER;
    if (!self->env)
        return;
    flush_due(self, TIME_NEVER, &next);
    backlog_end(&self->backlog);
    pthread_mutex_destroy(&self->lock);
    if (self->metadata_keys.count)
        client_info_want(false);
    self->env = NULL;
}

const struct component processor_batch = {
    .type = "batch",
    .text = "collects small requests into larger ones",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNALS_ALL,
    .size = sizeof(struct batcher),
    .keys = keys,
    .metrics = metrics,
    .check = batch_check,
    .header = batch_header,
    .open = batch_open,
    .gathers = true,
    .takes_over = SIGNALS_ALL & ~SIGNAL_BIT(SIGNAL_PROFILES),
    .consume = batch_consume,
    .tick = batch_tick,
    .close = batch_close,
};
