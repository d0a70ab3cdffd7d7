#include "lib/wire/otlp/otlp_split.h"

enum { RESOURCE, SCOPE, ITEM, LEVELS };

/* Field numbers of the repeated field at each level: resources, scopes, items. */
static const uint32_t children[LEVELS] = {1, 2, 2};

/* The size of a part. Length prefixes are counted as in the source; written ones are never
 * longer. */
struct measure {
    size_t top;      /* other fields, and whole resources so far */
    size_t resource; /* of the current resource: header, other fields, whole scopes */
    size_t scope;    /* of the current scope: header, other fields, items so far */
    uint32_t items;
};

struct limits {
    uint32_t items;
    size_t bytes;
};

static bool within(const struct measure *part, const struct limits *limits)
{
    return (limits->items == 0 || part->items <= limits->items) &&
           (limits->bytes == 0 || part->top + part->resource + part->scope <= limits->bytes);
}

static size_t entry_size(const struct proto_field *entry)
{
    return (size_t)(entry->end - entry->start);
}

static bool is_child(const struct proto_field *field, uint32_t number)
{
    return field->number == number && field->type == WIRE_LEN;
}

/* Sets all of a shell but its runs of other fields, which go to `runs` (NULL: they are counted). */
static void scan_children(struct otlp_shell *shell, struct view body, uint32_t number,
                          struct view *runs)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    *shell = (struct otlp_shell){.first = body.data, .end = body.data};
    for (bool any = false; proto_scan_next(&scan, &field);) {
        if (!is_child(&field, number)) {
            shell->beside += entry_size(&field);
            continue;
        }
        if (any && field.start != shell->end && runs)
            runs[shell->other_count] = view_between(shell->end, field.start);
        shell->other_count += any && field.start != shell->end;
        shell->first = any ? shell->first : field.start;
        shell->end = field.end;
        any = true;
    }
}

/* False: no memory. */
static bool read_shell(struct otlp_shell *shell, struct view body, uint32_t number,
                       struct arena *arena)
{
    scan_children(shell, body, number, NULL);
    if (shell->other_count == 0)
        return true;
    struct view *runs = arena_array_raw(arena, shell->other_count, sizeof *runs);
    if (runs)
        scan_children(shell, body, number, runs);
    shell->others = runs;
    return runs;
}

static const struct proto_field *entry_at(const struct otlp_place *place, unsigned level)
{
    const struct otlp_walk *walk = &place->walk;
    return level == RESOURCE ? &walk->resource_entry
                             : (level == SCOPE ? &walk->scope_entry : &walk->item);
}

static bool enter(struct otlp_splitter *splitter, unsigned level)
{
    struct otlp_place *at = &splitter->at;
    struct view body = level == RESOURCE ? splitter->request : entry_at(at, level - 1)->bytes;
    splitter->failed |= !read_shell(&at->shells[level], body, children[level], &splitter->arena);
    return !splitter->failed;
}

/* ---- a Metric's data points ---- */

static const struct otlp_data *metric_data(const struct otlp_place *place)
{
    return place->metric.more ? place->metric.more : &place->metric.one;
}

static bool next_point(struct otlp_place *place, struct proto_field *point)
{
    const struct otlp_data *data = metric_data(place);
    for (;;) {
        while (proto_scan_next(&place->metric.points, point))
            if (is_child(point, OTLP_DATA_POINTS))
                return true;
        if (++place->metric.at >= place->metric.count)
            return false;
        place->metric.points = proto_scan_begin(data[place->metric.at].field.bytes);
    }
}

static size_t count_data(struct view metric)
{
    struct proto_scan scan = proto_scan_begin(metric);
    struct proto_field field;
    size_t count = 0;
    while (proto_scan_next(&scan, &field))
        count += field.type == WIRE_LEN && otlp_is_metric_data(field.number);
    return count;
}

/* Reads the data of the Metric at the place, before its first point. False: it has none, or no
 * memory. */
static bool read_metric(struct otlp_place *place, struct arena *arena)
{
    struct view metric = place->walk.item.bytes;
    struct proto_scan scan = proto_scan_begin(metric);
    struct proto_field field;
    size_t count = count_data(metric), n = 0;
    memset(&place->metric, 0, sizeof place->metric);
    place->metric.more =
        count > 1 ? arena_array_raw(arena, count, sizeof *place->metric.more) : NULL;
    struct otlp_data *data = count > 1 ? place->metric.more : &place->metric.one;
    if (count == 0 || !data)
        return false;
    place->metric.beside = entry_size(&place->walk.item);
    while (n < count && proto_scan_next(&scan, &field)) {
        if (field.type != WIRE_LEN || !otlp_is_metric_data(field.number))
            continue;
        data[n].field = field;
        if (!read_shell(&data[n].shell, field.bytes, OTLP_DATA_POINTS, arena))
            return false;
        place->metric.left += field.bytes.size - data[n++].shell.beside;
    }
    place->metric.beside -= place->metric.left;
    place->metric.left_items = otlp_item_count(SIGNAL_METRICS, metric);
    place->metric.count = count;
    place->metric.points = proto_scan_begin(data->field.bytes);
    return true;
}

