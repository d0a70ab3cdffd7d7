#include "processors/correlation/known/uploads.h"

#include "lib/base/clock.h"
#include "lib/wire/http/http_query.h"
#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/pprof/ingest_text.h"
#include "lib/wire/pprof/pprof_count.h"
#include "lib/wire/pprof/pprof_frames.h"
#include "lib/wire/profiles/otlp_profiles.h"

#include <string.h>

#define LONGEST_WINDOW (3600 * NS_PER_S)
#define LATEST_END     (600 * NS_PER_S) /* after now, or after its start if its clock is ahead */

enum { DICTIONARY = 2, LATEST = 32 };

static const struct view cpu = {(const uint8_t *)"cpu", 3};
static const struct view samples = {(const uint8_t *)"samples", 7};

static uint64_t uploads_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The end by its start and duration; 0: not given. */
static uint64_t stated_end(const struct stated *stated)
{
    uint64_t end = stated->time;
    if (end)
        end = stated->duration > UINT64_MAX - end ? UINT64_MAX : end + stated->duration;
    if (stated->until)
        end = end ? uploads_least(end, stated->until) : stated->until;
    return end;
}

void upload_set_window(struct window *window, const struct stated *stated, uint64_t now)
{
    uint64_t end = stated_end(stated), begin = stated->time > now ? stated->time : now;
    bool too_late = end > begin && end - begin > LATEST_END;
    if (too_late)
        end = stated->time ? stated->time : now;
    window->end = uploads_least(end, now);
    window->capped = end > now;
    window->ahead = stated->time > now ? end - window->end : 0;
    window->length = stated->duration;
    if (!window->length && stated->from && stated->until > stated->from)
        window->length = stated->until - stated->from;
    window->wrong = too_late || window->length > LONGEST_WINDOW;
    if (window->wrong)
        window->length = 0;
    if (window->length && window->end)
        window->start = window->end > window->length ? window->end - window->length : 1;
}

uint64_t upload_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t digest(struct view bytes)
{
    uint64_t hash = bytes.size, word = 0;
    for (; bytes.size >= sizeof word; bytes.data += sizeof word, bytes.size -= sizeof word) {
        memcpy(&word, bytes.data, sizeof word);
        hash = upload_mix(hash, word);
    }
    word = 0;
    if (bytes.size)
        memcpy(&word, bytes.data, bytes.size);
    return upload_mix(hash, word);
}

uint64_t upload_content(const struct upload *upload, const struct stated *stated, struct view bytes)
{
    uint64_t hash = upload_mix(upload_mix(upload->window.kind, stated->time), stated->duration);
    hash = upload_mix(upload_mix(hash, stated->from), stated->until);
    return upload_mix(upload_mix(hash, upload->window.labels), digest(bytes));
}

bool upload_make_rows(struct upload *upload, size_t count, bool wall, struct arena *arena)
{
    upload->ids = arena_array(arena, count, sizeof *upload->ids);
    if (wall)
        upload->wall_ns = arena_array(arena, count, sizeof *upload->wall_ns);
    upload->rows = upload->beside = count;
    return upload->ids && (upload->wall_ns || !wall);
}

void upload_add_rest(struct upload *upload, uint64_t count, uint64_t cpu_ns, uint64_t wall_ns)
{
    uint64_t sum = upload->rest.samples + count;
    upload->rest.samples = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
    upload->rest.cpu_ns += cpu_ns;
    upload->rest_wall_ns += wall_ns;
}

uint64_t upload_product(uint64_t a, uint64_t b)
{
    return b && a > PPROF_TIME_MAX / b ? PPROF_TIME_MAX : a * b;
}

static uint64_t labels_of(const struct series *series)
{
    uint64_t hash = 0;
    for (size_t i = 0; series && i < series->count; i++) {
        hash = upload_mix(hash, process_hash(series->labels[i].name));
        hash = upload_mix(hash, process_hash(series->labels[i].value));
    }
    return hash;
}

