/* Divides requests by topic and key, in wire form. */
#include "exporters/kafka/kafka.h"

#include "lib/base/sort.h"
#include "lib/wire/http/http_query.h"
#include "lib/wire/otlp/otlp.h"
#include "lib/wire/pprof/ingest_text.h"
#include "lib/wire/pprof/series.h"
#include "lib/wire/profiles/otlp_profiles.h"
#include "lib/wire/proto/proto_write.h"
#include "pipeline/otlp_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_SERVICE VIEW("unknown_service")

enum {
    REQUEST_ENTRY = 1,
    ENTRY_RESOURCE = 1,
    ENTRY_SCOPE = 2,
    RESOURCE_ATTRIBUTES = 1,
    SCOPE_ITEM = 2,
    SPAN_TRACE_ID = 1,
    TRACE_ID_SIZE = 16,
    NAME_SIZE = 64 << 10,
    MADE_CAP = 1 << 30
};

/* ---- names and keys ---- */

static struct view first_label(const struct series *series, bool application)
{
    static const char *const labels[] = {"service_name", "service.name", "__name__"};
    for (size_t i = 0; series && i < (application ? 3 : 2); i++) {
        struct view value = series_get(series, view_of(labels[i]));
        if (value.size)
            return value;
    }
    return (struct view){0};
}

static struct view service_of_query(const char *query, struct arena *arena)
{
    const char *reason;
    struct view service = {0};
    char format[16] = "";
    char *name = arena_array_raw(arena, NAME_SIZE, 1);
    struct series *series = name && http_query_get(query, "name", name, NAME_SIZE)
                                ? series_parse(view_of(name), &reason)
                                : NULL;
    if (series) {
        http_query_get(query, "format", format, sizeof format);
        service = view_of(arena_text(arena, ingest_text_service(series, format)));
    }
    series_unref(series);
    return service;
}

struct view service_of_profile(const struct batch *batch, struct arena *arena)
{
    if (batch->opaque)
        return service_of_query(batch->opaque->query, arena);
    return first_label(batch->series, batch->profile && batch->profile->by_ingest);
}

struct view service_of_otlp(const struct batch *batch, struct arena *arena)
{
    struct view request = buffer_view(batch->payload), key = VIEW("service.name");
    struct otlp_dictionary dictionary;
    struct otlp_walk walk;
    const char *reason;
    otlp_walk_begin(&walk, batch->signal, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step != OTLP_RESOURCE)
            continue;
        if (batch->signal != SIGNAL_PROFILES)
            return otlp_resource_attribute(walk.resource_entry.bytes, key);
        if (otlp_dictionary_open(&dictionary, request, arena, &reason))
            return otlp_profiles_resource_attribute(&dictionary, walk.resource_entry.bytes, key);
    }
    return (struct view){0};
}

struct view process_key(const struct kafka_exporter *self, struct view service, struct arena *arena)
{
    size_t source = strlen(self->own_source);
    if (!service.size)
        service = UNKNOWN_SERVICE;
    uint8_t *key = arena_array_raw(arena, service.size + 1 + source, 1);
    if (!key)
        return (struct view){0};
    memcpy(key, service.data, service.size);
    key[service.size] = '\0';
    memcpy(key + service.size + 1, self->own_source, source);
    return (struct view){key, service.size + 1 + source};
}

/* Equal for equal attributes in any order. */
static struct view resource_key(struct view entry, struct arena *arena)
{
    struct proto_field resource, field;
    uint64_t sum = 0;
    char *key = arena_array_raw(arena, 17, 1);
    if (!key)
        return (struct view){0};
    if (proto_find(entry, ENTRY_RESOURCE, WIRE_LEN, &resource)) {
        struct proto_scan scan = proto_scan_begin(resource.bytes);
        while (proto_scan_next(&scan, &field)) {
            uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
            for (size_t i = 0; field.number == RESOURCE_ATTRIBUTES && i < field.bytes.size; i++)
                hash = (hash ^ field.bytes.data[i]) * UINT64_C(1099511628211);
            sum += field.number == RESOURCE_ATTRIBUTES ? hash : 0;
        }
    }
    snprintf(key, 17, "%016llx", (unsigned long long)sum);
    return (struct view){(uint8_t *)key, 16};
}

