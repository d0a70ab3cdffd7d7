/* The labels of a pushed series, as the server derives them for /ingest. */
#include "exporters/pyroscope/pyroscope.h"

#include "lib/base/log.h"
#include "lib/wire/pprof/pprof_labels.h"

#include <stdlib.h>

static bool is_private(struct view name)
{
    return view_starts(name, VIEW("__")) && !view_eq(name, VIEW("__session_id__"));
}

static struct series_label *label_list(const struct series *series, size_t extra,
                                       struct arena *arena)
{
    return arena_array(arena, series->count + extra, sizeof(struct series_label));
}

static struct series *ingest_series(const struct batch *batch, const struct pprof *pprof,
                                    struct arena *arena)
{
    const struct profile_origin *origin = batch->profile;
    struct series_label *labels = label_list(batch->series, 4, arena);
    size_t count = 0;
    if (!labels)
        return NULL;
    struct view config = view_of(origin->sample_type_config);
    if (!origin->sample_type_config)
        config.data = NULL;
    struct view type = pprof_series_name(pprof, config, arena);
    struct view spy = origin->spy_name ? view_of(origin->spy_name) : VIEW("unknown");
    labels[count++] = (struct series_label){VIEW("__name__"), type};
    /* The server must not compute deltas of profiles that are already deltas. */
    labels[count++] = (struct series_label){VIEW("__delta__"), VIEW("false")};
    if (!series_get(batch->series, VIEW("service_name")).data)
        labels[count++] = (struct series_label){VIEW("service_name"),
                                                series_get(batch->series, VIEW("__name__"))};
    if (!series_get(batch->series, VIEW("pyroscope_spy")).data)
        labels[count++] = (struct series_label){VIEW("pyroscope_spy"), spy};
    for (size_t i = 0; i < batch->series->count; i++)
        if (!is_private(batch->series->labels[i].name))
            labels[count++] = batch->series->labels[i];
    return series_new(labels, count);
}

static struct series *with_external(const struct pyroscope_exporter *self, struct series *series)
{
    for (size_t i = 0; series && i < self->external_labels.count; i++) {
        const struct key_pair *pair = &self->external_labels.pairs[i];
        struct series *next = series_with(series, view_of(pair->name), view_of(pair->value));
        series_unref(series);
        series = next;
    }
    return series;
}

bool links_need(struct view name)
{
    return view_eq(name, VIEW("__name__")) || view_eq(name, VIEW("service_name"));
}

static bool is_external(const struct pyroscope_exporter *self, struct view name)
{
    for (size_t i = 0; i < self->external_labels.count; i++)
        if (view_eq(name, view_of(self->external_labels.pairs[i].name)))
            return true;
    return false;
}

/* Drops labels from the end until at most `room` are left: first the sender's, then the external
 * ones, but never those that links need. Returns how many are left. */
static size_t drop_last(const struct pyroscope_exporter *self, struct series_label *labels,
                        size_t count, size_t room)
{
    for (int external = 0; external <= 1; external++)
        for (size_t i = count; i > 0 && count > room; i--) {
            struct view name = labels[i - 1].name;
            if (links_need(name) || (!external && is_external(self, name)))
                continue;
            memmove(&labels[i - 1], &labels[i], (count - i) * sizeof *labels);
            count--;
        }
    return count;
}

/* A new series with at most `room` labels where possible. NULL: no memory, or no label can be
 * dropped. */
static struct series *labels_shorten(struct pyroscope_exporter *self, const struct series *series,
                                     size_t room, struct arena *arena)
{
    struct series_label *labels = label_list(series, 0, arena);
    if (!labels)
        return NULL;
    memcpy(labels, series->labels, series->count * sizeof *labels);
    size_t count = drop_last(self, labels, series->count, room);
    if (count == series->count)
        return NULL;
    if (atomic_fetch_add(&self->labels_cut, series->count - count) == 0)
        env_warn(self->env,
                 "a series has more than max_labels (%lld) labels; the last ones are dropped",
                 (long long)self->max_labels);
    return series_new(labels, count);
}

/* How many labels a series may have, given those that the server adds. */
static size_t room_for_labels(const struct pyroscope_exporter *self, const struct pprof *pprof,
                              const struct series *series)
{
    size_t limit = (size_t)self->max_labels, others = pprof_promoted_labels(pprof, series);
    if (!series_get(series, VIEW("service_name")).data)
        others++;
    return others < limit ? limit - others : 0;
}

struct series *limited_series(struct pyroscope_exporter *self, struct series *series,
                              const struct pprof *pprof, struct arena *arena)
{
    size_t room;
    series = with_external(self, series);
    /* Dropping a label may let the server add one of the samples' labels instead. */
    while (series && series->count > (room = room_for_labels(self, pprof, series))) {
        struct series *shorter = labels_shorten(self, series, room, arena);
        if (!shorter)
            break;
        series_unref(series);
        series = shorter;
    }
    return series;
}

struct series *push_series(struct pyroscope_exporter *self, const struct batch *batch,
                           const struct pprof *pprof, struct arena *arena)
{
    struct series *series = batch->profile && batch->profile->by_ingest
                                ? ingest_series(batch, pprof, arena)
                                : series_ref(batch->series);
    return limited_series(self, series, pprof, arena);
}