static uint64_t uploads_distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* A pprof's time is the start of its window, with Node its end, and behind another spanlink its
 * middle: whichever puts the end nearest to the upload. Exact where upload_set_window errs on the
 * early side, since `until` is truncated to a second. */
static uint64_t middle_of(const struct stated *stated, uint64_t length, uint64_t now)
{
    uint64_t time = stated->time ? stated->time : stated->from, half = length / 2;
    uint64_t uploaded = stated->until ? uploads_least(stated->until, now) : now;
    if (!time || length > UINT64_MAX - time)
        return 0;
    uint64_t if_start = uploads_distance(time + length, uploaded);
    uint64_t if_middle = uploads_distance(time + half, uploaded);
    uint64_t if_end = uploads_distance(time, uploaded);
    uint64_t middle = time;
    if (if_start <= if_middle && if_start <= if_end)
        middle = time + half;
    else if (if_end <= if_middle)
        middle = time > half ? time - half : time;
    return middle <= now ? middle : 0;
}

static uint64_t positive(int64_t value)
{
    return value > 0 ? (uint64_t)value : 0;
}

static uint32_t small(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Which of a pprof's values are used; -1: absent. */
struct columns {
    int cpu, wall;                /* of the times */
    uint64_t cpu_unit, wall_unit; /* of these, ns */
    int decides, beside;          /* one must be positive for a sample to count; -1, -1: any */
};

static int column(const struct pprof *pprof, struct view type)
{
    for (size_t i = 0; i < pprof->type_count; i++)
        if (view_eq(pprof->types[i].type, type))
            return (int)i;
    return -1;
}

static struct columns columns_of(const struct pprof *pprof, enum kind kind)
{
    struct columns columns = {.decides = -1, .beside = -1};
    columns.cpu = pprof_time_column(pprof, cpu, &columns.cpu_unit);
    columns.wall = pprof_time_column(pprof, VIEW("wall"), &columns.wall_unit);
    if (kind == KIND_PROCESS_CPU) {
        columns.decides = column(pprof, cpu);
    } else if (kind == KIND_WALL) {
        columns.decides = column(pprof, VIEW("wall"));
        columns.beside = columns.cpu; /* of .NET, each sample has one of the two */
    }
    return columns;
}

/* A server drops a sample of which any value is negative. */
static bool counts(const struct pprof_sample *sample, const struct columns *columns)
{
    for (size_t i = 0; i < sample->value_count; i++)
        if (sample->values[i] < 0)
            return false;
    if (columns->beside >= 0 && sample->values[columns->beside] > 0)
        return true;
    if (columns->decides >= 0)
        return sample->values[columns->decides] > 0;
    for (size_t i = 0; i < sample->value_count; i++)
        if (sample->values[i] > 0)
            return true;
    return false;
}

/* What of a sample counts. */
struct taken {
    bool counted; /* else only its wall time does, if any */
    uint64_t samples, cpu_ns, wall_ns;
};

static struct taken taken_of(const struct pprof_sample *sample, const struct columns *columns,
                             const struct pprof_count *count)
{
    bool counted = counts(sample, columns);
    return (struct taken){
        .counted = counted,
        .samples = counted ? pprof_count_samples(count, sample) : 0,
        .cpu_ns = counted && columns->cpu >= 0
                      ? upload_product(positive(sample->values[columns->cpu]), columns->cpu_unit)
                      : 0,
        .wall_ns = columns->wall >= 0
                       ? upload_product(positive(sample->values[columns->wall]), columns->wall_unit)
                       : 0,
    };
}

/* Adds a row of a sample with an id. False: the server does not show it. */
static bool uploads_add_row(struct upload *upload, const struct pprof_frames *frames,
                            const struct pprof_sample *sample, uint64_t id,
                            const struct taken *taken)
{
    enum pprof_shown shown = pprof_frames_shown(frames, sample);
    upload->unsymbolized |= taken->counted && shown == PPROF_UNSYMBOLIZED;
    if (shown != PPROF_SHOWN)
        return false;
    size_t at = taken->counted ? upload->count++ : --upload->beside;
    if (upload->wall_ns)
        upload->wall_ns[at] = taken->wall_ns;
    upload->ids[at] = (struct span_figures){.id = id,
                                            .samples = small(taken->samples),
                                            .timed = upload->times_cpu,
                                            .cpu_ns = taken->cpu_ns};
    return true;
}

static bool uploads_read_ids(struct upload *upload, const struct pprof *pprof,
                             const struct upload_reading *reading, struct arena *arena)
{
    unsigned keys = 1u << PPROF_KEY_SPAN_ID | 1u << PPROF_KEY_PROFILE_ID;
    struct columns columns = columns_of(pprof, upload->window.kind);
    struct pprof_count count = pprof_count_of(pprof);
    bool has_ids = pprof->keys_seen & keys;
    bool rest = reading->rest & KIND_BIT(upload->window.kind);
    upload->times_cpu = columns.cpu >= 0;
    if (!has_ids && !rest)
        return true;
    struct pprof_frames frames;
    if (has_ids && (!upload_make_rows(upload, pprof->sample_count, columns.wall >= 0, arena) ||
                    !pprof_frames_open(&frames, pprof, reading->symbolizes, arena)))
        return false;
    struct proto_scan scan = pprof_samples(pprof);
    struct pprof_sample sample;
    uint64_t id;
    while (pprof_next_sample(pprof, &scan, &sample)) {
        bool named = has_ids && sample.span_id.data && span_id_parse(sample.span_id, &id);
        if (!named && !rest)
            continue;
        struct taken taken = taken_of(&sample, &columns, &count);
        if (!taken.counted && !taken.wall_ns)
            continue;
        if (!named || !uploads_add_row(upload, &frames, &sample, id, &taken))
            upload_add_rest(upload, taken.samples, taken.cpu_ns, taken.wall_ns);
    }
    return true;
}

/* The name under which the server knows the series: a label that was remapped or set by the SDK; on
 * /ingest the application's. */
static struct view service_of(const struct series *series, bool by_ingest)
{
    static const char *const labels[] = {"service_name", "service.name", "__name__"};
    for (size_t i = 0; series && i < (by_ingest ? 3 : 2); i++) {
        struct view value = series_get(series, view_of(labels[i]));
        if (value.size > 0)
            return value;
    }
    return UNKNOWN_SERVICE;
}

static bool is_from_go(const struct series *series, const struct profile_origin *origin)
{
    if (origin && origin->spy_name && strcmp(origin->spy_name, "gospy") == 0)
        return true;
    return series && view_starts(series_get(series, VIEW("otel.scope.name")),
                                 VIEW("com.grafana.pyroscope/go"));
}

struct upload *uploads_of_pprof(const struct batch *batch, const struct series *series,
                                const struct pprof *pprof, const struct upload_reading *reading,
                                struct arena *arena)
{
    const struct profile_origin *origin = batch->profile;
    bool by_ingest = origin && origin->by_ingest;
    struct upload *upload = arena_alloc(arena, sizeof *upload);
    if (!upload)
        return NULL;
    struct view name = {0};
    if (by_ingest)
        name = pprof_series_name(pprof, view_of(origin->sample_type_config), arena);
    else if (series)
        name = series_get(series, VIEW("__name__"));
    struct stated stated = {
        .time = pprof_has_time(pprof) ? positive(pprof->time_nanos) : 0,
        .duration = positive(pprof->duration_nanos),
        .from = origin ? origin->from_ns : 0,
        .until = origin ? origin->until_ns : 0,
    };
    upload->service = service_of(series, by_ingest);
    upload->from_go = is_from_go(series, origin);
    upload->window.kind = kind_parse(name);
    upload_set_window(&upload->window, &stated, reading->now);
    uint64_t middle = middle_of(&stated, upload->window.length, reading->now);
    uint64_t half = upload->window.length / 2;
    upload->middle = middle != stated.time ? middle : 0;
    upload->starts = middle > half ? middle - half : middle;
    if (upload->window.capped && upload->window.start) /* flame graphs agree with routes */
        upload->starts = upload->window.ahead ? stated.time : upload->window.start;
    upload->has_samples = pprof->sample_count > 0;
    if (reading->kinds & KIND_BIT(upload->window.kind) &&
        !uploads_read_ids(upload, pprof, reading, arena))
        return NULL;
    upload->window.labels = labels_of(series);
    upload->window.content = upload_content(upload, &stated, pprof->raw);
    return upload;
}

struct upload *uploads_of_unread(const struct batch *batch, const struct series *series,
                                 struct arena *arena)
{
    struct upload *upload = arena_alloc(arena, sizeof *upload);
    if (upload) {
        upload->unread = "pprof, no room";
        upload->service = service_of(series, batch->profile && batch->profile->by_ingest);
    }
    return upload;
}

/* The kind, by the name that the server gives an OTLP profile. */
static enum kind kind_of_otlp(const struct otlp_profile *profile)
{
    if (view_eq(profile->type, samples) && view_eq(profile->period_type, cpu))
        return KIND_PROCESS_CPU;
    if (view_eq(profile->type, VIEW("off_cpu")))
        return KIND_OFF_CPU;
    return profile->period_type.size ? kind_parse(profile->period_type) : KIND_PROCESS_CPU;
}

/* A period without a unit of time is in nanoseconds. */
static uint64_t period_unit_of(const struct otlp_profile *profile)
{
    uint64_t unit = pprof_time_unit(profile->period_unit);
    return unit ? unit : 1;
}

/* The time that a value stands for, if the profile measures that of this name; ns, 0: it does not.
 */
static uint64_t otlp_unit_of(const struct otlp_profile *profile, struct view name)
{
    if (view_eq(profile->type, samples))
        return view_eq(profile->period_type, name)
                   ? upload_product(positive(profile->period), period_unit_of(profile))
                   : 0;
    return view_eq(profile->type, name) ? pprof_time_unit(profile->unit) : 0;
}

/* The value that a sample of the profiler has: of time its period, where that is stated. */
static uint64_t otlp_value_of_one(const struct otlp_profile *profile)
{
    bool timed = view_eq(profile->period_type, profile->type) &&
                 view_eq(profile->period_unit, profile->unit);
    return view_eq(profile->type, samples) ? 1 : timed ? positive(profile->period) : 0;
}

static bool otlp_id(const struct otlp_profile_sample *sample, uint64_t *id)
{
    if (sample->span_id_bytes.size == 8) {
        *id = span_id_load(sample->span_id_bytes.data);
        return *id != 0;
    }
    return sample->span_id_text.data && span_id_parse(sample->span_id_text, id);
}

/* How many samples of the profiler a value stands for. */
static uint32_t otlp_taken(uint64_t value, uint64_t one)
{
    return one && value > one ? small((value - one / 2) / one + (one > 1)) : 1;
}

/* Whether a sample with an id counts. */
static bool otlp_counts(struct upload *upload, const struct otlp_profile_sample *sample,
                        bool symbolizes)
{
    bool counted = symbolizes || sample->frames != OTLP_FRAMES_ADDRESSES;
    upload->unsymbolized |= !counted;
    return counted;
}

static bool read_otlp_ids(struct upload *upload, const struct otlp_dictionary *dictionary,
                          const struct otlp_profile *profile, const struct upload_reading *reading,
                          struct arena *arena)
{
    uint64_t cpu_unit = otlp_unit_of(profile, cpu), wall_unit = otlp_unit_of(profile, VIEW("wall"));
    uint64_t one = otlp_value_of_one(profile);
    upload->times_cpu = cpu_unit != 0;
    if (!upload_make_rows(upload, profile->sample_count, wall_unit != 0, arena))
        return false;
    struct proto_scan scan = proto_scan_begin(profile->body);
    struct otlp_profile_sample sample;
    uint64_t id;
    while (otlp_profile_next_sample(dictionary, profile, &scan, &sample)) {
        uint64_t value = positive(sample.value_sum), wall_ns = upload_product(value, wall_unit);
        struct span_figures figures = {.samples = otlp_taken(value, one),
                                       .timed = upload->times_cpu,
                                       .cpu_ns = upload_product(value, cpu_unit)};
        if (sample.frames == OTLP_FRAMES_NONE || !value)
            continue;
        if (!otlp_id(&sample, &id) || !otlp_counts(upload, &sample, reading->symbolizes)) {
            upload_add_rest(upload, figures.samples, figures.cpu_ns, wall_ns);
            continue;
        }
        figures.id = id;
        if (upload->wall_ns)
            upload->wall_ns[upload->count] = wall_ns;
        upload->ids[upload->count++] = figures;
    }
    return true;
}

static struct view otlp_service(const struct otlp_dictionary *dictionary, struct view entry)
{
    struct view name = otlp_profiles_resource_attribute(dictionary, entry, VIEW("service.name"));
    return name.size ? name : UNKNOWN_SERVICE;
}

static uint64_t resource_hash(struct view entry)
{
    struct proto_field resource;
    bool found = proto_find(entry, 1, WIRE_LEN, &resource);
    return found ? process_hash(resource.bytes) : 0;
}

static struct upload *upload_of_otlp(const struct otlp_dictionary *dictionary,
                                     uint64_t dictionary_digest, const struct otlp_walk *walk,
                                     const struct upload_reading *reading, struct arena *arena)
{
    struct otlp_profile profile;
    struct upload *upload = arena_alloc(arena, sizeof *upload);
    if (!upload)
        return NULL;
    otlp_profile_read(dictionary, walk->item.bytes, &profile);
    upload->service = otlp_service(dictionary, walk->resource_entry.bytes);
    upload->window.kind = kind_of_otlp(&profile);
    struct stated stated = {.time = profile.time_ns, .duration = profile.duration_ns};
    upload_set_window(&upload->window, &stated, reading->now);
    upload->has_samples = profile.sample_count > 0;
    if (reading->kinds & KIND_BIT(upload->window.kind) &&
        !read_otlp_ids(upload, dictionary, &profile, reading, arena))
        return NULL;
    upload->window.labels = resource_hash(walk->resource_entry.bytes);
    upload->type = profile.type;
    upload->window.content =
        upload_mix(upload_content(upload, &stated, profile.body), dictionary_digest);
    return upload;
}

/* A request whose samples cannot be read, nor names stored by reference. */
static struct upload *unread_otlp(const struct otlp_walk *walk, const char *reason,
                                  struct arena *arena)
{
    struct upload *upload = arena_alloc(arena, sizeof *upload);
    if (!upload)
        return NULL;
    struct view name = otlp_resource_attribute(walk->resource_entry.bytes, VIEW("service.name"));
    upload->service = name.size ? name : UNKNOWN_SERVICE;
    upload->unread = reason;
    return upload;
}

static bool has_times(const struct upload *a, const struct upload *b)
{
    return (a->times_cpu && b->times_cpu) ||
           (!a->times_cpu && !b->times_cpu && a->wall_ns && b->wall_ns);
}

/* Whether they may be one profile in two types, such as sample counts and CPU times. */
static bool are_twins(const struct upload *a, const struct upload *b)
{
    if (a->window.kind != b->window.kind || a->window.labels != b->window.labels ||
        a->window.start != b->window.start || a->window.end != b->window.end ||
        a->count != b->count || !a->count || !has_times(a, b) || view_eq(a->type, b->type))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->ids[i].id != b->ids[i].id || a->ids[i].cpu_ns != b->ids[i].cpu_ns ||
            (!a->times_cpu && a->wall_ns[i] != b->wall_ns[i]))
            return false;
    return true;
}

