/* What correlation reads from a JFR upload, interpreted as the server does. */
#include "processors/correlation/known/uploads.h"

#include "lib/base/clock.h"
#include "lib/wire/codec/compress.h"
#include "lib/wire/http/http_query.h"
#include "lib/wire/http/multipart.h"
#include "lib/wire/jfr/jfr.h"
#include "lib/wire/jfr/jfr_labels.h"
#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/pprof/ingest_time.h"

#include <stdlib.h>
#include <string.h>

/* Of one part. A server with default limits accepts less than a tenth of it. */
enum { MAX_INFLATED = 64 << 20, DEFAULT_RATE = 100 };

/* The kinds that a recording can have: the first ones of enum kind. */
enum { JFR_KINDS = KIND_MUTEX + 1 };

/* A context of dynamic labels that has a span id. */
struct context {
    int64_t key;
    uint64_t id;
};

struct recording {
    struct view parts[2]; /* jfr, labels: as received ... */
    struct bytes inflated[2];
    struct view raw[2]; /* ... and inflated */
    struct jfr jfr;
    struct context *contexts; /* by key; without those that have no span */
    size_t context_count;
    uint64_t period; /* ns that a sample represents */
    bool times_cpu;  /* its samples measure CPU time */
    unsigned kinds;  /* kinds that it has windows of */
    unsigned wanted; /* kinds whose ids are wanted */
    bool counted;    /* a first walk has counted the rows, and what none has */
    struct upload *uploads[JFR_KINDS];
    size_t samples[JFR_KINDS];
    const char *why;
};

/* Finds the file parts, the first of each name. Any other body is the recording itself. */
static bool find_parts(struct recording *recording, const struct batch *batch)
{
    const char *type = batch->opaque->content_type;
    struct view body = buffer_view(batch->payload);
    struct multipart multipart;
    struct multipart_part part;
    if (!type || !strstr(type, "multipart/form-data")) {
        recording->raw[0] = body;
        return true;
    }
    recording->why = "JFR in a malformed form";
    if (!multipart_begin(&multipart, view_of(type), body))
        return false;
    while (multipart_next(&multipart, &part)) {
        if (!part.filename.data || !part.name.data)
            continue;
        int which = view_eq(part.name, VIEW("jfr"))      ? 0
                    : view_eq(part.name, VIEW("labels")) ? 1
                                                         : 2;
        if (which < 2 && !recording->parts[which].data)
            recording->parts[which] = part.content;
    }
    return !multipart.bad;
}

static bool inflate_part(struct recording *recording, int which, struct budget *budget)
{
    struct bytes *inflated = &recording->inflated[which];
    struct view part = recording->parts[which];
    if (!looks_gzip(part)) {
        if (part.data)
            recording->raw[which] = part;
        return true;
    }
    bytes_init(inflated, MAX_INFLATED, budget);
    switch (inflate_append(ENCODING_GZIP, part, inflated)) {
    case INFLATE_OK:
        recording->raw[which] = bytes_view(inflated);
        return true;
    case INFLATE_TOO_LARGE:
        recording->why = "JFR of more than 64 MiB";
        break;
    case INFLATE_NO_MEMORY:
        recording->why = "JFR, no room";
        break;
    case INFLATE_BAD:
        recording->why = "JFR in malformed gzip";
        break;
    }
    return false;
}

/* Returns the span id in a context's labels, as the profiler's user set them. 0: none. */
static uint64_t span_of(const struct jfr_labels *labels, int64_t key)
{
    static const char *const names[] = {"span_id", "profile_id"};
    for (size_t i = 0; i < 2; i++) {
        struct view hex = jfr_labels_of_context(labels, (uint64_t)key, view_of(names[i]));
        uint64_t id;
        if (hex.data && span_id_parse(hex, &id))
            return id;
    }
    return 0;
}

