#include "lib/wire/pprof/pprof_delta.h"

#include "lib/base/sort.h"
#include "lib/wire/pprof/pprof_fields.h"
#include "lib/wire/pprof/pprof_identity.h"
#include "lib/wire/pprof/pprof_split.h"
#include "lib/wire/proto/proto_write.h"

#include <stdlib.h>

/* A sample being processed. */
struct row {
    uint64_t identity;
    size_t index;   /* index of the sample in the profile */
    int64_t *value; /* one per type */
};

struct growth {
    const struct pprof *pprof;
    struct row *rows; /* sorted by identity; equal samples only once */
    size_t count;
    const int64_t **written; /* by sample: the values to write; NULL: none */
    bool cumulative[PPROF_MAX_TYPES];
    size_t stride; /* 8-byte words per sample in `before` */
};

void pprof_delta_init(struct pprof_delta *delta, size_t max, struct budget *budget)
{
    *delta = (struct pprof_delta){0};
    bytes_init(&delta->before, max, budget);
}

void pprof_delta_release(struct pprof_delta *delta)
{
    bytes_release(&delta->before);
    delta->types = 0;
}

static int by_identity(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    if (left->identity != right->identity)
        return left->identity < right->identity ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

/* A hash of the profile's types; never 0. */
static uint64_t types_of(const struct pprof *pprof)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < pprof->type_count; i++) {
        const struct view texts[] = {pprof->types[i].type, pprof->types[i].unit};
        for (size_t t = 0; t < 2; t++) {
            for (size_t at = 0; at < texts[t].size; at++)
                sum = (sum ^ texts[t].data[at]) * UINT64_C(0x100000001b3);
            sum = (sum ^ 0x100) * UINT64_C(0x100000001b3);
        }
    }
    return sum | 1;
}

static void read_types(struct growth *growth)
{
    growth->stride = 1;
    for (size_t i = 0; i < growth->pprof->type_count; i++) {
        growth->cumulative[i] = !view_starts(growth->pprof->types[i].type, VIEW("inuse_"));
        growth->stride += growth->cumulative[i];
    }
}

static bool pprof_delta_allocate(struct growth *growth, struct arena *arena)
{
    size_t samples = growth->pprof->sample_count, types = growth->pprof->type_count;
    int64_t *values = arena_array(arena, samples + 1, types * sizeof *values);
    growth->rows = arena_array(arena, samples + 1, sizeof *growth->rows);
    growth->written = arena_array(arena, samples + 1, sizeof *growth->written);
    for (size_t i = 0; values && growth->rows && i < samples; i++)
        growth->rows[i].value = values + i * types;
    return values && growth->rows && growth->written;
}

static void pprof_delta_add(int64_t *to, int64_t value)
{
    *to = (int64_t)((uint64_t)*to + (uint64_t)value);
}

/* Merges equal rows. */
static void merge(struct growth *growth)
{
    size_t kept = 0;
    for (size_t i = 0; i < growth->count; i++) {
        const struct row *row = &growth->rows[i];
        if (kept == 0 || growth->rows[kept - 1].identity != row->identity) {
            growth->rows[kept++] = *row;
            continue;
        }
        for (size_t t = 0; t < growth->pprof->type_count; t++)
            pprof_delta_add(&growth->rows[kept - 1].value[t], row->value[t]);
    }
    growth->count = kept;
}

static bool read_rows(struct growth *growth, struct arena *arena)
{
    struct pprof_identity identity;
    struct pprof_sample sample;
    struct proto_scan scan = proto_scan_begin(growth->pprof->raw);
    if (!pprof_delta_allocate(growth, arena) ||
        !pprof_identity_open(&identity, growth->pprof, arena))
        return false;
    while (pprof_next_sample(growth->pprof, &scan, &sample)) {
        struct row *row = &growth->rows[growth->count];
        row->identity = pprof_identity_of(&identity, &sample.field);
        row->index = growth->count++;
        memcpy(row->value, sample.values, growth->pprof->type_count * sizeof *row->value);
    }
    if (growth->count)
        sort_rows(growth->rows, growth->count, sizeof *growth->rows, by_identity);
    merge(growth);
    return true;
}

/* Finds the row with an identity, at or after *at; NULL: none. */
static const struct row *pprof_delta_find(const struct growth *growth, size_t *at,
                                          uint64_t identity)
{
    while (*at < growth->count && growth->rows[*at].identity < identity)
        (*at)++;
    bool found = *at < growth->count && growth->rows[*at].identity == identity;
    return found ? &growth->rows[*at] : NULL;
}

static bool has_shrunk(const struct growth *growth, const int64_t *old, const struct row *row)
{
    size_t at = 1;
    for (size_t t = 0; t < growth->pprof->type_count; t++)
        if (growth->cumulative[t] && (row ? row->value[t] : 0) < old[at++])
            return true;
    return false;
}

/* Whether `before` is from another process or another kind of profile. */
static bool has_restarted(const struct growth *growth, const struct pprof_delta *delta)
{
    const int64_t *old = (const int64_t *)(const void *)delta->before.data;
    size_t words = delta->before.size / sizeof *old, at = 0;
    if (delta->types != types_of(growth->pprof))
        return true;
    for (size_t i = 0; i < words; i += growth->stride)
        if (has_shrunk(growth, old + i, pprof_delta_find(growth, &at, (uint64_t)old[i])))
            return true;
    return false;
}

