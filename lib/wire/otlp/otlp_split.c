/* Splitting a request (lib/wire/otlp/otlp.h). */
#include "lib/wire/otlp/otlp.h"

enum { LEVELS = 3, ITEM = LEVELS - 1 };

/* Field numbers of the repeated field at each level: resources, scopes, items. */
static const uint32_t children[LEVELS] = {1, 2, 2};

/* The start of the rest: its first item, and the scope and resource that contain it. */
struct cut {
    const uint8_t *at[LEVELS];
    const uint8_t *point;   /* the rest's first data point, if the cut is inside a Metric */
    bool front_has[LEVELS]; /* part of the resource or scope at the cut is in the front */
};

/* A scan of a Metric's data points. */
struct points {
    struct proto_scan metric, data;
};

/* The size of the front. Length prefixes are counted as in the source; written ones are never
 * longer. */
struct measure {
    size_t top;      /* other fields, and whole resources so far */
    size_t resource; /* of the current resource: header, other fields, whole scopes */
    size_t scope;    /* of the current scope: header, other fields, items so far */
    uint32_t items;
};

/* Size of a body's fields other than number. */
static size_t size_beside(struct view body, uint32_t number)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    size_t size = 0;
    while (proto_scan_next(&scan, &field))
        if (field.number != number)
            size += (size_t)(field.end - field.start);
    return size;
}

static size_t entry_size(const struct proto_field *entry)
{
    return (size_t)(entry->end - entry->start);
}

/* An entry's size without its children. */
static size_t shell_size(const struct proto_field *entry, uint32_t number)
{
    return entry_size(entry) - entry->bytes.size + size_beside(entry->bytes, number);
}

static bool within(const struct measure *front, uint32_t max_items, size_t max_bytes)
{
    return (max_items == 0 || front->items <= max_items) &&
           (max_bytes == 0 || front->top + front->resource + front->scope <= max_bytes);
}

/* Adds the walk's current entry to the measure. */
static void otlp_split_take(const struct otlp_walk *walk, enum otlp_step step,
                            struct measure *front)
{
    switch (step) {
    case OTLP_RESOURCE:
        front->resource = shell_size(&walk->resource_entry, children[1]);
        break;
    case OTLP_SCOPE:
        front->scope = shell_size(&walk->scope_entry, children[2]);
        break;
    case OTLP_ITEM:
        front->scope += entry_size(&walk->item);
        front->items += otlp_item_count(walk->signal, walk->item.bytes);
        break;
    case OTLP_SCOPE_END:
        front->resource += entry_size(&walk->scope_entry);
        front->scope = 0;
        break;
    case OTLP_RESOURCE_END:
        front->top += entry_size(&walk->resource_entry);
        front->resource = 0;
        break;
    case OTLP_END:
        break;
    }
}

static struct points points_begin(struct view metric)
{
    return (struct points){.metric = proto_scan_begin(metric)};
}

static bool next_point(struct points *points, struct proto_field *point)
{
    struct proto_field data;
    for (;;) {
        while (proto_scan_next(&points->data, point))
            if (point->number == OTLP_DATA_POINTS)
                return true;
        do {
            if (!proto_scan_next(&points->metric, &data))
                return false;
        } while (!otlp_is_metric_data(data.number));
        points->data = proto_scan_begin(data.bytes);
    }
}

/* Finds the data point of a Metric that begins the rest. front: without the Metric. first: the
 * front has no item yet, so it takes at least one point. NULL: the front takes none or all. */
static const uint8_t *find_point(const struct proto_field *metric, struct measure front, bool first,
                                 uint32_t max_items, size_t max_bytes)
{
    struct points points = points_begin(metric->bytes);
    struct proto_field point;
    front.scope += entry_size(metric);
    while (next_point(&points, &point))
        front.scope -= entry_size(&point);
    points = points_begin(metric->bytes);
    for (bool any = false; next_point(&points, &point); any = true) {
        front.scope += entry_size(&point);
        front.items++;
        if (!within(&front, max_items, max_bytes) && (any || !first))
            return any ? point.start : NULL;
    }
    return NULL;
}

/* Sets the cut inside or before the walk's current item, which is too much for the front. False:
 * the front has no item yet and takes this one whole. */
