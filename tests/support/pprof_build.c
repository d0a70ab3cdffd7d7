#include "tests/support/pprof_build.h"

#include "lib/wire/codec/compress.h"
#include "lib/wire/proto/proto_scan.h"

#include <search.h>
#include <stdlib.h>

struct interned {
    char *text;
    uint64_t number;
};

struct pprof_build {
    bool unpacked;
    bool no_lines;
    uint64_t line; /* of every function; 0: its own */
    size_t types;
    void *strings, *functions; /* trees of struct interned, by tsearch */
    uint64_t string_count, function_count;
    struct bytes type_fields, sample_fields, location_fields, function_fields, string_fields;
    struct bytes other_fields;
    struct bytes sample; /* the one begun last, its tag and length not written yet */
    bool in_sample;
};

static void add(struct bytes *to, const void *data, size_t size)
{
    if (bytes_append(to, data, size) != BYTES_OK)
        abort();
}

static void add_number(struct bytes *to, uint64_t value)
{
    uint8_t text[10];
    add(to, text, (size_t)(proto_varint_put(text, value) - text));
}

/* A varint field; zero is left out, as proto3 does. */
static void add_int(struct bytes *to, uint32_t field, uint64_t value)
{
    if (value) {
        add_number(to, proto_tag(field, WIRE_VARINT));
        add_number(to, value);
    }
}

static void add_len(struct bytes *to, uint32_t field, struct view content)
{
    add_number(to, proto_tag(field, WIRE_LEN));
    add_number(to, content.size);
    add(to, content.data, content.size);
}

static struct bytes empty_bytes(void)
{
    struct bytes bytes;
    bytes_init(&bytes, SIZE_MAX / 2, NULL);
    return bytes;
}

static void move(struct bytes *to, uint32_t field, struct bytes *message)
{
    add_len(to, field, bytes_view(message));
    bytes_release(message);
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct interned *)a)->text, ((const struct interned *)b)->text);
}

/* Returns the number of a text in a tree; a new one gets next, and *fresh is set. */
static uint64_t intern(void **tree, const char *text, uint64_t next, bool *fresh)
{
    struct interned *entry = malloc(sizeof *entry);
    if (!entry || !(entry->text = strdup(text)))
        abort();
    entry->number = next;
    struct interned **found = tsearch(entry, tree, compare);
    if (!found)
        abort();
    *fresh = *found == entry;
    if (!*fresh) {
        free(entry->text);
        free(entry);
    }
    return (*found)->number;
}

static void free_interned(void *node)
{
    struct interned *entry = node;
    free(entry->text);
    free(entry);
}

struct pprof_build *pprof_build_new(void)
{
    struct pprof_build *build = calloc(1, sizeof *build);
    if (!build)
        abort();
    build->type_fields = build->sample_fields = build->location_fields = empty_bytes();
    build->function_fields = build->string_fields = build->other_fields = empty_bytes();
    build->sample = empty_bytes();
    pprof_build_string(build, "");
    return build;
}

void pprof_build_free(struct pprof_build *build)
{
    if (!build)
        return;
    tdestroy(build->strings, free_interned);
    tdestroy(build->functions, free_interned);
    bytes_release(&build->type_fields);
    bytes_release(&build->sample_fields);
    bytes_release(&build->location_fields);
    bytes_release(&build->function_fields);
    bytes_release(&build->string_fields);
    bytes_release(&build->other_fields);
    bytes_release(&build->sample);
    free(build);
}

void pprof_build_lines(struct pprof_build *build, bool lines)
{
    build->no_lines = !lines;
}

void pprof_build_line(struct pprof_build *build, uint64_t line)
{
    build->line = line;
}

void pprof_build_packed(struct pprof_build *build, bool packed)
{
    build->unpacked = !packed;
}

int64_t pprof_build_string(struct pprof_build *build, const char *text)
{
    bool fresh;
    uint64_t number = intern(&build->strings, text, build->string_count, &fresh);
    if (fresh) {
        build->string_count++;
        add_len(&build->string_fields, 6, view_of(text));
    }
    return (int64_t)number;
}

static uint64_t string_index(struct pprof_build *build, const char *text)
{
    return (uint64_t)pprof_build_string(build, text);
}

static void add_value_type(struct pprof_build *build, uint32_t field, const char *type,
                           const char *unit)
{
    struct bytes message = empty_bytes();
    add_int(&message, 1, string_index(build, type));
    add_int(&message, 2, string_index(build, unit));
    move(&build->type_fields, field, &message);
}

void pprof_build_type(struct pprof_build *build, const char *type, const char *unit)
{
    add_value_type(build, 1, type, unit);
    build->types++;
}

void pprof_build_period(struct pprof_build *build, const char *type, const char *unit,
                        int64_t period)
{
    add_value_type(build, 11, type, unit);
    add_int(&build->other_fields, 12, (uint64_t)period);
}