/* ---- by resource ---- */

struct division {
    const struct kafka_exporter *self;
    struct batch *batch;
    struct shares *shares;
    struct arena *arena;
    enum kafka_key by;
    struct view request;
    struct otlp_dictionary dictionary; /* of profiles */
    bool has_dictionary;
};

/* An entry of the request, or a span with what it is in. */
struct piece {
    struct view entry, scope, item; /* whole fields; scope and item only if divided by trace */
    const char *topic;
    struct view key;
    size_t order; /* in the request */
};

static struct view attribute_of(const struct division *division, struct view entry, struct view key)
{
    return division->has_dictionary
               ? otlp_profiles_resource_attribute(&division->dictionary, entry, key)
               : otlp_resource_attribute(entry, key);
}

static const char *topic_of(const struct division *division, struct view entry)
{
    const struct kafka_exporter *self = division->self;
    const char *topic = kafka_topic(self, division->batch->signal);
    if (!*self->topic_from_attribute)
        return topic;
    struct view given = attribute_of(division, entry, view_of(self->topic_from_attribute));
    const char *copy = kafka_topic_legal(given) ? arena_text(division->arena, given) : topic;
    return copy ? copy : topic;
}

/* False: no memory. */
static bool key_of(const struct division *division, struct view entry, struct view *key)
{
    *key = (struct view){0};
    if (division->by == KAFKA_KEY_PROCESS)
        *key = process_key(division->self, attribute_of(division, entry, VIEW("service.name")),
                           division->arena);
    else if (division->by == KAFKA_KEY_RESOURCE)
        *key = resource_key(entry, division->arena);
    else
        return true;
    return key->data != NULL;
}

/* Puts the pieces of a share next to one another, in the request's order. */
static int compare_pieces(const void *a, const void *b)
{
    const struct piece *one = a, *other = b;
    int order = strcmp(one->topic, other->topic);
    if (order == 0 && one->key.size != other->key.size)
        order = one->key.size < other->key.size ? -1 : 1;
    if (order == 0 && one->key.size)
        order = memcmp(one->key.data, other->key.data, one->key.size);
    return order ? order : one->order < other->order ? -1 : 1;
}

static bool same_share(const struct piece *a, const struct piece *b)
{
    return view_eq(view_of(a->topic), view_of(b->topic)) && view_eq(a->key, b->key);
}

/* ---- writing ---- */

/* Copies a message's fields except those of one number. */
static void write_beside(struct proto_write *write, struct view body, uint32_t number)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (field.number != number)
            proto_write_raw(write, view_between(field.start, field.end));
}

static struct view body_of(struct view whole)
{
    struct proto_scan scan = proto_scan_begin(whole);
    struct proto_field field;
    return proto_scan_next(&scan, &field) ? field.bytes : (struct view){0};
}

/* Writes spans of one trace, each run of one scope and of one resource in its own message. */
static void write_spans(struct proto_write *write, const struct piece *pieces, size_t count)
{
    for (size_t i = 0; i < count;) {
        const uint8_t *entry = pieces[i].entry.data;
        size_t resource = proto_write_open(write, REQUEST_ENTRY);
        write_beside(write, body_of(pieces[i].entry), ENTRY_SCOPE);
        while (i < count && pieces[i].entry.data == entry) {
            const uint8_t *scope = pieces[i].scope.data;
            size_t opened = proto_write_open(write, ENTRY_SCOPE);
            write_beside(write, body_of(pieces[i].scope), SCOPE_ITEM);
            for (; i < count && pieces[i].scope.data == scope; i++)
                proto_write_raw(write, pieces[i].item);
            proto_write_close(write, opened);
        }
        proto_write_close(write, resource);
    }
}

