/*
 * Uploads of the real agent (io.pyroscope:agent 2.9.2 with io.pyroscope:otel 1.0.2), recorded with
 * the spans of the same process: the samples' spans must be correct. The numbers of events are from
 * the JDK's `jfr summary`.
 */
#include "lib/wire/codec/compress.h"
#include "lib/wire/http/multipart.h"
#include "lib/wire/jfr/jfr.h"
#include "lib/wire/jfr/jfr_labels.h"
#include "lib/wire/otlp/otlp.h"
#include "lib/wire/otlp/otlp_span.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_SPANS = 2000, KINDS = JFR_LOCK + 1 };

struct span {
    uint64_t id;
    uint64_t start_ns, end_ns;
    bool local_root;
    char name[32];
    size_t cpu; /* samples of each sort */
    size_t wall;
};

static struct span spans[MAX_SPANS];
static size_t span_count;
static size_t events[KINDS];
static size_t uploads;

static struct bytes inflated(struct view content)
{
    struct bytes out;
    bytes_init(&out, SIZE_MAX, NULL);
    enum encoding_name encoding = looks_gzip(content) ? ENCODING_GZIP : ENCODING_IDENTITY;
    ck_assert_int_eq(inflate_append(encoding, content, &out), INFLATE_OK);
    return out;
}

static void read_spans(struct view request)
{
    struct otlp_walk walk;
    enum otlp_step step;
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    while ((step = otlp_walk_next(&walk)) != OTLP_END) {
        struct otlp_span span;
        if (step != OTLP_ITEM)
            continue;
        ck_assert_uint_lt(span_count, MAX_SPANS);
        struct span *out = &spans[span_count++];
        otlp_span_read(walk.item.bytes, &span);
        out->id = span_id_load(span.span_id.data);
        out->start_ns = span.start_ns;
        out->end_ns = span.end_ns;
        out->local_root = otlp_span_is_local_root(&span);
        ck_assert_uint_lt(span.name.size, sizeof out->name);
        memcpy(out->name, span.name.data, span.name.size);
    }
}

static struct span *find(uint64_t id)
{
    for (size_t i = 0; i < span_count; i++)
        if (spans[i].id == id)
            return &spans[i];
    return NULL;
}

/* A sample's span must be a local root of the process that ran at the time, with the right name. */
static void check_event(const struct jfr_event *event, const struct jfr_labels *labels)
{
    const int64_t slack = 20000000;
    struct span *span = find(event->span_id);
    ck_assert_msg(span != NULL, "%016llx is no span", (unsigned long long)event->span_id);
    ck_assert(span->local_root);
    ck_assert(event->has_stack);
    ck_assert_int_gt(event->time_nanos, (int64_t)span->start_ns - slack);
    ck_assert_int_lt(event->time_nanos, (int64_t)span->end_ns + slack);
    ck_assert(view_eq(jfr_labels_string(labels, event->span_name), view_of(span->name)));
    span->cpu += event->counts_cpu ? event->samples : 0;
    span->wall += event->counts_wall ? event->samples : 0;
}

static void check_upload(struct view raw, struct view label_bytes, const char *mode)
{
    struct arena arena;
    struct jfr jfr;
    struct jfr_labels labels;
    struct jfr_fault fault;
    struct proto_fault label_fault;
    struct jfr_event event;
    arena_init(&arena, 65536);
    ck_assert_msg(jfr_open(&jfr, raw, &arena, &fault), "%s: %s", fault.part, fault.reason);
    ck_assert(jfr_labels_open(&labels, label_bytes, &arena, &label_fault));
    ck_assert(view_eq(jfr.mode, view_of(mode)));
    ck_assert(jfr.has_span_ids);
    struct jfr_scan scan = jfr_scan_begin(&jfr);
    while (jfr_next_event(&jfr, &scan, &event)) {
        events[event.kind]++;
        ck_assert_int_ge(event.time_nanos, jfr.start_nanos);
        ck_assert_int_le(event.time_nanos, jfr.end_nanos);
        if (event.span_id)
            check_event(&event, &labels);
    }
    arena_release(&arena);
    uploads++;
}