/* Moves the place to the data point that is too much for the part. part: without the Metric. first:
 * it has no item yet, so it takes at least one point. False: it takes none or all. */
static bool cut_metric(struct otlp_splitter *splitter, struct measure part, bool first,
                       const struct limits *limits)
{
    struct otlp_place *at = &splitter->at, next;
    struct proto_field point;
    if (!at->point && !read_metric(at, &splitter->arena))
        return false;
    next = *at;
    part.scope += at->metric.beside;
    for (bool any = false;; any = true) {
        const struct proto_scan points = next.metric.points;
        const size_t data = next.metric.at;
        if (!next_point(&next, &point))
            return false;
        part.scope += entry_size(&point);
        part.items++;
        if (!within(&part, limits) && (any || !first)) {
            next.metric.points = points;
            next.metric.at = data;
            next.point = point.start;
            *at = any ? next : *at;
            return any;
        }
        next.metric.left -= entry_size(&point);
        next.metric.left_items--;
    }
}

/* ---- finding the place ---- */

static size_t shell_size(const struct otlp_place *place, unsigned level)
{
    const struct proto_field *entry = entry_at(place, level);
    return entry_size(entry) - entry->bytes.size + place->shells[level + 1].beside;
}

static struct measure begin_part(const struct otlp_place *from)
{
    return (struct measure){
        .top = from->shells[RESOURCE].beside,
        .resource = from->begun ? shell_size(from, RESOURCE) : 0,
        .scope = from->begun ? shell_size(from, SCOPE) : 0,
    };
}

/* Adds the item at the place, or what is left of it. */
static void take_item(const struct otlp_place *at, struct measure *part)
{
    const struct proto_field *item = &at->walk.item;
    part->scope += at->point ? at->metric.beside + at->metric.left : entry_size(item);
    part->items +=
        at->point ? at->metric.left_items : otlp_item_count(at->walk.signal, item->bytes);
}

/* Takes the item at the place into the part. False: it is cut off, or some of its points are. */
static bool takes(struct otlp_splitter *splitter, struct measure *part, bool first,
                  const struct limits *limits)
{
    struct otlp_place *at = &splitter->at;
    struct measure before = *part;
    take_item(at, part);
    if (!within(part, limits)) {
        if (at->walk.signal == SIGNAL_METRICS && cut_metric(splitter, before, first, limits))
            return false;
        if (!first)
            return false;
    }
    at->point = NULL;
    return true;
}

/* Moves to the first item, or data point, that does not fit into the part. False: there is none,
 * apart from the part's first. */
static bool find_cut(struct otlp_splitter *splitter, const struct limits *limits)
{
    struct otlp_place *at = &splitter->at;
    struct measure part = begin_part(at);
    bool first = true;
    enum otlp_step step = at->begun ? OTLP_ITEM : otlp_walk_next(&at->walk);
    for (; step != OTLP_END; step = otlp_walk_next(&at->walk)) {
        switch (step) {
        case OTLP_RESOURCE:
            if (!enter(splitter, SCOPE))
                return false;
            part.resource = shell_size(at, RESOURCE);
            break;
        case OTLP_SCOPE:
            if (!enter(splitter, ITEM))
                return false;
            part.scope = shell_size(at, SCOPE);
            break;
        case OTLP_ITEM:
            if (!takes(splitter, &part, first, limits))
                return true;
            first = false;
            break;
        case OTLP_SCOPE_END:
            part.resource += part.scope;
            part.scope = 0;
            break;
        case OTLP_RESOURCE_END:
            part.top += part.resource;
            part.resource = 0;
            break;
        case OTLP_END:
            break;
        }
    }
    return false;
}

/* ---- writing what is between two places ---- */

/* Deletes children, or none if `to` is not behind `from`. */
static void delete_children(struct splice *splice, const struct otlp_shell *shell,
                            const uint8_t *from, const uint8_t *to)
{
    for (size_t i = 0; i < shell->other_count && from < to; i++) {
        const struct view *other = &shell->others[i];
        const uint8_t *end = other->data + other->size;
        if (end <= from)
            continue;
        if (other->data >= to)
            break;
        splice_delete(splice, from, other->data);
        from = end;
    }
    if (from < to)
        splice_delete(splice, from, to);
}

static const uint8_t *point_in(const struct otlp_shell *shell, const uint8_t *point)
{
    return point < shell->first ? shell->first : (point > shell->end ? shell->end : point);
}

