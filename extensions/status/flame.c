#include "extensions/status/flame_add.h"

#include "extensions/status/known_routes.h"
#include "extensions/status/left_out.h"
#include "lib/base/clock.h"
#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/pprof/pprof_count.h"
#include "lib/wire/pprof/pprof_stacks.h"
#include "lib/wire/profiles/profiles_to_pprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CAPACITY_MIN = 1024, DEEPEST = 1024, NAMES = 200000 };

#define ARENA_MIN      ((size_t)1 << 20)
#define DISCARD_STEP   ((size_t)256 << 10)
#define LONGEST_WINDOW (3600 * NS_PER_S)
#define LATEST_END     (600 * NS_PER_S) /* after a profile's arrival */
#define STATE_LIVES                                                                                \
    (120 * NS_PER_S) /* two of the longest upload intervals of SDKs, Node's 60 s                   \
                      */

/* ---- the tree ---- */

/* The place of a child: its bucket, or the free one that it would take. */
static uint32_t *flame_bucket(const struct flame *flame, uint32_t parent, uint32_t name)
{
    const struct flame_node *nodes = flame_nodes(flame);
    uint64_t hash = ((uint64_t)parent << 32 | name) * UINT64_C(0x9e3779b97f4a7c15);
    size_t mask = flame->capacity - 1, at = hash >> 32 & mask;
    for (uint32_t found; (found = flame->buckets[at]); at = (at + 1) & mask)
        if (nodes[found - 1].parent == parent && nodes[found - 1].name == name)
            break;
    return &flame->buckets[at];
}

static void flame_free_buckets(struct flame *flame)
{
    free(flame->buckets);
    budget_give(flame->budget, flame->capacity * sizeof *flame->buckets);
    flame->buckets = NULL;
    flame->capacity = 0;
}

/* Frees the old table first: the nodes have all that a new one needs. */
static bool flame_grow(struct flame *flame)
{
    size_t capacity = flame->capacity ? flame->capacity * 2 : CAPACITY_MIN;
    flame_free_buckets(flame);
    flame->buckets = calloc(capacity, sizeof *flame->buckets);
    flame->failed |= !flame->buckets;
    if (flame->failed)
        return false;
    flame->capacity = capacity;
    budget_force(flame->budget, capacity * sizeof *flame->buckets);
    const struct flame_node *nodes = flame_nodes(flame);
    for (size_t i = 1; i < flame_count(flame); i++)
        *flame_bucket(flame, nodes[i].parent, nodes[i].name) = (uint32_t)i + 1;
    return true;
}

uint32_t flame_child(struct flame *flame, uint32_t parent, uint32_t name)
{
    size_t count = flame_count(flame);
    if (flame->failed || (count >= flame->capacity / 8 * 7 && !flame_grow(flame)))
        return parent;
    uint32_t *bucket = flame_bucket(flame, parent, name);
    if (*bucket)
        return *bucket - 1;
    struct flame_node node = {.parent = parent, .name = name};
    if (count >= FLAME_NODES || bytes_append(&flame->nodes, &node, sizeof node) != BYTES_OK) {
        flame->merged = true;
        return parent;
    }
    *bucket = (uint32_t)count + 1;
    return (uint32_t)count;
}

void flame_weigh(struct flame *flame, uint32_t node, uint64_t value)
{
    uint64_t room = INT64_MAX - flame->sum;
    if (node == 0)
        node = flame_child(flame, 0, names_put(&flame->names, VIEW(FLAME_NO_STACK)));
    if (value > room) {
        flame->truncated = flame->too_large = true;
        value = room;
    }
    flame->sum += value;
    flame_nodes(flame)[node].self += (int64_t)value;
}

static void flame_begin(struct flame *flame)
{
    struct flame_node root = {.name = names_put(&flame->names, VIEW("total"))};
    bytes_clear(&flame->nodes);
    if (bytes_append(&flame->nodes, &root, sizeof root) != BYTES_OK)
        flame->failed = true;
    if (flame->buckets)
        memset(flame->buckets, 0, flame->capacity * sizeof *flame->buckets);
    flame->samples = flame->sum = flame->start = flame->end = 0;
    flame->profiles = flame->state_count = flame->newest_state = 0;
    flame->current.counted = false;
}