/* Stores the state of all rows. */
static enum bytes_result remember(const struct growth *growth, struct bytes *after)
{
    enum bytes_result result =
        bytes_reserve(after, growth->count * growth->stride * sizeof(int64_t));
    for (size_t i = 0; result == BYTES_OK && i < growth->count; i++) {
        const struct row *row = &growth->rows[i];
        int64_t words[1 + PPROF_MAX_TYPES] = {(int64_t)row->identity};
        size_t at = 1;
        for (size_t t = 0; t < growth->pprof->type_count; t++)
            if (growth->cumulative[t])
                words[at++] = row->value[t];
        result = bytes_append(after, words, at * sizeof *words);
    }
    return result;
}

/* Subtracts the previous values; restarted: all. */
static void subtract(const struct growth *growth, const struct pprof_delta *delta, bool restarted)
{
    const int64_t *old = (const int64_t *)(const void *)delta->before.data;
    size_t words = restarted ? 0 : delta->before.size / sizeof *old, from = 0;
    for (size_t i = 0; i < growth->count; i++) {
        const struct row *row = &growth->rows[i];
        while (from < words && (uint64_t)old[from] < row->identity)
            from += growth->stride;
        bool known = from < words && (uint64_t)old[from] == row->identity;
        size_t at = 1;
        for (size_t t = 0; t < growth->pprof->type_count; t++) {
            if (!growth->cumulative[t])
                continue;
            if (restarted)
                row->value[t] = 0;
            else if (known)
                pprof_delta_add(&row->value[t], (int64_t)(0 - (uint64_t)old[from + at]));
            at++;
        }
    }
}

/* Chooses the samples to write; returns their number. */
static size_t pprof_delta_choose(struct growth *growth)
{
    size_t kept = 0;
    for (size_t i = 0; i < growth->count; i++) {
        const struct row *row = &growth->rows[i];
        bool any = false;
        for (size_t t = 0; t < growth->pprof->type_count; t++)
            any = any || row->value[t] != 0;
        if (any) {
            growth->written[row->index] = row->value;
            kept++;
        }
    }
    return kept;
}

static void write_sample(const struct growth *growth, struct proto_write *write,
                         const struct proto_field *sample, const int64_t *values)
{
    struct proto_scan scan = proto_scan_begin(sample->bytes);
    struct proto_field field;
    size_t opened = proto_write_open(write, PROFILE_SAMPLE);
    while (proto_scan_next(&scan, &field))
        if (field.number != SAMPLE_VALUE)
            proto_write_raw(write, view_between(field.start, field.end));
    size_t packed = proto_write_open(write, SAMPLE_VALUE);
    for (size_t t = 0; t < growth->pprof->type_count; t++)
        proto_write_packed(write, (uint64_t)values[t]);
    proto_write_close(write, packed);
    proto_write_close(write, opened);
}

static bool pprof_delta_write_all(const struct growth *growth, struct bytes *out)
{
    struct proto_write write = proto_write_begin(out);
    struct proto_scan scan = proto_scan_begin(growth->pprof->raw);
    struct proto_field field;
    size_t index = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != PROFILE_SAMPLE) {
            proto_write_raw(&write, view_between(field.start, field.end));
            continue;
        }
        const int64_t *values = growth->written[index++];
        if (values)
            write_sample(growth, &write, &field, values);
    }
    return !proto_write_fault(&write);
}

/* Drops unused table entries: most of them, if little has grown. */
static bool compact(struct view whole, struct arena *arena, struct bytes *out)
{
    struct pprof pprof;
    struct proto_fault fault;
    struct pprof_split split;
    const char *why;
    return pprof_open(&pprof, whole, arena, &fault) &&
           pprof_split_begin(&split, &pprof, 0, 0, arena) && pprof_split_next(&split, out, &why);
}

static enum pprof_delta_result write_growth(const struct growth *growth, struct arena *arena,
                                            struct bytes *out)
{
    struct bytes whole;
    bytes_init(&whole, out->max, out->budget);
    bool good = pprof_delta_write_all(growth, &whole) && compact(bytes_view(&whole), arena, out);
    bytes_release(&whole);
    return good ? PPROF_DELTA_OK : PPROF_DELTA_NO_ROOM;
}

enum pprof_delta_result pprof_delta_next(struct pprof_delta *delta, const struct pprof *pprof,
                                         struct arena *arena, struct bytes *out)
{
    struct growth growth = {.pprof = pprof};
    struct bytes after;
    enum pprof_delta_result result = PPROF_DELTA_NO_ROOM;
    bytes_init(&after, delta->before.max, delta->before.budget);
    read_types(&growth);
    if (read_rows(&growth, arena) && remember(&growth, &after) == BYTES_OK) {
        subtract(&growth, delta, has_restarted(&growth, delta));
        result =
            pprof_delta_choose(&growth) ? write_growth(&growth, arena, out) : PPROF_DELTA_EMPTY;
    }
    pprof_delta_release(delta);
    if (result == PPROF_DELTA_NO_ROOM) {
        bytes_release(&after);
        return result;
    }
    delta->before = after;
    delta->types = types_of(pprof);
    return result;
}