/* What surrounds the points stays. */
static void keep_points(struct splice *splice, const struct otlp_place *from,
                        const struct otlp_place *to)
{
    const struct otlp_place *any = from ? from : to;
    const struct otlp_data *data = metric_data(any);
    for (size_t i = 0; i < any->metric.count; i++) {
        const struct otlp_shell *shell = &data[i].shell;
        splice_enter(splice, &data[i].field);
        if (from)
            delete_children(splice, shell, shell->first, point_in(shell, from->point));
        if (to)
            delete_children(splice, shell, point_in(shell, to->point), shell->end);
        splice_leave(splice);
    }
}

/* Whether some of a level's entry is before the place. */
static bool is_inside(const struct otlp_place *place, unsigned level)
{
    for (; level < ITEM; level++)
        if (entry_at(place, level + 1)->start != place->shells[level + 1].first)
            return true;
    return place->point;
}

static void keep_children(struct splice *splice, const struct otlp_place *from,
                          const struct otlp_place *to, unsigned level);

static void keep_entry(struct splice *splice, const struct otlp_place *from,
                       const struct otlp_place *to, unsigned level)
{
    splice_enter(splice, entry_at(from ? from : to, level));
    if (level == ITEM)
        keep_points(splice, from, to);
    else
        keep_children(splice, from, to, level + 1);
    splice_leave(splice);
}

/* Deletes what is not between the places from one message. NULL: they are its begin and end. */
static void keep_children(struct splice *splice, const struct otlp_place *from,
                          const struct otlp_place *to, unsigned level)
{
    const struct otlp_shell *shell = &(from ? from : to)->shells[level];
    const struct proto_field *first = from ? entry_at(from, level) : NULL,
                             *last = to ? entry_at(to, level) : NULL;
    const struct otlp_place *begins = from && is_inside(from, level) ? from : NULL,
                            *ends = to && is_inside(to, level) ? to : NULL;
    bool same = first && last && first->start == last->start;
    if (first)
        delete_children(splice, shell, shell->first, first->start);
    if (begins)
        keep_entry(splice, begins, same ? ends : NULL, level);
    if (ends && !(begins && same))
        keep_entry(splice, NULL, ends, level);
    if (last)
        delete_children(splice, shell, ends ? last->end : last->start, shell->end);
}

static struct buffer *write_part(struct view request, const struct otlp_place *from,
                                 const struct otlp_place *to, struct budget *budget)
{
    struct arena arena;
    struct splice splice;
    struct buffer *buffer = NULL;
    /* Splitting is not worth it if the edits take more memory than the request. */
    arena_init(&arena, request.size + 65536);
    splice_begin(&splice, request, &arena);
    if (from || to)
        keep_children(&splice, from, to, RESOURCE);
    if (!splice.failed)
        buffer = buffer_new(splice_size(&splice), budget, true);
    if (buffer)
        splice_write(&splice, buffer->data);
    arena_release(&arena);
    return buffer;
}

/* ---- */

void otlp_split_begin(struct otlp_splitter *splitter, enum signal signal, struct view request)
{
    *splitter = (struct otlp_splitter){.request = request};
    arena_init(&splitter->arena, request.size + 65536);
    otlp_walk_begin(&splitter->at.walk, signal, request);
    (void)enter(splitter, RESOURCE);
    splitter->from = splitter->at;
}

void otlp_split_end(struct otlp_splitter *splitter)
{
    arena_release(&splitter->arena);
}

static const struct otlp_place *begun(const struct otlp_place *place)
{
    return place->begun ? place : NULL;
}

struct buffer *otlp_split_next(struct otlp_splitter *splitter, uint32_t max_items, size_t max_bytes,
                               struct budget *budget)
{
    const struct limits limits = {max_items, max_bytes};
    struct buffer *part = NULL;
    splitter->from = splitter->at;
    if (!splitter->failed && find_cut(splitter, &limits)) {
        splitter->at.begun = true;
        part = write_part(splitter->request, begun(&splitter->from), &splitter->at, budget);
    }
    if (!part)
        splitter->at = splitter->from;
    return part;
}

void otlp_split_undo(struct otlp_splitter *splitter)
{
    splitter->at = splitter->from;
}

struct buffer *otlp_split_rest(const struct otlp_splitter *splitter, struct budget *budget)
{
    return write_part(splitter->request, begun(&splitter->at), NULL, budget);
}

bool otlp_split(enum signal signal, struct view request, uint32_t max_items, size_t max_bytes,
                struct budget *budget, struct buffer **front, struct buffer **rest)
{
    struct otlp_splitter splitter;
    otlp_split_begin(&splitter, signal, request);
    *front = otlp_split_next(&splitter, max_items, max_bytes, budget);
    *rest = *front ? otlp_split_rest(&splitter, budget) : NULL;
    otlp_split_end(&splitter);
    if (*rest)
        return true;
    buffer_unref(*front);
    *front = NULL;
    return false;
}