void flame_init(struct flame *flame, const struct flame_filter *filter, struct budget *budget)
{
    *flame = (struct flame){.budget = budget, .filter = *filter, .rank = -1};
    names_init(&flame->names, NAMES, budget);
    bytes_init(&flame->nodes, (size_t)FLAME_NODES * sizeof(struct flame_node), budget);
    if (filter->ids) {
        flame->met = calloc(filter->id_count + 1, sizeof *flame->met);
        budget_force(budget, flame->met ? filter->id_count : 0);
    }
    if ((!filter->ids || flame->met) && flame_grow(flame))
        flame_begin(flame);
    else
        flame->failed = true;
}

static void flame_free_filter(struct flame *flame)
{
    free(flame->met);
    budget_give(flame->budget, flame->met ? flame->filter.id_count : 0);
    flame->met = NULL;
    flame_free_buckets(flame);
    free(flame->added);
    flame->added = NULL;
}

void flame_release(struct flame *flame)
{
    flame_free_filter(flame);
    names_release(&flame->names);
    bytes_release(&flame->nodes);
    free(flame->totals);
    budget_give(flame->budget, flame->total_count * sizeof *flame->totals);
    *flame = (struct flame){0};
}

void flame_finish(struct flame *flame)
{
    const struct flame_node *nodes = flame_nodes(flame);
    size_t count = flame_count(flame);
    flame_free_filter(flame);
    flame->totals = malloc((count + 1) * sizeof *flame->totals);
    if (!flame->totals) {
        flame->failed = true;
        return;
    }
    flame->total_count = count;
    budget_force(flame->budget, count * sizeof *flame->totals);
    for (size_t i = 0; i < count; i++)
        flame->totals[i] = nodes[i].self;
    for (size_t i = count; i-- > 1;)
        flame->totals[nodes[i].parent] += flame->totals[i];
}

/* ---- the filter ---- */

static bool flame_meet(struct flame *flame, size_t at)
{
    if (flame->met && !flame->met[at]) {
        flame->met[at] = true;
        flame->spans++;
    }
    return true;
}

bool flame_wants_id(struct flame *flame, uint64_t id)
{
    const struct flame_filter *filter = &flame->filter;
    size_t from = 0, to = filter->id_count;
    if (!filter->ids)
        return true;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (filter->ids[middle].id < id)
            from = middle + 1;
        else
            to = middle;
    }
    for (; id && from < filter->id_count && filter->ids[from].id == id; from++)
        if (!filter->ids[from].service || filter->ids[from].service == flame->current.service)
            return flame_meet(flame, from);
    return false;
}

static void flame_note_type(struct flame *flame, const char *type)
{
    for (size_t i = 0; i < flame->type_count; i++)
        if (strcmp(flame->types[i], type) == 0)
            return;
    if (flame->type_count < FLAME_TYPES)
        snprintf(flame->types[flame->type_count++], FLAME_TYPE_SIZE, "%s", type);
}

/* Whether a type says what there is at a moment, rather than what happened during a window. */
static bool is_state(const char *type)
{
    static const char *const states[] = {"inuse_space", "inuse_objects", "goroutine", "goroutines"};
    const char *name = type, *second = type + strcspn(type, ":");
    second += *second == ':';
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        size_t size = strlen(states[i]);
        if ((strncmp(name, states[i], size) == 0 && name[size] == ':') ||
            (strncmp(second, states[i], size) == 0 && second[size] == ':'))
            return true;
    }
    return false;
}

void flame_begin_profile(struct flame *flame, uint64_t series, uint64_t service, uint64_t arrived)
{
    flame->current.series = series;
    flame->current.service = service;
    flame->current.arrived = arrived;
    flame->current.counted = false;
}

/* Whether the current profile is drawn as a state. */
static bool flame_takes_state(struct flame *flame)
{
    if (!flame->newest_state)
        flame->newest_state = flame->current.arrived;
    if (flame->current.arrived + STATE_LIVES < flame->newest_state)
        return false;
    for (size_t i = 0; i < flame->state_count; i++)
        if (flame->states[i] == flame->current.series)
            return false;
    if (flame->state_count == FLAME_STATES) {
        flame->truncated = true;
        return false;
    }
    flame->states[flame->state_count++] = flame->current.series;
    return true;
}