static bool read_contexts(struct recording *recording, struct arena *arena)
{
    struct jfr_labels labels;
    struct proto_fault fault;
    recording->why = "JFR with malformed labels";
    if (!jfr_labels_open(&labels, recording->raw[1], arena, &fault))
        return false;
    const struct jfr_label_map *map = &labels.contexts;
    recording->contexts = arena_array(arena, map->count, sizeof *recording->contexts);
    recording->why = "JFR, no room";
    if (!recording->contexts)
        return false;
    for (size_t i = 0; i < map->count; i++) {
        int64_t key = map->entries[i].key;
        /* Of equal keys the last one counts; looking each up would take quadratic time. */
        if (i + 1 < map->count && map->entries[i + 1].key == key)
            continue;
        uint64_t id = span_of(&labels, key);
        if (id)
            recording->contexts[recording->context_count++] = (struct context){key, id};
    }
    return true;
}

static int by_key(const void *key, const void *member)
{
    int64_t a = *(const int64_t *)key, b = ((const struct context *)member)->key;
    return (a > b) - (a < b);
}

/* As the server does: the span id in the labels, else in the event. */
static uint64_t span_of_event(const struct recording *recording, const struct jfr_event *event)
{
    int64_t key = (int64_t)event->context;
    const struct context *context = NULL;
    if (recording->context_count)
        context =
            bsearch(&key, recording->contexts, recording->context_count, sizeof *context, by_key);
    return context ? context->id : event->span_id;
}

/* The series that the server makes from an event. */
static unsigned kinds_of(const struct recording *recording, const struct jfr_event *event)
{
    unsigned kinds = 0;
    if (event->kind == JFR_ALLOCATION || event->kind == JFR_ALLOCATION_OUTSIDE)
        return KIND_BIT(KIND_MEMORY);
    if (event->kind == JFR_LOCK)
        return KIND_BIT(KIND_MUTEX);
    if (event->counts_cpu && recording->period)
        kinds |= KIND_BIT(KIND_PROCESS_CPU);
    if (event->counts_wall && recording->period)
        kinds |= KIND_BIT(KIND_WALL);
    return kinds;
}

/* Counts samples, or fills rows if there are any to fill. */
static void uploads_jfr_take(const struct recording *recording, enum kind kind, uint64_t id,
                             const struct jfr_event *event)
{
    struct upload *upload = recording->uploads[kind];
    uint64_t time = upload_product(event->samples, recording->period);
    bool times_cpu = kind == KIND_PROCESS_CPU && recording->times_cpu;
    if (!id) {
        if (!recording->counted)
            upload_add_rest(upload, event->samples, times_cpu ? time : 0,
                            kind == KIND_WALL ? time : 0);
        return;
    }
    struct span_figures figures = {
        .id = id,
        .samples = event->samples > UINT32_MAX ? UINT32_MAX : (uint32_t)event->samples,
    };
    if (times_cpu)
        figures.cpu_ns = time;
    if (upload->ids)
        upload->ids[upload->count] = figures;
    if (upload->wall_ns)
        upload->wall_ns[upload->count] = time;
    upload->count++;
}

static void uploads_jfr_walk(struct recording *recording)
{
    struct jfr_scan scan = jfr_scan_begin(&recording->jfr);
    struct jfr_event event;
    while (jfr_next_event(&recording->jfr, &scan, &event)) {
        unsigned kinds = kinds_of(recording, &event);
        recording->kinds |= kinds;
        kinds = event.has_stack && event.samples ? kinds & recording->wanted : 0;
        uint64_t id = kinds ? span_of_event(recording, &event) : 0;
        for (int kind = 0; kind < JFR_KINDS; kind++)
            recording->samples[kind] += kinds >> kind & 1;
        for (int kind = 0; kind < JFR_KINDS; kind++)
            if (kinds & KIND_BIT(kind))
                uploads_jfr_take(recording, (enum kind)kind, id, &event);
    }
    recording->counted = true;
}

static bool uploads_jfr_read_ids(struct recording *recording, struct arena *arena)
{
    recording->why = "JFR, no room";
    for (int kind = 0; kind < JFR_KINDS; kind++) {
        recording->uploads[kind] = arena_alloc(arena, sizeof(struct upload));
        if (!recording->uploads[kind])
            return false;
        recording->uploads[kind]->window.kind = (enum kind)kind;
    }
    uploads_jfr_walk(recording);
    for (int kind = 0; kind < JFR_KINDS; kind++) {
        struct upload *upload = recording->uploads[kind];
        if (upload->count == 0)
            continue;
        if (!upload_make_rows(upload, upload->count, kind == KIND_WALL, arena))
            return false;
        upload->count = 0;
    }
    uploads_jfr_walk(recording);
    return true;
}

