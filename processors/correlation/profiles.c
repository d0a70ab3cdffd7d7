/* The profiles signal: notes windows and span ids, and lets go the spans that waited for them. */
#include "processors/correlation/correlation.h"

#include "processors/correlation/known/notes.h"
#include "processors/correlation/known/uploads.h"
#include "processors/correlation/release/release.h"
#include "processors/correlation/remap_only.h"
#include "processors/correlation/rule/advise.h"
#include "processors/correlation/rule/waiting.h"
#include "processors/correlation/tell.h"

#define GRAFANA_REACH (30 * NS_PER_S)
#define LONGEST_MOVED (120 * NS_PER_S)
#define LONGEST_WAIT  (150 * NS_PER_S)

/* Tables of strings, ids and edits take at most a few times the profile's size. */
static size_t arena_cap(const struct batch *batch)
{
    return ((size_t)1 << 20) + 32 * batch->payload->size;
}

/* Kinds of which a sample can confirm a span, ... */
static unsigned kinds_linked(const struct correlation *self)
{
    if (self->rules.confirm.automatic)
        return KINDS_TIMED;
    return self->rules.confirm.kinds;
}

/* Whether spans need the ids in samples. */
static bool needs_ids(const struct correlation *self)
{
    return self->config.link == LINK_CONFIRMED || self->config.annotate;
}

/* ... and kinds whose samples are read: a watcher wants all that name a span, whatever confirms. */
static unsigned kinds_read(const struct correlation *self)
{
    if (watch_on(self->env->watch))
        return KINDS_ALL;
    return needs_ids(self) ? kinds_linked(self) : 0;
}

static struct upload_reading reading_of(const struct correlation *self)
{
    return (struct upload_reading){
        .kinds = kinds_read(self),
        .symbolizes = self->config.symbolizer,
        .rest = watch_on(self->env->watch) ? KINDS_TIMED | kinds_linked(self) : 0,
        .now = clock_wall(self->env->clock),
    };
}

/* An upload that is being noted. Its ids are read in chunks, and the lock is released in
 * between. */
struct noting {
    struct context context;
    const struct upload *upload;
    struct timeline *timeline; /* NULL: of a kind that does not confirm, or without times */
    struct timeline_window window;
    uint32_t serial; /* of its sequence; 0: no memory for one */
    struct release release;
};

/* Chunks between which the lock is released. */
enum { IDS_AT_ONCE = 512, UPLOADS_AT_ONCE = 64 };

static void yield_lock(struct noting *noting)
{
    struct correlation *self = noting->context.self;
    pthread_mutex_unlock(&self->lock);
    release_send(self, &noting->release);
    pthread_mutex_lock(&self->lock);
    /* Spans decided in between may not have seen all ids. */
    noting->context.service->version++;
}

/* Whether the spans that its samples name have come, or would have: not before the first did. */
static bool may_match(const struct noting *noting)
{
    uint64_t first = noting->context.service->first_candidate;
    return first && noting->window.start >= first;
}

static void index_ids(struct noting *noting)
{
    const struct upload *upload = noting->upload;
    struct service *service = noting->context.service;
    struct span_index *index = &noting->context.self->index;
    uint64_t scope = service_scope(service), added = 0;
    for (size_t i = 0; i < upload->count; i++) {
        if (i + DECIDE_AHEAD < upload->count)
            span_index_prefetch(index, scope, upload->ids[i + DECIDE_AHEAD].id);
        if (i % IDS_AT_ONCE == IDS_AT_ONCE - 1)
            yield_lock(noting);
        added += span_index_add(index, scope, &upload->ids[i], upload->window.kind,
                                noting->context.second);
    }
    service->counts.ids += added;
    if (may_match(noting))
        match_note_ids(&service->match, added, noting->context.now.mono);
}

