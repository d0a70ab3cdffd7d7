#include "pipeline/native_record.h"

#include "lib/wire/pprof/series.h"
#include "pipeline/otlp_request.h"
#include "pipeline/pprof_request.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL "label."

static const char *const encodings[] = {
    [BATCH_OTLP] = "otlp", [BATCH_PPROF] = "pprof", [BATCH_OPAQUE] = "opaque"};

/* ---- writing ---- */

static bool add_text(native_add_fn *add, void *ctx, const char *name, const char *text)
{
    return !text || add(ctx, name, view_of(text));
}

static bool add_time(native_add_fn *add, void *ctx, const char *name, uint64_t ns)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, ns);
    return ns == 0 || add(ctx, name, view_of(text));
}

static bool add_labels(const struct series *series, native_add_fn *add, void *ctx)
{
    char name[NATIVE_NAME_SIZE];
    bool good = true;
    for (size_t i = 0; good && series && i < series->count; i++) {
        const struct series_label *label = &series->labels[i];
        if (label->name.size < sizeof name - sizeof LABEL) {
            snprintf(name, sizeof name, LABEL "%.*s", VIEW_ARG(label->name));
            good = add(ctx, name, label->value);
        }
    }
    return good;
}

static bool add_origin(const struct profile_origin *origin, native_add_fn *add, void *ctx)
{
    return !origin || ((!origin->by_ingest || add(ctx, "ingest", VIEW("1"))) &&
                       add_time(add, ctx, "from", origin->from_ns) &&
                       add_time(add, ctx, "until", origin->until_ns) &&
                       add_text(add, ctx, "sample-type-config", origin->sample_type_config) &&
                       add_text(add, ctx, "spy-name", origin->spy_name));
}

bool native_record_headers(const struct batch *batch, native_add_fn *add, void *ctx)
{
    const struct opaque_request *opaque = batch->opaque;
    return add_text(add, ctx, NATIVE_ENCODING, encodings[batch->encoding]) &&
           add_text(add, ctx, NATIVE_TENANT, batch->metadata ? batch->metadata->tenant : NULL) &&
           add_text(add, ctx, "content-type", opaque ? opaque->content_type : NULL) &&
           add_text(add, ctx, "query", opaque ? opaque->query : NULL) &&
           add_labels(batch->series, add, ctx) && add_origin(batch->profile, add, ctx);
}

struct view native_record_value(const struct batch *batch)
{
    const struct buffer *packed = batch->payload->packed;
    return buffer_view(packed ? packed : batch->payload);
}

/* ---- reading ---- */

struct given {
    const struct native_header *headers;
    size_t count;
};

/* The last header of that name; data NULL: none. */
static struct view given_value(struct given given, const char *name)
{
    for (size_t i = given.count; i > 0; i--)
        if (strcmp(given.headers[i - 1].name, name) == 0)
            return given.headers[i - 1].value;
    return (struct view){0};
}

/* A copy; NULL without the header, or without memory (then *good is cleared). */
static char *given_text(struct given given, const char *name, bool *good)
{
    struct view value = given_value(given, name);
    char *text = value.data ? strndup((const char *)value.data, value.size) : NULL;
    *good &= text || !value.data;
    return text;
}

static uint64_t given_time(struct given given, const char *name)
{
    struct view value = given_value(given, name);
    char text[24] = "";
    if (value.size && value.size < sizeof text)
        memcpy(text, value.data, value.size);
    return strtoull(text, NULL, 10);
}

static struct series *given_series(struct given given)
{
    struct series_label *labels = calloc(given.count + 1, sizeof *labels);
    size_t n = 0;
    for (size_t i = 0; labels && i < given.count; i++)
        if (strncmp(given.headers[i].name, LABEL, sizeof LABEL - 1) == 0)
            labels[n++] = (struct series_label){view_of(given.headers[i].name + sizeof LABEL - 1),
                                                given.headers[i].value};
    struct series *series = labels ? series_new(labels, n) : NULL;
    free(labels);
    return series;
}

static bool has_origin(struct given given)
{
    static const char *const names[] = {"ingest", "from", "until", "sample-type-config",
                                        "spy-name"};
    bool any = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        any |= given_value(given, names[i]).data != NULL;
    return any;
}

static bool give_origin(struct given given, struct batch *batch)
{
    bool good = true;
    struct profile_origin *origin = calloc(1, sizeof *origin);
    if (!origin)
        return false;
    origin->by_ingest = view_eq(given_value(given, "ingest"), VIEW("1"));
    origin->from_ns = given_time(given, "from");
    origin->until_ns = given_time(given, "until");
    origin->sample_type_config = given_text(given, "sample-type-config", &good);
    origin->spy_name = given_text(given, "spy-name", &good);
    batch_set_profile(batch, origin);
    return good;
}