/* `sampleRate` as the server reads it: 100 if it is not a number, and it wraps past 32 bits. */
static uint64_t period_of(const char *query)
{
    char text[32], *end = text;
    long long rate = DEFAULT_RATE;
    if (http_query_get(query, "sampleRate", text, sizeof text))
        rate = strtoll(text, &end, 10);
    if (end == text || *end)
        rate = DEFAULT_RATE;
    return (uint32_t)rate ? NS_PER_S / (uint32_t)rate : 0;
}

static uint64_t query_time(const char *query, const char *name)
{
    char text[32];
    return http_query_get(query, name, text, sizeof text) ? ingest_time_parse(text) : 0;
}

/* What its mode implies: a window without samples counts too. */
static void read_mode(struct recording *recording)
{
    static const struct {
        const char *mode;
        enum kind kind;
        bool times_cpu;
    } modes[] = {
        {"cpu", KIND_PROCESS_CPU, true},    {"itimer", KIND_PROCESS_CPU, true},
        {"ctimer", KIND_PROCESS_CPU, true}, {"wall", KIND_WALL, true},
        {"alloc", KIND_MEMORY, false},      {"lock", KIND_MUTEX, false},
    };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (view_eq(recording->jfr.mode, view_of(modes[i].mode))) {
            recording->kinds |= KIND_BIT(modes[i].kind);
            recording->times_cpu = modes[i].times_cpu;
        }
}

static bool read_recording(struct recording *recording, const struct batch *batch,
                           struct budget *budget, struct arena *arena)
{
    struct jfr_fault fault;
    if (!find_parts(recording, batch) || !inflate_part(recording, 0, budget) ||
        !inflate_part(recording, 1, budget) || !read_contexts(recording, arena))
        return false;
    recording->why = "malformed JFR";
    if (!jfr_open(&recording->jfr, recording->raw[0], arena, &fault))
        return false;
    recording->why = "JFR without fields for span ids";
    if (!recording->jfr.has_span_ids && !recording->context_count)
        return false;
    read_mode(recording);
    return uploads_jfr_read_ids(recording, arena);
}

static struct upload *list_of(const struct recording *recording, const char *query, uint64_t now)
{
    const struct jfr *jfr = &recording->jfr;
    struct upload *list = NULL;
    struct stated stated = {
        .time = (uint64_t)jfr->start_nanos,
        .duration = (uint64_t)(jfr->end_nanos - jfr->start_nanos),
        .from = query_time(query, "from"),
        .until = query_time(query, "until"),
    };
    /* CPU first: if there is such a window, it decides which kinds' ids count. */
    for (int kind = JFR_KINDS - 1; kind >= 0; kind--) {
        struct upload *upload = recording->uploads[kind];
        if (!(recording->kinds & KIND_BIT(kind)))
            continue;
        upload_set_window(&upload->window, &stated, now);
        upload->has_samples = recording->samples[kind] > 0;
        upload->times_cpu = kind == KIND_PROCESS_CPU && recording->times_cpu;
        upload->window.content = upload_content(upload, &stated, recording->raw[0]);
        upload->next = list;
        list = upload;
    }
    return list;
}

struct upload *uploads_of_jfr(const struct batch *batch, unsigned kinds, uint64_t now,
                              struct budget *budget, struct arena *arena, const char **why)
{
    const char *query = batch->opaque->query ? batch->opaque->query : "";
    struct recording recording = {.wanted = kinds, .period = period_of(query)};
    struct upload *list = NULL;
    if (read_recording(&recording, batch, budget, arena)) {
        recording.why = "JFR without events";
        list = list_of(&recording, query, now);
    }
    *why = recording.why;
    bytes_release(&recording.inflated[0]);
    bytes_release(&recording.inflated[1]);
    return list;
}