static void link_ids(struct noting *noting)
{
    const struct upload *upload = noting->upload;
    struct context *context = &noting->context;
    const struct held_ids *held = &context->self->hold.ids;
    for (size_t i = 0; i < upload->count; i++) {
        if (i + DECIDE_AHEAD < upload->count)
            held_ids_prefetch(held, upload->ids[i + DECIDE_AHEAD].id);
        if (i % IDS_AT_ONCE == IDS_AT_ONCE - 1)
            yield_lock(noting);
        uint64_t id = upload->ids[i].id;
        if (i > 0 && id == upload->ids[i - 1].id)
            continue;
        struct sighting sighting = {
            .id = id,
            .timeline = noting->timeline,
            .serial = noting->serial,
            .window_start = noting->window.aside ? 0 : noting->window.start,
        };
        waiting_link(context, &sighting, &noting->release);
    }
}

/* Finds the sequence of the window; false: the upload is a repeat. */
static bool place_window(struct noting *noting)
{
    const struct window *window = &noting->upload->window;
    struct context *context = &noting->context;
    struct judge_now now = context->now;
    uint64_t end = window->end ? window->end : noting->upload->has_samples ? now.wall : 0;
    if (!end)
        return true;
    noting->timeline = service_timeline(context->service, window->kind, context->self->env->budget);
    if (!noting->timeline)
        return true;
    noting->window = (struct timeline_window){
        .start = window->start ? judge_local(now, window->start) : 0,
        .end = judge_local(now, end),
        .length = window->length,
        .labels = window->labels,
        .content = window->content,
    };
    noting->window.aside =
        window->wrong || !timeline_believes(noting->timeline, &noting->window, now.mono,
                                            context->self->config.remember);
    bool again;
    struct sequence *sequence = timeline_place(noting->timeline, &noting->window, now.mono,
                                               context->self->config.remember, &again);
    noting->serial = sequence ? sequence->serial : 0;
    return !again;
}

/* Whether samples of the kind confirm spans of the service, now that such a profile has arrived. */
static bool is_confirming(const struct context *context, enum kind kind)
{
    const struct correlation *self = context->self;
    if (self->rules.confirm.automatic && kind == KIND_PROCESS_CPU)
        return true;
    return kind < KIND_OTHER && context->kinds & KIND_BIT(kind);
}

static void note_confirming(struct noting *noting)
{
    const struct upload *upload = noting->upload;
    struct context *context = &noting->context;
    struct correlation *self = context->self;
    if (!place_window(noting))
        return;
    if (upload->window.kind == KIND_PROCESS_CPU && self->rules.confirm.automatic)
        context->kinds = KIND_BIT(KIND_PROCESS_CPU);
    if (watch_on(self->env->watch))
        tell_upload(context, upload, true);
    if (needs_ids(self))
        index_ids(noting);
    if (self->config.link == LINK_CONFIRMED)
        link_ids(noting);
    if (noting->timeline)
        timeline_take(noting->timeline, timeline_find(noting->timeline, noting->serial),
                      &noting->window, context->now.mono, self->config.remember);
    evidence_note_profile(context->service, upload->window.kind, true, upload->has_samples,
                          upload->count > 0);
    if (upload->window.wrong)
        advise_window(self, context->service);
    else if (upload->window.capped)
        evidence_note_capped(context->service);
}

/* Whether the same upload came before, as far as that is remembered. */
static bool came_before(const struct noting *noting)
{
    struct id_table *uploads = &noting->context.self->uploads;
    const struct window *window = &noting->upload->window;
    uint64_t key = window->content ^ service_scope(noting->context.service);
    if (!window->content)
        return false;
    if (id_table_find(uploads, key, noting->context.second))
        return true;
    id_table_put(uploads, key, noting->context.second);
    return false;
}

static void note_read(struct noting *noting)
{
    const struct upload *upload = noting->upload;
    struct service *service = noting->context.service;
    if (came_before(noting))
        return;
    service->from_go |= upload->from_go;
    if (kinds_linked(noting->context.self) & KIND_BIT(upload->window.kind))
        service->unsymbolized |= upload->unsymbolized;
    if (is_confirming(&noting->context, upload->window.kind)) {
        note_confirming(noting);
        return;
    }
    if (watch_on(noting->context.self->env->watch))
        tell_upload(&noting->context, upload, false);
    evidence_note_profile(service, upload->window.kind, false, upload->has_samples, false);
}