/* Whether a profile has one of this type already: threads may have equal times. */
static bool has_twin(const struct upload *const *latest, size_t count, const struct upload *of,
                     struct view type)
{
    for (size_t i = 0; i < count && i < LATEST; i++)
        if (latest[i]->window.content == of->window.content && view_eq(latest[i]->type, type))
            return true;
    return false;
}

/* Of twins in a request, which follow one another closely, the later repeats the earlier. */
static void repeat_twin(const struct upload *const *latest, size_t count, struct upload *upload)
{
    for (size_t i = 0; i < count && i < LATEST; i++)
        if (are_twins(latest[i], upload) && !has_twin(latest, count, latest[i], upload->type)) {
            upload->window.content = latest[i]->window.content;
            return;
        }
}

bool uploads_of_otlp(struct view request, const struct upload_reading *reading, struct arena *arena,
                     struct upload **uploads)
{
    struct otlp_dictionary dictionary;
    const char *reason;
    bool readable = otlp_dictionary_open(&dictionary, request, arena, &reason);
    struct proto_field table;
    bool tabled = proto_find(request, DICTIONARY, WIRE_LEN, &table);
    uint64_t table_digest = tabled ? digest(table.bytes) : 0;
    const struct upload *latest[LATEST];
    size_t count = 0;
    struct otlp_walk walk;
    otlp_walk_begin(&walk, SIGNAL_PROFILES, request);
    enum otlp_step step = otlp_walk_next(&walk);
    for (; step != OTLP_END; step = otlp_walk_next(&walk)) {
        if (step != OTLP_ITEM)
            continue;
        *uploads = readable ? upload_of_otlp(&dictionary, table_digest, &walk, reading, arena)
                            : unread_otlp(&walk, reason, arena);
        if (!*uploads)
            return false;
        repeat_twin(latest, count, *uploads);
        latest[count++ % LATEST] = *uploads;
        uploads = &(*uploads)->next;
    }
    return true;
}