static struct buffer *write_share(const struct division *division, const struct piece *pieces,
                                  size_t count)
{
    struct bytes out;
    bytes_init(&out, MADE_CAP, NULL);
    struct proto_write write = proto_write_begin(&out);
    if (pieces->item.data)
        write_spans(&write, pieces, count);
    for (size_t i = 0; !pieces->item.data && i < count; i++)
        proto_write_raw(&write, pieces[i].entry);
    write_beside(&write, division->request, REQUEST_ENTRY);
    struct buffer *made = NULL;
    if (!proto_write_fault(&write) &&
        (made = buffer_new(out.size, division->batch->payload->budget, true)))
        memcpy(made->data, out.data, out.size);
    bytes_release(&out);
    return made;
}

static bool add_share(const struct division *division, const struct piece *pieces, size_t count)
{
    struct shares *shares = division->shares;
    struct buffer *made = write_share(division, pieces, count);
    uint32_t items = made ? otlp_count(division->batch->signal, buffer_view(made)) : 0;
    struct batch *batch = made ? batch_with_payload(division->batch, made, items) : NULL;
    if (batch && division->batch->signal == SIGNAL_PROFILES) {
        struct batch *pruned = otlp_pruned(batch);
        if (pruned) {
            batch_unref(batch);
            batch = pruned;
        }
    }
    shares->all[shares->count] = (struct share){pieces->topic, pieces->key, batch, false};
    shares->count += batch != NULL;
    return batch != NULL;
}

static int compare_first(const void *a, const void *b)
{
    const struct piece *const *one = a, *const *other = b;
    return (*one)->order < (*other)->order ? -1 : 1;
}

/* Groups the pieces and writes each group; the groups keep the order of their first piece. */
static bool write_shares(const struct division *division, struct piece *pieces, size_t count)
{
    size_t groups = 0;
    sort_rows(pieces, count, sizeof *pieces, compare_pieces);
    struct piece **firsts = arena_array(division->arena, count, sizeof *firsts);
    division->shares->all = calloc(count, sizeof *division->shares->all);
    bool good = firsts && division->shares->all;
    for (size_t i = 0; good && i < count; i++)
        if (i == 0 || !same_share(&pieces[i - 1], &pieces[i]))
            firsts[groups++] = &pieces[i];
    if (good)
        sort_rows(firsts, groups, sizeof(struct piece *), compare_first);
    for (size_t i = 0; good && i < groups; i++) {
        size_t n = 1;
        while (firsts[i] + n < pieces + count && same_share(firsts[i], firsts[i] + n))
            n++;
        good = add_share(division, firsts[i], n);
    }
    return good;
}

/* ---- shares ---- */

static bool whole_share(struct shares *shares, const char *topic, struct view key,
                        struct batch *batch)
{
    shares->all = calloc(1, sizeof *shares->all);
    if (!shares->all)
        return false;
    shares->all[0] = (struct share){topic, key, batch_ref(batch), false};
    shares->count = 1;
    return true;
}