/* Under the lock, which is released now and then. */
static void profiles_note(struct correlation *self, const struct upload *upload,
                          struct judge_now now)
{
    struct noting noting = {.upload = upload};
    struct service *service =
        services_see_profile(&self->services, upload->tenant, upload->service, now.mono);
    if (!service)
        return;
    context_open(&noting.context, self, service, now);
    advise_profile_came(self, service, now.mono);
    if (upload->recalled && upload->wide_at)
        service_note_wide(service, judge_local(now, upload->wide_at));
    if (upload->recalled)
        evidence_note_skew(service, 0, upload->skew);
    service->building++;
    if (upload->unread && watch_on(self->env->watch))
        tell_upload(&noting.context, upload, false);
    if (upload->unread)
        service_note_unread(service, upload->unread, now.mono);
    else
        note_read(&noting);
    waiting_reconsider(&noting.context);
    service->building--;
    if (noting.release.first) {
        pthread_mutex_unlock(&self->lock);
        release_send(self, &noting.release);
        pthread_mutex_lock(&self->lock);
    }
}

/* Spans may have waited longer than samples are remembered. */
static uint64_t notes_kept(const struct correlation *self)
{
    uint64_t remember = self->config.remember;
    return remember > LONGEST_WAIT ? remember : LONGEST_WAIT;
}

/* Adds what was learnt of their services, which later spans depend on. */
static void add_learnt(struct correlation *self, struct upload *uploads)
{
    pthread_mutex_lock(&self->lock);
    struct judge_now now = correlation_now(self);
    for (struct upload *upload = uploads; upload; upload = upload->next) {
        const struct service *service =
            services_see_profile(&self->services, upload->tenant, upload->service, now.mono);
        if (service && service->wide)
            upload->wide_at = now.wall - (now.mono - service->wide_at);
        upload->skew = service ? service->skew : 0;
    }
    pthread_mutex_unlock(&self->lock);
}

/* For the next process, in case this one is killed. */
static void write_note(const struct correlation *self, struct upload *uploads)
{
    const struct notes notes = {uploads, self->since, clock_wall(self->env->clock)};
    struct bytes out;
    if (!self->env->journal)
        return;
    bytes_init(&out, SIZE_MAX / 2, self->env->budget);
    if (notes_write(&notes, &out))
        env_note(self->env, bytes_view(&out), notes_kept(self));
    bytes_release(&out);
}

void profiles_note_start(struct correlation *self)
{
    write_note(self, NULL);
}

/* Since then the previous process had missed no profile. Notes from before the oldest may have been
 * dropped for want of room. */
static void recall_since(struct correlation *self, const struct notes *notes, struct judge_now now)
{
    uint64_t kept = notes_kept(self), since = notes->since;
    uint64_t from = now.wall > kept ? now.wall - kept : 0;
    if (!self->oldest_note)
        self->oldest_note = notes->arrived;
    if (from < self->oldest_note)
        from = self->oldest_note;
    if (since < from)
        since = from;
    if (since < self->since) {
        self->since = since;
        if (self->first_since && since < *self->first_since)
            *self->first_since = since;
        self->recalled_from = judge_local(now, since);
    }
}

void profiles_recall(void *instance, struct view content)
{
    struct correlation *self = instance;
    struct arena arena;
    struct notes notes;
    arena_init(&arena, ((size_t)1 << 20) + 32 * content.size);
    if (notes_read(content, &arena, &notes)) {
        pthread_mutex_lock(&self->lock);
        struct judge_now now = correlation_now(self);
        recall_since(self, &notes, now);
        now.mono = judge_local(now, notes.arrived);
        now.wall = notes.arrived < now.wall ? notes.arrived : now.wall;
        for (struct upload *upload = notes.uploads; upload; upload = upload->next) {
            upload->recalled = true;
            profiles_note(self, upload, now);
        }
        pthread_mutex_unlock(&self->lock);
    }
    arena_release(&arena);
}

