#include "processors/correlation/known/remap.h"

enum { REQUEST_RESOURCES = 1, RESOURCE_SCOPES = 2 };

static size_t size_without_scopes(struct view entry)
{
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field field;
    size_t size = 0;
    while (proto_scan_next(&scan, &field))
        if (field.number != RESOURCE_SCOPES)
            size += (size_t)(field.end - field.start);
    return size;
}

struct view remap_bare(struct view entry, struct arena *arena)
{
    size_t size = size_without_scopes(entry);
    uint8_t *request = arena_alloc(arena, proto_len_size(REQUEST_RESOURCES, size));
    if (!request)
        return (struct view){0};
    uint8_t *out = proto_len_put(request, REQUEST_RESOURCES, size);
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (field.number != RESOURCE_SCOPES)
            out = proto_bytes_put(out, view_between(field.start, field.end));
    return view_between(request, out);
}

static struct view only_entry(struct view request)
{
    struct proto_scan scan = proto_scan_begin(request);
    struct proto_field field = {0};
    proto_scan_next(&scan, &field);
    return field.bytes;
}

struct view remap_header(const struct remap *remap, struct view bare, struct arena *arena)
{
    struct splice splice;
    splice_begin(&splice, bare, arena);
    otlp_remap(SIGNAL_TRACES, bare, remap->pairs, remap->count, &splice);
    if (!splice.failed && !splice_any(&splice))
        return only_entry(bare);
    uint8_t *out = splice.failed ? NULL : arena_alloc(arena, splice_size(&splice));
    if (!out)
        return (struct view){0};
    splice_write(&splice, out);
    return only_entry((struct view){out, splice_size(&splice)});
}

struct series *remap_series(const struct remap *remap, struct series *series)
{
    for (size_t i = 0; series && i < remap->count; i++) {
        struct view to = view_of(remap->pairs[i].to);
        struct view value = series_get(series, view_of(remap->pairs[i].from));
        if (!value.data || series_get(series, to).data)
            continue;
        struct series *more = series_with(series, to, value);
        series_unref(series);
        series = more;
    }
    return series;
}