/* The pieces of a request; *all_one: they are one share. NULL: no memory. */
static struct piece *pieces_of(const struct division *division, size_t *count, bool *all_one)
{
    struct otlp_walk walk;
    struct view request = division->request;
    size_t capacity = 0;
    otlp_walk_begin(&walk, division->batch->signal, request);
    bool by_trace = division->by == KAFKA_KEY_TRACE;
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;)
        capacity += step == (by_trace ? OTLP_ITEM : OTLP_RESOURCE);
    struct piece *pieces = arena_array(division->arena, capacity + 1, sizeof *pieces);
    *count = 0;
    *all_one = true;
    otlp_walk_begin(&walk, division->batch->signal, request);
    const char *topic = kafka_topic(division->self, division->batch->signal);
    bool good = pieces != NULL;
    for (enum otlp_step step; good && (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step == OTLP_RESOURCE)
            topic = topic_of(division, walk.resource_entry.bytes);
        if (step != (by_trace ? OTLP_ITEM : OTLP_RESOURCE))
            continue;
        struct piece *piece = &pieces[*count];
        *piece = (struct piece){
            .entry = view_between(walk.resource_entry.start, walk.resource_entry.end),
            .topic = topic,
            .order = *count};
        struct proto_field id;
        if (by_trace) {
            piece->scope = view_between(walk.scope_entry.start, walk.scope_entry.end);
            piece->item = view_between(walk.item.start, walk.item.end);
            if (proto_find(walk.item.bytes, SPAN_TRACE_ID, WIRE_LEN, &id))
                piece->key = id.bytes;
        } else {
            good = key_of(division, walk.resource_entry.bytes, &piece->key);
        }
        *all_one &= same_share(pieces, piece);
        ++*count;
    }
    return good ? pieces : NULL;
}

/* A trace's key is its id in hex, as the Collector writes it. */
static bool hex_key(struct share *share, struct arena *arena)
{
    struct view id = share->key;
    char *text = arena_array(arena, 2 * id.size + 1, 1);
    for (size_t i = 0; text && i < id.size; i++)
        snprintf(text + 2 * i, 3, "%02x", id.data[i]);
    share->key = (struct view){(uint8_t *)text, 2 * id.size};
    return text != NULL;
}

/* After the division, which must not depend on what is absent: attempts mark shares as done. */
static void redirect(const struct division *division, struct share *share)
{
    const struct kafka_exporter *self = division->self;
    const char *topic = kafka_topic(self, division->batch->signal);
    if (!self->absent || !share->topic || strcmp(share->topic, topic) == 0 ||
        !absent_topics_has(self->absent, share->topic))
        return;
    share->topic = topic;
    share->redirected = true;
}

static bool divide(struct division *division)
{
    size_t count;
    bool all_one;
    const char *reason;
    if (division->batch->signal == SIGNAL_PROFILES)
        division->has_dictionary = otlp_dictionary_open(&division->dictionary, division->request,
                                                        division->arena, &reason);
    struct piece *pieces = pieces_of(division, &count, &all_one);
    struct shares *shares = division->shares;
    bool good = pieces != NULL;
    if (good && all_one)
        good = whole_share(
            shares, count ? pieces->topic : kafka_topic(division->self, division->batch->signal),
            pieces->key, division->batch);
    else if (good)
        good = write_shares(division, pieces, count);
    for (size_t i = 0; good && i < shares->count; i++)
        redirect(division, &shares->all[i]);
    for (size_t i = 0; good && division->by == KAFKA_KEY_TRACE && i < shares->count; i++)
        good = hex_key(&shares->all[i], division->arena);
    return good;
}

bool shares_of(const struct kafka_exporter *self, struct batch *batch, struct shares *shares,
               struct arena *arena)
{
    enum kafka_key by = kafka_key_of(self, batch->signal);
    struct view key = {0};
    *shares = (struct shares){0};
    if (batch->encoding != BATCH_OTLP && by == KAFKA_KEY_PROCESS) {
        key = process_key(self, service_of_profile(batch, arena), arena);
        if (!key.data)
            return false;
    }
    if (batch->encoding != BATCH_OTLP || (by == KAFKA_KEY_NONE && !*self->topic_from_attribute))
        return whole_share(shares, kafka_topic(self, batch->signal), key, batch);
    struct division division = {.self = self,
                                .batch = batch,
                                .shares = shares,
                                .arena = arena,
                                .by = by,
                                .request = buffer_view(batch->payload)};
    return divide(&division);
}

void shares_release(struct shares *shares)
{
    for (size_t i = 0; i < shares->count; i++)
        batch_unref(shares->all[i].batch);
    free(shares->all);
    *shares = (struct shares){0};
}