/* Lets go the spans that the uploads have decided. */
static void profiles_let_go(struct correlation *self)
{
    bool more = true;
    while (more) {
        struct release release = {0};
        pthread_mutex_lock(&self->lock);
        struct judge_now now = correlation_now(self);
        more = self->hold.oldest && waiting_judge_due(self, now, &release) <= now.mono;
        correlation_ask_tick(self);
        correlation_publish_hold(self);
        pthread_mutex_unlock(&self->lock);
        release_send(self, &release);
    }
}

static void note_all(struct correlation *self, const struct batch *batch, struct upload *uploads)
{
    struct view tenant = correlation_tenant(self, batch);
    if (!uploads)
        return;
    for (struct upload *upload = uploads; upload; upload = upload->next) {
        upload->tenant = tenant;
        upload->recalled = batch->ids_only;
    }
    if (self->env->journal)
        add_learnt(self, uploads);
    write_note(self, uploads);
    pthread_mutex_lock(&self->lock);
    for (unsigned i = 1; uploads; uploads = uploads->next, i++) {
        profiles_note(self, uploads, correlation_now(self));
        if (i % UPLOADS_AT_ONCE == 0) {
            pthread_mutex_unlock(&self->lock);
            pthread_mutex_lock(&self->lock);
        }
    }
    correlation_publish_known(self);
    pthread_mutex_unlock(&self->lock);
    profiles_let_go(self);
}

/* Grafana asks for profiles whose time is at most 30 s from the span: in a longer window, the time
 * of either end is out of reach for spans at the other. Profiles of more than two minutes serve
 * another purpose, or are a mistake. */
static bool is_moved(const struct upload *upload)
{
    return upload->window.length > GRAFANA_REACH && upload->window.length <= LONGEST_MOVED;
}

static bool takes_middle(const struct correlation *self, const struct upload *upload)
{
    return self->config.profile_time == PROFILE_TIME_AUTO && upload && upload->middle &&
           kinds_linked(self) & KIND_BIT(upload->window.kind) && is_moved(upload);
}

/* When the window starts, where the pprof that is handed on says something else; 0: it does not. */
static uint64_t starts_apart(const struct correlation *self, const struct pprof *pprof,
                             const struct upload *upload)
{
    bool timed = pprof_has_time(pprof) && pprof->time_nanos > 0;
    if (!upload || (timed && !is_moved(upload)))
        return 0;
    uint64_t time = timed ? (uint64_t)pprof->time_nanos : 0;
    return takes_middle(self, upload) || upload->starts != time ? upload->starts : 0;
}

/* Returns the pprof with its labels normalised and its time set; the same buffer (referenced) if
 * nothing changes. NULL: no memory. */
static struct buffer *rewrite(const struct correlation *self, const struct pprof *pprof,
                              const struct upload *upload, struct buffer *payload,
                              struct arena *arena)
{
    struct pprof_rewrite wanted = {
        .strip_trace_id = self->config.trace_id == TRACE_ID_STRIP,
        .drop_time = takes_middle(self, upload),
    };
    struct splice splice;
    splice_begin(&splice, pprof->raw, arena);
    pprof_rewrite_labels(pprof, &wanted, &splice);
    if (wanted.drop_time)
        pprof_set_time(pprof, (int64_t)upload->middle, &splice);
    if (!splice.failed && !splice_any(&splice))
        return buffer_ref(payload);
    if (splice.failed)
        return NULL;
    struct buffer *buffer = buffer_new(splice_size(&splice), self->env->budget, true);
    if (buffer)
        splice_write(&splice, buffer->data);
    return buffer;
}