/* Whether the current profile is drawn; counts it. */
static bool flame_takes_profile(struct flame *flame)
{
    if (!flame->current.counted && flame->is_state && !flame_takes_state(flame))
        return false;
    flame->profiles += !flame->current.counted;
    flame->current.counted = true;
    return true;
}

bool flame_takes(struct flame *flame, const char *type)
{
    int rank = flame_rank(type);
    flame_note_type(flame, type);
    if (*flame->filter.type) {
        if (strcmp(type, flame->filter.type) != 0)
            return false;
        snprintf(flame->type, sizeof flame->type, "%s", type);
        flame->is_state = is_state(type);
        return flame_takes_profile(flame);
    }
    if (rank > flame->rank) {
        flame->rank = rank;
        snprintf(flame->type, sizeof flame->type, "%s", type);
        flame->is_state = is_state(type);
        flame_begin(flame);
    }
    return strcmp(type, flame->type) == 0 && flame_takes_profile(flame);
}

/* ---- pprof ---- */

struct pprof_adding {
    struct flame *flame;
    struct pprof pprof;
    struct pprof_stacks stacks;
    uint32_t *names; /* index into flame->names by name of a frame; 0: not looked up yet */
    char types[PPROF_MAX_TYPES][FLAME_TYPE_SIZE];
    int value;     /* column; -1: none */
    int64_t limit; /* of its values: more is absurd */
    struct pprof_count samples;
    uint64_t start, end;            /* of its window, wall time, ns; 0: not known */
    uint64_t sums[PPROF_MAX_TYPES]; /* of the values of each type */
    bool any;                       /* a sample matched the filter */
};

static void name_types(struct pprof_adding *adding, const struct flame_source *source,
                       struct arena *arena)
{
    const struct pprof *pprof = &adding->pprof;
    struct view name = {0};
    if (source->by_ingest)
        name = pprof_series_name(pprof, view_of(source->sample_type_config), arena);
    else if (source->series)
        name = series_get(source->series, VIEW("__name__"));
    if (!name.size)
        name = VIEW("process_cpu");
    adding->samples = pprof_count_of(pprof);
    for (size_t i = 0; i < pprof->type_count; i++) {
        const struct pprof_type *type = &pprof->types[i];
        snprintf(adding->types[i], FLAME_TYPE_SIZE, "%.*s:%.*s:%.*s:%.*s:%.*s", VIEW_ARG(name),
                 VIEW_ARG(type->type), VIEW_ARG(type->unit), VIEW_ARG(pprof->period_type.type),
                 VIEW_ARG(pprof->period_type.unit));
    }
}

/* Called at the first sample that matches: chooses the column of values to draw. */
static void choose_column(struct pprof_adding *adding)
{
    struct flame *flame = adding->flame;
    adding->any = true;
    for (size_t i = 0; i < adding->pprof.type_count; i++)
        if (flame_takes(flame, adding->types[i]))
            adding->value = (int)i;
    if (adding->value < 0)
        return;
    uint64_t unit = pprof_time_unit(adding->pprof.types[adding->value].unit);
    adding->limit = unit ? (int64_t)(PPROF_TIME_MAX / unit) : INT64_MAX;
    uint64_t start = adding->start, end = adding->end;
    if (!end)
        return;
    flame->period = adding->pprof.period;
    flame->start = flame->start && flame->start < start ? flame->start : start;
    flame->end = flame->end > end ? flame->end : end;
}

static uint32_t name_of(struct pprof_adding *adding, uint32_t frame)
{
    if (!adding->names[frame]) {
        struct view text = pprof_stacks_text(&adding->stacks, frame);
        adding->names[frame] =
            names_put(&adding->flame->names, text.size ? text : VIEW("(unknown)"));
    }
    return adding->names[frame];
}