/* The boundary is in the first line. */
static void read_ingest(struct view body, const char *mode)
{
    char type[128];
    struct multipart multipart;
    struct multipart_part part;
    struct bytes raw = {0}, labels = {0};
    size_t line = (size_t)((const uint8_t *)memchr(body.data, '\r', body.size) - body.data);
    snprintf(type, sizeof type, "multipart/form-data; boundary=%.*s", (int)line - 2,
             (const char *)body.data + 2);
    ck_assert(multipart_begin(&multipart, view_of(type), body));
    while (multipart_next(&multipart, &part))
        *(view_eq(part.name, VIEW("jfr")) ? &raw : &labels) = inflated(part.content);
    ck_assert_uint_gt(raw.size, 0);
    check_upload(bytes_view(&raw), bytes_view(&labels), mode);
    bytes_release(&raw);
    bytes_release(&labels);
}

static struct bytes read_file(const char *folder, const char *name)
{
    char path[1024];
    uint8_t part[4096];
    struct bytes bytes;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    bytes_init(&bytes, SIZE_MAX, NULL);
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;)
        bytes_append(&bytes, part, n);
    fclose(file);
    return bytes;
}

/* Reads all files of one kind: first the spans, then the uploads. */
static void read_files(const char *folder, const char *sort, const char *mode)
{
    DIR *listing = opendir(folder);
    ck_assert_ptr_nonnull(listing);
    for (struct dirent *entry; (entry = readdir(listing));) {
        if (!strstr(entry->d_name, sort))
            continue;
        struct bytes body = read_file(folder, entry->d_name);
        if (mode) {
            read_ingest(bytes_view(&body), mode);
        } else {
            struct bytes request = inflated(bytes_view(&body));
            read_spans(bytes_view(&request));
            bytes_release(&request);
        }
        bytes_release(&body);
    }
    closedir(listing);
}

static void count_spans(size_t *with_cpu, size_t *with_wall)
{
    *with_cpu = *with_wall = 0;
    for (size_t i = 0; i < span_count; i++) {
        *with_cpu += spans[i].cpu > 0;
        *with_wall += spans[i].wall > 0;
    }
}

START_TEST(execution_samples_name_the_spans_that_burnt_cpu)
{
    static const char folder[] = SOURCE_DIR "/tests/recorded/java";
    size_t with_cpu, with_wall;
    read_files(folder, "-traces.bin", NULL);
    read_files(folder, "-ingest.bin", "itimer");
    count_spans(&with_cpu, &with_wall);
    ck_assert_uint_eq(uploads, 3);
    ck_assert_uint_eq(events[JFR_EXECUTION], 231 + 437 + 267);
    ck_assert_uint_eq(events[JFR_WALL], 0);
    ck_assert_uint_eq(events[JFR_ALLOCATION] + events[JFR_ALLOCATION_OUTSIDE], 61 + 97 + 77);
    ck_assert_uint_eq(span_count, 2 * 233);
    ck_assert_uint_eq(with_cpu, 58);
    ck_assert_uint_eq(with_wall, 0);
}
END_TEST

START_TEST(wall_samples_name_the_spans_that_ran_or_slept)
{
    static const char folder[] = SOURCE_DIR "/tests/recorded/java_wall";
    size_t with_cpu, with_wall;
    read_files(folder, "-traces.bin", NULL);
    read_files(folder, "-ingest.bin", "wall");
    count_spans(&with_cpu, &with_wall);
    ck_assert_uint_eq(uploads, 2);
    ck_assert_uint_eq(events[JFR_EXECUTION], 0);
    ck_assert_uint_eq(events[JFR_WALL], 477 + 1441);
    ck_assert_uint_eq(events[JFR_ALLOCATION] + events[JFR_ALLOCATION_OUTSIDE], 33 + 75);
    ck_assert_uint_eq(span_count, 2 * 120);
    ck_assert_uint_eq(with_wall, 113);
    ck_assert_uint_gt(with_cpu, 0);
    ck_assert_uint_lt(with_cpu, with_wall);
}
END_TEST

SUITE_MAIN("jfr recorded", execution_samples_name_the_spans_that_burnt_cpu,
           wall_samples_name_the_spans_that_ran_or_slept)