/* Returns the name in the query, with its labels. NULL: none, or no memory. */
static const char *name_of_query(const char *query, struct arena *arena)
{
    size_t size = strlen(query) + 1;
    char *name = arena_alloc(arena, size);
    return name && http_query_get(query, "name", name, size) ? name : NULL;
}

/* Returns the service name that the server derives from it. data NULL: none, or no memory. */
static struct view service_of_name(const char *name, const char *format, struct arena *arena)
{
    const char *reason;
    struct view service = {0};
    struct series *series = name ? series_parse(view_of(name), &reason) : NULL;
    if (!series)
        return service;
    service = ingest_text_service(series, format);
    service.data = (const uint8_t *)arena_text(arena, service);
    series_unref(series);
    return service;
}

static struct upload *unread_opaque(const char *why, struct arena *arena)
{
    struct upload *upload = arena_alloc(arena, sizeof *upload);
    if (upload)
        upload->unread = why;
    return upload;
}

struct upload *uploads_of_opaque(const struct batch *batch, unsigned kinds, uint64_t now,
                                 struct budget *budget, struct arena *arena)
{
    const char *query = batch->opaque->query ? batch->opaque->query : "";
    const char *why = "a format that is not read";
    char format[16] = "";
    struct upload *uploads = NULL;
    const char *name = name_of_query(query, arena);
    if (!http_query_get(query, "format", format, sizeof format))
        *format = '\0';
    struct view service = service_of_name(name, format, arena);
    if (!service.data)
        return NULL;
    if (strcmp(format, "jfr") == 0)
        uploads = uploads_of_jfr(batch, kinds, now, budget, arena, &why);
    if (!uploads)
        uploads = unread_opaque(why, arena);
    for (struct upload *each = uploads; each; each = each->next) {
        each->service = service;
        each->window.labels = process_hash(view_of(name));
        each->window.content =
            each->unread ? 0 : upload_mix(each->window.content, each->window.labels);
    }
    return uploads;
}