/* Sums every type, so that one that has values can be drawn, and of CPU time the largest. */
static void sum_sample(struct pprof_adding *adding, const struct pprof_sample *sample)
{
    for (size_t i = 0; i < adding->pprof.type_count; i++)
        if (sample->values[i] > 0)
            adding->sums[i] = flame_add_up(adding->sums[i], (uint64_t)sample->values[i]);
}

static void add_sample(struct pprof_adding *adding, const struct pprof_sample *sample)
{
    struct flame *flame = adding->flame;
    uint32_t frames[DEEPEST];
    uint64_t id = 0;
    if (flame->filter.ids && (!sample->span_id.data || !span_id_parse(sample->span_id, &id) ||
                              !flame_wants_id(flame, id)))
        return;
    if (!adding->any)
        choose_column(adding);
    sum_sample(adding, sample);
    if (adding->value < 0 || sample->values[adding->value] <= 0)
        return;
    size_t count = pprof_stacks_read(&adding->stacks, sample, frames, DEEPEST, &flame->merged);
    if (count == 0 && flame->filter.ids) /* to correlation, it names no span */
        return;
    uint32_t node = 0;
    int64_t value = sample->values[adding->value];
    while (count-- > 0)
        node = flame_child(flame, node, name_of(adding, frames[count]));
    flame_weigh(flame, node, (uint64_t)(value < adding->limit ? value : adding->limit));
    flame->samples += pprof_count_samples(&adding->samples, sample);
}

/* Gives the pages of samples that were added back to the system: they are most of a profile, and
 * the tree needs the memory. */
static void discard(uint8_t **from, const uint8_t *to)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)*from + page - 1) / page * page,
              end = (uintptr_t)to / page * page;
    if (end < begin + DISCARD_STEP)
        return;
    madvise((void *)begin, end - begin, MADV_DONTNEED);
    *from += end - (uintptr_t)*from;
}

/* Whether nothing but samples is between the first and the last of them. */
static bool in_one_run(const struct pprof *pprof, const struct proto_scan *samples)
{
    size_t count = sizeof pprof->fields / sizeof *pprof->fields;
    for (size_t i = 0; i < count; i++) {
        const struct pprof_fields *other = &pprof->fields[i];
        if (other->from && other->from != samples->at && other->from < samples->end &&
            other->to > samples->at)
            return false;
    }
    return true;
}

static void add_samples(struct pprof_adding *adding, const struct flame_source *source)
{
    struct proto_scan scan = pprof_samples(&adding->pprof);
    struct pprof_sample sample;
    bool discards = source->discards && in_one_run(&adding->pprof, &scan);
    uint8_t *kept = (uint8_t *)(uintptr_t)scan.at;
    while (pprof_next_sample(&adding->pprof, &scan, &sample)) {
        add_sample(adding, &sample);
        if (discards)
            discard(&kept, sample.field.bytes.data);
    }
    for (size_t i = 0; i < adding->pprof.type_count; i++)
        if (adding->sums[i])
            flame_sum_type(adding->flame, adding->types[i], adding->sums[i]);
}

static uint64_t series_hash(const struct series *series)
{
    uint64_t hash = 0;
    for (size_t i = 0; series && i < series->count; i++) {
        hash = (hash ^ left_out_service(series->labels[i].name)) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ left_out_service(series->labels[i].value)) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash;
}

/* Whether a profile with this hash was added before: an upload that was repeated counts once, as it
 * does for the processor correlation. */
static bool is_repeated(struct flame *flame, uint64_t hash)
{
    for (size_t i = 0; i < flame->added_count; i++)
        if (flame->added[i] == hash)
            return true;
    if (flame->added_count == flame->added_room) {
        size_t room = flame->added_room ? 2 * flame->added_room : 64;
        uint64_t *added = realloc(flame->added, room * sizeof *added);
        if (!added)
            return false;
        flame->added = added;
        flame->added_room = room;
    }
    flame->added[flame->added_count++] = hash;
    return false;
}

/* When the samples of a profile count, as the steps of /api/cost have them: of one whose times
 * correlation takes to be wrong (upload_set_window), at its end or, if that is to come, its start.
 */