void pprof_build_time(struct pprof_build *build, int64_t time_nanos, int64_t duration_nanos)
{
    add_int(&build->other_fields, 9, (uint64_t)time_nanos);
    add_int(&build->other_fields, 10, (uint64_t)duration_nanos);
}

/* Location and function of a name; both have the same id. */
static uint64_t location_of(struct pprof_build *build, const char *name)
{
    bool fresh;
    uint64_t id = intern(&build->functions, name, build->function_count + 1, &fresh);
    if (!fresh)
        return id;
    build->function_count++;
    struct bytes message = empty_bytes();
    add_int(&message, 1, id);
    add_int(&message, 2, string_index(build, name));
    move(&build->function_fields, 5, &message);

    struct bytes line = empty_bytes();
    add_int(&line, 1, id);
    add_int(&line, 2, build->line ? build->line : 10 + id);
    message = empty_bytes();
    add_int(&message, 1, id);
    if (build->no_lines) {
        bytes_release(&line);
        add_int(&message, 3, 4096 * id);
    } else {
        move(&message, 4, &line);
    }
    move(&build->location_fields, 4, &message);
    return id;
}

static void end_sample(struct pprof_build *build)
{
    if (build->in_sample)
        add_len(&build->sample_fields, 2, bytes_view(&build->sample));
    bytes_clear(&build->sample);
    build->in_sample = false;
}

/* Adds one number of a repeated field: to the packed run, or as a field of its own. */
static void add_repeated(struct pprof_build *build, struct bytes *packed, uint32_t field,
                         uint64_t value)
{
    if (build->unpacked) {
        add_number(&build->sample, proto_tag(field, WIRE_VARINT));
        add_number(&build->sample, value);
    } else {
        add_number(packed, value);
    }
}

void pprof_build_sample(struct pprof_build *build, const int64_t *values, const char *const *frames)
{
    end_sample(build);
    build->in_sample = true;
    struct bytes locations = empty_bytes(), numbers = empty_bytes();
    for (; *frames; frames++)
        add_repeated(build, &locations, 1, location_of(build, *frames));
    if (locations.size)
        add_len(&build->sample, 1, bytes_view(&locations));
    for (size_t i = 0; i < build->types; i++)
        add_repeated(build, &numbers, 2, (uint64_t)values[i]);
    if (numbers.size)
        add_len(&build->sample, 2, bytes_view(&numbers));
    bytes_release(&locations);
    bytes_release(&numbers);
}

void pprof_build_label(struct pprof_build *build, const char *key, const char *value)
{
    struct bytes message = empty_bytes();
    add_int(&message, 1, string_index(build, key));
    add_int(&message, 2, string_index(build, value));
    move(&build->sample, 3, &message);
}

void pprof_build_num_label(struct pprof_build *build, const char *key, int64_t number,
                           const char *unit)
{
    struct bytes message = empty_bytes();
    add_int(&message, 1, string_index(build, key));
    add_int(&message, 3, (uint64_t)number);
    add_int(&message, 4, string_index(build, unit));
    move(&build->sample, 3, &message);
}

void pprof_build_raw_fields(struct pprof_build *build, struct view fields)
{
    add(&build->other_fields, fields.data, fields.size);
}

struct bytes pprof_build_raw(const struct pprof_build *build)
{
    struct bytes out = empty_bytes();
    const struct bytes *runs[] = {&build->type_fields, &build->sample_fields};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        add(&out, runs[i]->data, runs[i]->size);
    if (build->in_sample)
        add_len(&out, 2, bytes_view(&build->sample));
    const struct bytes *tables[] = {&build->location_fields, &build->function_fields,
                                    &build->other_fields, &build->string_fields};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        add(&out, tables[i]->data, tables[i]->size);
    return out;
}

struct bytes pprof_build_gzip(const struct pprof_build *build)
{
    struct bytes raw = pprof_build_raw(build), out = empty_bytes();
    if (!deflate_append(ENCODING_GZIP, bytes_view(&raw), &out))
        abort();
    bytes_release(&raw);
    return out;
}

struct bytes pprof_build_cpu(int64_t time_nanos, int64_t duration_nanos,
                             const char *const *span_ids, size_t count)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_period(build, "cpu", "nanoseconds", 10000000);
    pprof_build_time(build, time_nanos, duration_nanos);
    for (size_t i = 0; i < count; i++) {
        pprof_build_sample(build, (const int64_t[]){1, 10000000},
                           (const char *const[]){"work", "main", NULL});
        if (span_ids[i])
            pprof_build_label(build, "span_id", span_ids[i]);
    }
    struct bytes out = pprof_build_gzip(build);
    pprof_build_free(build);
    return out;
}
