#include "extensions/status/figures.h"

#include "extensions/status/known_find.h"

#include <stdlib.h>

#define PLAIN_MAX ((size_t)1 << 20)

void figures_walk(struct status *self, figures_visit_fn *visit, void *ctx)
{
    size_t count;
    struct bytes plain;
    bytes_init(&plain, PLAIN_MAX, self->env->budget);
    struct kept **list = keep_list(&self->keep, 0, &count);
    for (size_t i = 0; i < count; i++) {
        bytes_clear(&plain);
        if (list[i]->kind != KEPT_FIGURES || !kept_open(list[i], &plain))
            continue;
        struct known_figures each;
        for (size_t at = 0; at + sizeof each <= plain.size; at += sizeof each) {
            memcpy(&each, plain.data + at, sizeof each);
            visit(ctx, &each);
        }
    }
    keep_list_free(list, count);
    bytes_release(&plain);
}

struct collecting {
    uint64_t trace, id;
    struct figures *out;
};

static void collect_visited(void *ctx, const struct known_figures *each)
{
    struct collecting *collecting = ctx;
    struct figures *out = collecting->out;
    if (collecting->trace ? each->trace != collecting->trace : each->id != collecting->id)
        return;
    if (out->count == out->capacity) {
        size_t capacity = out->capacity ? out->capacity * 2 : 16;
        struct known_figures *rows = realloc(out->rows, capacity * sizeof *rows);
        if (!rows)
            return;
        out->rows = rows;
        out->capacity = capacity;
    }
    out->rows[out->count++] = *each;
}

static int by_id(const void *a, const void *b)
{
    const struct known_figures *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

void figures_collect(struct status *self, uint64_t trace, uint64_t id, struct figures *out)
{
    *out = (struct figures){.lost = figures_lost(self), .reloaded = self->reloaded};
    struct collecting collecting = {trace, id, out};
    figures_walk(self, collect_visited, &collecting);
    if (out->rows)
        qsort(out->rows, out->count, sizeof *out->rows, by_id);
}

void figures_release(struct figures *figures)
{
    free(figures->rows);
}

uint64_t figures_lost(struct status *self)
{
    uint64_t kept = keep_reach(&self->keep).figures;
    status_lock(self);
    const struct known *known = &self->known;
    uint64_t lost =
        known->passed_over_at > known->gone_lost ? known->passed_over_at : known->gone_lost;
    status_unlock(self);
    lost = self->reloaded > lost ? self->reloaded : lost;
    return kept > lost ? kept : lost;
}

/* The first row with an id. */
static size_t first_of(const struct figures *figures, uint64_t id)
{
    size_t from = 0, to = figures->count;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (figures->rows[mid].id < id)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static void add_kept(const struct figures *figures, const struct figures_asked *asked,
                     struct span_figures_told *told)
{
    uint32_t service = known_figures_service(asked->service);
    for (size_t i = first_of(figures, asked->id);
         i < figures->count && figures->rows[i].id == asked->id; i++) {
        const struct known_figures *row = &figures->rows[i];
        if ((row->service & ~(uint32_t)FIGURES_TIME_CPU) != service)
            continue;
        told->samples += row->samples;
        told->cpu_ns += row->cpu_ns;
        told->wall_ns += row->wall_ns;
        told->times_cpu = row->service & FIGURES_TIME_CPU;
    }
}

struct span_figures_told figures_of(const struct known *known, const struct figures *figures,
                                    const struct known_span *span,
                                    const struct figures_asked *asked)
{
    struct span_figures_told told = {0};
    if (span) {
        told.samples = known_samples(known, span);
        told.cpu_ns = span->cpu_ns;
        told.wall_ns = span->wall_ns;
    }
    told.times_cpu = span ? known_times_cpu(known, span)
                          : known->services[known_service_find(known, asked->service)]->times_cpu;
    add_kept(figures, asked, &told);
    bool some = told.samples || told.cpu_ns || told.wall_ns || (span && known_has_samples(span));
    uint64_t began = asked->start ? asked->start : asked->end;
    bool lost = (!some && figures->lost && began <= figures->lost) || began < figures->reloaded;
    told.unknown = asked->samples && lost;
    told.times_cpu = told.times_cpu && !told.unknown;
    return told;
}