static struct batch *read_pprof(struct view value, struct given given, struct bytes *raw,
                                struct outcome *why)
{
    *why = pprof_request_read(value, raw);
    if (why->verdict != VERDICT_OK || raw->size == 0)
        return NULL;
    struct series *series = given_series(given);
    struct batch *batch = series ? pprof_request_batch(raw, value, series) : NULL;
    if (batch && (!has_origin(given) || give_origin(given, batch)))
        return batch;
    batch_unref(batch);
    *why = outcome_no_memory();
    return NULL;
}

static struct batch *read_opaque(struct view value, struct given given, struct bytes *raw,
                                 struct outcome *why)
{
    bool good = bytes_append_view(raw, value) == BYTES_OK;
    struct opaque_request *opaque = good ? calloc(1, sizeof *opaque) : NULL;
    struct buffer *buffer = opaque ? buffer_from_bytes(raw) : NULL;
    struct batch *batch = buffer ? batch_new(SIGNAL_PROFILES, BATCH_OPAQUE, buffer, 1, NULL) : NULL;
    *why = outcome_no_memory();
    if (!batch) {
        free(opaque);
        return NULL;
    }
    opaque->query = given_text(given, "query", &good);
    if (good && !opaque->query)
        good = (opaque->query = strdup("")) != NULL;
    opaque->content_type = given_text(given, "content-type", &good);
    batch_set_opaque(batch, opaque);
    if (good && budget_never_fits(batch->payload->budget, batch_work(batch)))
        batch_forgo_plain(batch);
    if (good)
        return batch;
    batch_unref(batch);
    return NULL;
}

static struct batch *read_otlp(struct view value, struct bytes *raw, struct outcome *why)
{
    struct otlp_request request = {0};
    *why = bytes_append_view(raw, value) == BYTES_OK
               ? otlp_request_read(SIGNAL_PROFILES, false, raw, &request)
               : outcome_no_memory();
    return why->verdict == VERDICT_OK ? request.batch : NULL;
}

static struct batch *read_value(struct view value, struct given given, struct bytes *raw,
                                struct outcome *why)
{
    struct view encoding = given_value(given, NATIVE_ENCODING);
    if (view_eq(encoding, view_of(encodings[BATCH_PPROF])))
        return read_pprof(value, given, raw, why);
    if (view_eq(encoding, view_of(encodings[BATCH_OPAQUE])))
        return read_opaque(value, given, raw, why);
    if (view_eq(encoding, view_of(encodings[BATCH_OTLP])))
        return read_otlp(value, raw, why);
    *why = encoding.data ? outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED,
                                      "the header " NATIVE_ENCODING " is \"%.*s\", which this "
                                      "version does not know",
                                      encoding.size > 32 ? 32 : (int)encoding.size,
                                      (const char *)encoding.data)
                         : outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                                      "the header " NATIVE_ENCODING " is missing: the record was "
                                      "not written with encoding: native");
    return NULL;
}

struct batch *native_record_read(struct view value, const struct native_header *headers,
                                 size_t count, size_t max, struct budget *budget,
                                 struct outcome *why)
{
    const struct given given = {headers, count};
    struct view tenant = given_value(given, NATIVE_TENANT);
    struct bytes raw;
    bool failed = false;
    bytes_init(&raw, max, budget);
    struct batch *batch = read_value(value, given, &raw, why);
    bytes_release(&raw);
    if (!batch)
        return NULL;
    *why = OUTCOME_OK;
    if (tenant.size)
        batch_set_metadata(batch, metadata_new(tenant, (struct view){0}, &failed));
    if (!failed)
        return batch;
    *why = outcome_no_memory();
    batch_unref(batch);
    return NULL;
}

/* ---- parts ---- */

void native_part_write(const struct native_part *part, char *out, size_t size)
{
    snprintf(out, size, "%" PRIu32 "/%" PRIu32 " %016" PRIx64, part->number, part->count, part->id);
}

bool native_part_parse(struct view text, struct native_part *part)
{
    char copy[48];
    int end = 0;
    if (text.size >= sizeof copy || !text.size || !isdigit(text.data[0]))
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return sscanf(copy, "%" SCNu32 "/%" SCNu32 " %" SCNx64 "%n", &part->number, &part->count,
                  &part->id, &end) == 3 &&
           (size_t)end == text.size && part->count >= 2 && part->count <= NATIVE_PARTS_MAX &&
           part->number >= 1 && part->number <= part->count;
}