/* Returns the batch with the payload and series to hand on. NULL: no memory. */
static struct batch *remapped(const struct batch *batch, struct buffer *payload,
                              struct series *series)
{
    struct batch *edited = batch_with_payload(batch, payload, batch->items);
    if (edited && series)
        batch_set_series(edited, series_ref(series));
    return edited;
}

static enum verdict push_pprof(struct correlation *self, struct batch *batch, struct series *series,
                               const struct pprof *pprof, const struct upload *upload,
                               struct arena *arena, struct outlet *next)
{
    struct buffer *payload = rewrite(self, pprof, upload, batch->payload, arena);
    if (!payload)
        return VERDICT_RETRY;
    uint64_t starts = starts_apart(self, pprof, upload);
    if (payload == batch->payload && series == batch->series && !starts) {
        buffer_unref(payload);
        return tell_push(self, batch, next, true);
    }
    struct batch *edited = remapped(batch, payload, series);
    if (edited)
        edited->starts = starts;
    enum verdict verdict = edited ? tell_push(self, edited, next, true) : VERDICT_RETRY;
    batch_unref(edited);
    return verdict;
}

static enum verdict push_and_note(struct correlation *self, struct batch *batch,
                                  struct upload *uploads, struct outlet *next)
{
    enum verdict verdict = tell_push(self, batch, next, true);
    if (verdict == VERDICT_OK)
        note_all(self, batch, uploads);
    return verdict;
}

static enum verdict consume_pprof(struct correlation *self, struct batch *batch,
                                  struct arena *arena, struct outlet *next)
{
    struct pprof pprof;
    if (!pprof_reopen(&pprof, buffer_view(batch->payload), arena))
        return push_and_note(self, batch, uploads_of_unread(batch, batch->series, arena), next);
    struct series *series = batch->series ? series_ref(batch->series) : NULL;
    if (series && !(series = remap_series(&self->remap, series)))
        return VERDICT_RETRY;
    struct upload_reading reading = reading_of(self);
    struct upload *upload = uploads_of_pprof(batch, series, &pprof, &reading, arena);
    enum verdict verdict = push_pprof(self, batch, series, &pprof, upload, arena, next);
    if (verdict == VERDICT_OK)
        note_all(self, batch, upload);
    series_unref(series);
    return verdict;
}

static enum verdict consume_otlp(struct correlation *self, struct batch *batch, struct arena *arena,
                                 struct outlet *next)
{
    struct upload *uploads = NULL;
    struct upload_reading reading = reading_of(self);
    uploads_of_otlp(buffer_view(batch->payload), &reading, arena, &uploads);
    enum verdict verdict =
        batch->ids_only ? VERDICT_OK : remap_only_consume(&self->profile_remap, batch, next);
    if (verdict == VERDICT_OK) {
        if (!batch->ids_only)
            watch_passed(self->env->watch, batch, true);
        note_all(self, batch, uploads);
    }
    return verdict;
}

static enum verdict consume_opaque(struct correlation *self, struct batch *batch,
                                   struct arena *arena, struct outlet *next)
{
    struct upload *uploads = uploads_of_opaque(
        batch, kinds_read(self), clock_wall(self->env->clock), self->env->budget, arena);
    return push_and_note(self, batch, uploads, next);
}

enum verdict profiles_consume(struct correlation *self, struct batch *batch, struct outlet *next)
{
    struct arena arena;
    arena_init(&arena, arena_cap(batch));
    arena_charge(&arena, self->env->budget, budget_use, ARENA_SMALL + batch->payload->size);
    enum verdict verdict = VERDICT_OK;
    switch (batch->encoding) {
    case BATCH_PPROF:
        verdict = consume_pprof(self, batch, &arena, next);
        break;
    case BATCH_OTLP:
        verdict = consume_otlp(self, batch, &arena, next);
        break;
    case BATCH_OPAQUE:
        verdict = consume_opaque(self, batch, &arena, next);
        break;
    }
    arena_release(&arena);
    return verdict;
}