static bool cut_item(const struct otlp_walk *walk, const struct measure *before, bool first,
                     uint32_t max_items, size_t max_bytes, struct cut *cut)
{
    if (walk->signal == SIGNAL_METRICS)
        cut->point = find_point(&walk->item, *before, first, max_items, max_bytes);
    if (first && !cut->point)
        return false;
    if (cut->point)
        cut->front_has[0] = cut->front_has[1] = true;
    cut->at[0] = walk->resource_entry.start;
    cut->at[1] = walk->scope_entry.start;
    cut->at[ITEM] = walk->item.start;
    return true;
}

/* Finds the first item, or data point, that does not fit into the front. False: none, apart from
 * the first. */
static bool find_cut(struct otlp_walk *walk, uint32_t max_items, size_t max_bytes, struct cut *cut)
{
    struct measure front = {
        .top = size_beside(view_between(walk->request.at, walk->request.end), children[0])};
    bool any = false;
    for (enum otlp_step step; (step = otlp_walk_next(walk)) != OTLP_END;) {
        struct measure before = front;
        otlp_split_take(walk, step, &front);
        if (step == OTLP_RESOURCE)
            cut->front_has[0] = false;
        if (step == OTLP_SCOPE)
            cut->front_has[1] = false;
        if (step == OTLP_SCOPE_END)
            cut->front_has[0] = true;
        if (step != OTLP_ITEM)
            continue;
        if (!within(&front, max_items, max_bytes) &&
            cut_item(walk, &before, !any, max_items, max_bytes, cut))
            return true;
        any = cut->front_has[0] = cut->front_has[1] = true;
    }
    return false;
}

/* Deletes the other side's data points from the Metric at the cut. What surrounds them stays on
 * both sides. */
static void keep_points(struct splice *splice, struct view metric, const struct cut *cut,
                        bool front)
{
    struct proto_scan scan = proto_scan_begin(metric), points;
    struct proto_field data, point;
    while (proto_scan_next(&scan, &data)) {
        if (!otlp_is_metric_data(data.number))
            continue;
        splice_enter(splice, &data);
        points = proto_scan_begin(data.bytes);
        while (proto_scan_next(&points, &point))
            if (point.number == OTLP_DATA_POINTS && (point.start < cut->point) != front)
                splice_delete(splice, point.start, point.end);
        splice_leave(splice);
    }
}

/* Deletes the other side of the cut from one level. */
static void keep_side(struct splice *splice, struct view body, unsigned level,
                      const struct cut *cut, bool front)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field entry;
    while (proto_scan_next(&scan, &entry)) {
        if (entry.number != children[level])
            continue;
        if (level + 1 < LEVELS && entry.start == cut->at[level] &&
            (!front || cut->front_has[level])) {
            splice_enter(splice, &entry);
            keep_side(splice, entry.bytes, level + 1, cut, front);
            splice_leave(splice);
        } else if (level == ITEM && cut->point && entry.start == cut->at[ITEM]) {
            splice_enter(splice, &entry);
            keep_points(splice, entry.bytes, cut, front);
            splice_leave(splice);
        } else if ((entry.start < cut->at[level]) != front) {
            splice_delete(splice, entry.start, entry.end);
        }
    }
}

static struct buffer *write_side(struct view request, const struct cut *cut, bool front,
                                 struct budget *budget)
{
    struct arena arena;
    struct splice splice;
    struct buffer *buffer = NULL;
    /* Splitting is not worth it if the edits take more memory than the request. */
    arena_init(&arena, request.size + 65536);
    splice_begin(&splice, request, &arena);
    keep_side(&splice, request, 0, cut, front);
    if (!splice.failed)
        buffer = buffer_new(splice_size(&splice), budget, true);
    if (buffer)
        splice_write(&splice, buffer->data);
    arena_release(&arena);
    return buffer;
}

bool otlp_split(enum signal signal, struct view request, uint32_t max_items, size_t max_bytes,
                struct budget *budget, struct buffer **front, struct buffer **rest)
{
    struct otlp_walk walk;
    struct cut cut = {0};
    *front = *rest = NULL;
    otlp_walk_begin(&walk, signal, request);
    if (!find_cut(&walk, max_items, max_bytes, &cut))
        return false;
    *front = write_side(request, &cut, true, budget);
    *rest = *front ? write_side(request, &cut, false, budget) : NULL;
    if (*rest)
        return true;
    buffer_unref(*front);
    *front = NULL;
    return false;
}