static struct known_stretch flame_stretch(uint64_t start, uint64_t end, uint64_t arrived)
{
    uint64_t latest = start > arrived ? start : arrived;
    if (end > latest && end - latest > LATEST_END)
        end = start;
    else if (end > start && end - start > LONGEST_WINDOW)
        start = end;
    return known_stretch_of(start, end, arrived);
}

bool flame_overlaps(const struct flame *flame, uint64_t start, uint64_t end, uint64_t arrived)
{
    struct known_stretch over = flame_stretch(start, end, arrived);
    uint64_t from = flame->filter.from, to = flame->filter.to;
    bool open = to == UINT64_MAX || from == to; /* `to` itself is asked for */
    return (over.from < over.to ? over.to > from : over.to >= from) &&
           (open ? over.from <= to : over.from < to);
}

/* Sets the window. Returns whether it is in the time asked for; without one, its arrival. */
static bool is_in_time(struct pprof_adding *adding, const struct flame_source *source)
{
    const struct pprof *pprof = &adding->pprof;
    bool timed = pprof_has_time(pprof) && pprof->time_nanos > 0;
    adding->start = source->starts ? source->starts : timed ? (uint64_t)pprof->time_nanos : 0;
    if (!adding->start)
        return flame_overlaps(adding->flame, 0, 0, source->arrived);
    adding->end = adding->start + (pprof->duration_nanos > 0 ? (uint64_t)pprof->duration_nanos : 0);
    return flame_overlaps(adding->flame, adding->start, adding->end, source->arrived);
}

static bool has_ids(const struct pprof *pprof)
{
    return pprof->keys_seen & (1u << PPROF_KEY_SPAN_ID | 1u << PPROF_KEY_PROFILE_ID);
}

void flame_add_pprof(struct flame *flame, const struct flame_source *source)
{
    const struct flame_filter *filter = &flame->filter;
    struct pprof_adding adding = {.flame = flame, .value = -1};
    struct arena arena;
    if (flame->failed ||
        (filter->service &&
         !view_eq(view_of(filter->service), series_service(source->series, source->by_ingest))))
        return;
    uint64_t series = series_hash(source->series);
    if (is_repeated(flame, series ^ left_out_service(source->raw) ^ source->starts))
        return;
    uint64_t service = left_out_service(series_service(source->series, source->by_ingest));
    flame_begin_profile(flame, series, service, source->arrived);
    arena_init(&arena, ARENA_MIN + 32 * source->raw.size);
    arena_charge(&arena, flame->budget, budget_take_spare, ARENA_MIN);
    if (!pprof_reopen(&adding.pprof, source->raw, &arena)) {
        flame->truncated = true;
    } else if (is_in_time(&adding, source) && (!filter->ids || has_ids(&adding.pprof))) {
        name_types(&adding, source, &arena);
        bool open = pprof_stacks_open(&adding.stacks, &adding.pprof, &arena);
        if (open)
            adding.names =
                arena_array(&arena, pprof_stacks_names(&adding.stacks) + 1, sizeof *adding.names);
        open = open && adding.names;
        flame->truncated |= !open;
        if (open)
            add_samples(&adding, source);
    }
    arena_release(&arena);
}

void flame_add_otlp(struct flame *flame, struct view request, uint64_t arrived)
{
    const struct profiles_policy policy = {.now_ns = arrived};
    struct profiles_to_pprof conversion;
    struct profiles_part part;
    const char *reason;
    struct arena arena;
    struct bytes out;
    arena_init(&arena, ARENA_MIN + 64 * request.size);
    arena_charge(&arena, flame->budget, budget_take_spare, ARENA_MIN);
    bytes_init(&out, ARENA_MIN + 32 * request.size, flame->budget);
    bool open = profiles_to_pprof_begin(&conversion, request, &policy, &arena, &reason);
    while (open) {
        bool made = profiles_to_pprof_next(&conversion, &part, &out, &reason);
        if (!made && !reason)
            break;
        if (!made)
            continue;
        struct flame_source source = {
            .raw = bytes_view(&out), .series = part.series, .arrived = arrived};
        flame_add_pprof(flame, &source);
        series_unref(part.series);
    }
    bytes_release(&out);
    arena_release(&arena);
}
