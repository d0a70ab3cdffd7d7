/* The profiles signal: windows and span ids are noted, spans that waited for them leave. */
#include "processors/correlation/decide.h"
#include "processors/correlation/notes.h"
#include "processors/correlation/passing.h"
#include "processors/correlation/release.h"
#include "processors/correlation/uploads.h"

#define GRAFANA_REACH (30 * NS_PER_S)

/* Tables of strings, ids and edits: a few times the profile at most. */
static size_t arena_cap(const struct batch *batch)
{
    return ((size_t)1 << 20) + 32 * batch->payload->size;
}

/* The kinds of which any sample can confirm a span, ... */
static unsigned kinds_linked(const struct correlation *self)
{
    if (self->confirm.automatic)
        return KIND_BIT(KIND_PROCESS_CPU) | KIND_BIT(KIND_WALL);
    return self->confirm.kinds;
}

/* ... and those whose samples are read. */
static unsigned kinds_read(const struct correlation *self)
{
    bool wanted = self->config.link == LINK_CONFIRMED || self->config.annotate;
    return wanted ? kinds_linked(self) : 0;
}

static void note_ids(struct correlation *self, struct service *service, const struct upload *upload,
                     uint32_t second)
{
    uint64_t scope = service_scope(service);
    for (size_t i = 0; i < upload->count; i++) {
        if (i + DECIDE_AHEAD < upload->count)
            span_index_expect(&self->index, scope, upload->ids[i + DECIDE_AHEAD].id);
        service->counts.ids +=
            span_index_add(&self->index, scope, &upload->ids[i], upload->window.kind, second);
    }
}

static void note(struct correlation *self, const struct upload *upload, struct judge_now now,
                 struct release *release)
{
    uint64_t remember = self->config.remember;
    struct service *service = services_see(&self->services, upload->service, now.mono);
    if (!service)
        return;
    if (upload->unread) {
        service_note_unread(service, upload->unread, now.mono);
    } else {
        service->from_go |= upload->from_go;
        service_note_window(service, &upload->window, now.mono, remember);
        unsigned kinds = service_kinds(service, &self->confirm, now.mono, remember);
        if (kinds & KIND_BIT(upload->window.kind))
            note_ids(self, service, upload, correlation_second(self, now.mono));
    }
    if (service->oldest)
        decide_waiting(self, service, true, release);
    if (service->due < self->tick_at) {
        self->tick_at = service->due;
        env_tick_at(self->env, self->tick_at);
    }
}

/* For the next process, should this one be killed. */
static void write_note(const struct correlation *self, const struct upload *uploads)
{
    struct bytes out;
    if (!self->env->journal)
        return;
    bytes_init(&out, SIZE_MAX / 2, self->env->budget);
    if (notes_write(uploads, self->since, &out))
        env_note(self->env, bytes_view(&out), self->config.remember);
    bytes_release(&out);
}

void profiles_note_start(struct correlation *self)
{
    write_note(self, NULL);
}

void profiles_recall(void *instance, struct view content)
{
    struct correlation *self = instance;
    struct arena arena;
    struct upload *uploads;
    struct release release = {0};
    uint64_t since, wall = clock_wall(self->env->clock);
    arena_init(&arena, ((size_t)1 << 20) + 32 * content.size);
    if (notes_read(content, &arena, &uploads, &since)) {
        pthread_mutex_lock(&self->lock);
        if (since < self->since && wall - since < self->config.remember)
            self->since = since;
        for (; uploads; uploads = uploads->next)
            note(self, uploads, correlation_now(self), &release);
        pthread_mutex_unlock(&self->lock);
    }
    arena_release(&arena);
}

static void note_all(struct correlation *self, const struct upload *uploads)
{
    if (uploads)
        write_note(self, uploads);
    struct release release = {0};
    pthread_mutex_lock(&self->lock);
    struct judge_now now = correlation_now(self);
    for (; uploads; uploads = uploads->next)
        note(self, uploads, now, &release);
    pthread_mutex_unlock(&self->lock);
    release_send(self, &release);
}

/* Grafana asks for the profiles whose time is at most 30 s from the span: of a longer window, the
 * time of either end is out of reach for the spans at the other. One longer than the memory of
 * samples is a mistake of its sender's. */
static bool takes_middle(const struct correlation *self, const struct upload *upload)
{
    return self->config.profile_time == PROFILE_TIME_AUTO && upload && upload->middle &&
           kinds_linked(self) & KIND_BIT(upload->window.kind) &&
           upload->window.length > GRAFANA_REACH && upload->window.length <= self->config.remember;
}

/* The pprof with its labels normalised and its time set; the same buffer (referenced) where nothing
 * changes. NULL: no memory. */
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

/* The batch as it goes on. NULL: no memory. */
static struct batch *remapped(const struct batch *batch, struct buffer *payload,
                              struct series *series)
{
    struct batch *copy = batch_with_payload(batch, payload, batch->items);
    if (copy && series)
        batch_set_series(copy, series_ref(series));
    return copy;
}

static enum verdict push_pprof(struct correlation *self, struct batch *batch, struct series *series,
                               const struct pprof *pprof, const struct upload *upload,
                               struct arena *arena, struct outlet *next)
{
    struct buffer *payload = rewrite(self, pprof, upload, batch->payload, arena);
    if (!payload)
        return VERDICT_RETRY;
    if (payload == batch->payload && series == batch->series) {
        buffer_unref(payload);
        return outlet_push(next, batch);
    }
    struct batch *copy = remapped(batch, payload, series);
    enum verdict verdict = copy ? outlet_push(next, copy) : VERDICT_RETRY;
    batch_unref(copy);
    return verdict;
}

static enum verdict push_and_note(struct correlation *self, struct batch *batch,
                                  const struct upload *uploads, struct outlet *next)
{
    enum verdict verdict = outlet_push(next, batch);
    if (verdict == VERDICT_OK)
        note_all(self, uploads);
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
    struct upload *upload = uploads_of_pprof(batch, series, &pprof, kinds_read(self),
                                             clock_wall(self->env->clock), arena);
    enum verdict verdict = push_pprof(self, batch, series, &pprof, upload, arena, next);
    if (verdict == VERDICT_OK)
        note_all(self, upload);
    series_unref(series);
    return verdict;
}

static enum verdict consume_otlp(struct correlation *self, struct batch *batch, struct arena *arena,
                                 struct outlet *next)
{
    struct upload *uploads = NULL;
    uploads_of_otlp(buffer_view(batch->payload), kinds_read(self), clock_wall(self->env->clock),
                    arena, &uploads);
    enum verdict verdict = passing_consume(&self->profile_remap, batch, next);
    if (verdict == VERDICT_OK)
        note_all(self, uploads);
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
