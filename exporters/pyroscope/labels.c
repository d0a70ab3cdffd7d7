/* The labels of a pushed series, as the server would have made them from /ingest. */
#include "exporters/pyroscope/pyroscope.h"

#include "base/log.h"
#include "wire/pprof_labels.h"

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
    /* Profiles that are deltas already must not be differenced again by the server. */
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

static bool is_kept(struct view name)
{
    return view_eq(name, VIEW("__name__")) || view_eq(name, VIEW("service_name"));
}

/* Drops labels from the end until at most `room` are left, never those that a link needs. */
static struct series *cut(struct pyroscope_exporter *self, struct series *series, size_t room,
                          struct arena *arena)
{
    struct series_label *labels = label_list(series, 0, arena);
    size_t excess = series->count - room, count = series->count;
    if (!labels)
        return series;
    memcpy(labels, series->labels, series->count * sizeof *labels);
    for (size_t i = series->count; i > 0 && excess > 0; i--)
        if (!is_kept(labels[i - 1].name)) {
            memmove(&labels[i - 1], &labels[i], (count - i) * sizeof *labels);
            count--;
            excess--;
        }
    if (atomic_fetch_add(&self->labels_cut, series->count - count) == 0)
        log_warn("%s: a series has more than max_labels = %lld labels, the last ones are cut",
                 self->env->id, (long long)self->max_labels);
    struct series *shorter = series_new(labels, count);
    if (!shorter)
        return series;
    series_unref(series);
    return shorter;
}

struct series *push_series(struct pyroscope_exporter *self, const struct batch *batch,
                           const struct pprof *pprof, struct arena *arena)
{
    struct series *series = batch->profile && batch->profile->by_ingest
                                ? ingest_series(batch, pprof, arena)
                                : series_ref(batch->series);
    series = with_external(self, series);
    if (!series)
        return NULL;
    /* The server makes a series label of every string label on a sample but the span's. */
    size_t promoted = pprof_promoted_labels(pprof, arena);
    size_t limit = (size_t)self->max_labels;
    size_t room = promoted < limit - 2 ? limit - promoted : 2;
    return series->count > room ? cut(self, series, room, arena) : series;
}
