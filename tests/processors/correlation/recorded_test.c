/*
 * Recorded traffic of real SDKs, replayed at its own pace: exactly the spans with samples must
 * leave linked. tests/recorded/ describes the recordings.
 */
#include "tests/processors/correlation/rig.h"

#include "lib/wire/codec/compress.h"
#include "lib/wire/http/http_query.h"
#include "lib/wire/http/multipart.h"
#include "lib/wire/jfr/jfr.h"
#include "lib/wire/pprof/pprof.h"
#include "lib/wire/pprof/push.h"
#include "tests/support/frame_count.h"

enum { MAX_IDS = 10000 };

struct replay {
    struct rig rig;
    const char *folder;
    bool by_wall;              /* the configuration uses wall to confirm */
    uint64_t sampled[MAX_IDS]; /* ids with a frame and CPU (wall) time */
    size_t sampled_count;
    size_t sent;
};

static struct bytes read_file(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, SOURCE_DIR "/tests/recorded/%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    struct bytes bytes;
    bytes_init(&bytes, SIZE_MAX, NULL);
    uint8_t part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;)
        bytes_append(&bytes, part, n);
    fclose(file);
    return bytes;
}

static struct bytes inflated(struct view content)
{
    struct bytes out;
    bytes_init(&out, SIZE_MAX, NULL);
    enum encoding_name encoding = looks_gzip(content) ? ENCODING_GZIP : ENCODING_IDENTITY;
    ck_assert_int_eq(inflate_append(encoding, content, &out), INFLATE_OK);
    return out;
}

/* The ids with samples in a CPU profile. */
static void note_sampled(struct replay *replay, const struct pprof *pprof)
{
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct pprof_sample sample;
    while (pprof_next_sample(pprof, &scan, &sample)) {
        uint64_t id;
        if (!frame_count(&sample) || !sample.span_id.data || !span_id_parse(sample.span_id, &id))
            continue;
        for (size_t i = 0; i < pprof->type_count; i++)
            if (view_eq(pprof->types[i].type, VIEW("cpu")) && sample.values[i] > 0) {
                ck_assert_uint_lt(replay->sampled_count, MAX_IDS);
                replay->sampled[replay->sampled_count++] = id;
            }
    }
}

static void upload(struct replay *replay, struct bytes *raw, struct series *series,
                   const struct profile_origin *origin)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    arena_init(&arena, SIZE_MAX);
    ck_assert(pprof_open(&pprof, bytes_view(raw), &arena, &fault));
    note_sampled(replay, &pprof);
    arena_release(&arena);
    struct batch *batch =
        batch_new(SIGNAL_PROFILES, BATCH_PPROF, rig_buffer(&replay->rig, raw), 1, NULL);
    struct profile_origin *copy = malloc(sizeof *copy);
    *copy = *origin;
    batch_set_series(batch, series);
    batch_set_profile(batch, copy);
    ck_assert_int_eq(rig_upload(&replay->rig, batch), VERDICT_OK);
}

static void play_push(struct replay *replay, struct view body)
{
    struct bytes request = inflated(body);
    struct push_walk walk;
    struct push_profile profile;
    push_walk_begin(&walk, bytes_view(&request));
    while (push_walk_next(&walk, &profile)) {
        struct bytes raw = inflated(profile.raw_profile);
        upload(replay, &raw, push_series_labels(profile.series), &(struct profile_origin){0});
    }
    bytes_release(&request);
}

/* 10 digits are seconds, 19 nanoseconds. */
static uint64_t query_time(const char *query, const char *name)
{
    char text[64];
    if (!http_query_get(query, name, text, sizeof text))
        return 0;
    uint64_t value = strtoull(text, NULL, 10);
    return strlen(text) > 10 ? value : value * S;
}

static void note_jfr(struct replay *replay, struct view raw)
{
    struct arena arena;
    struct jfr jfr;
    struct jfr_fault fault;
    struct jfr_event event;
    arena_init(&arena, SIZE_MAX);
    ck_assert(jfr_open(&jfr, raw, &arena, &fault));
    struct jfr_scan scan = jfr_scan_begin(&jfr);
    while (jfr_next_event(&jfr, &scan, &event))
        if (event.span_id && (replay->by_wall ? event.counts_wall : event.counts_cpu)) {
            ck_assert_uint_lt(replay->sampled_count, MAX_IDS);
            replay->sampled[replay->sampled_count++] = event.span_id;
        }
    arena_release(&arena);
}

/* A body that is forwarded unchanged. */
static void play_opaque(struct replay *replay, const char *query, const char *content_type,
                        struct view body)
{
    struct multipart multipart;
    struct multipart_part part;
    ck_assert(multipart_begin(&multipart, view_of(content_type), body));
    while (multipart_next(&multipart, &part))
        if (view_eq(part.name, VIEW("jfr"))) {
            struct bytes raw = inflated(part.content);
            note_jfr(replay, bytes_view(&raw));
            bytes_release(&raw);
        }
    struct buffer *payload = buffer_new(body.size, &replay->rig.budget, true);
    proto_bytes_put(payload->data, body);
    struct batch *batch = batch_new(SIGNAL_PROFILES, BATCH_OPAQUE, payload, 1, NULL);
    struct opaque_request *request = calloc(1, sizeof *request);
    request->query = strdup(query);
    request->content_type = strdup(content_type);
    batch_set_opaque(batch, request);
    ck_assert_int_eq(rig_upload(&replay->rig, batch), VERDICT_OK);
}

static void play_ingest(struct replay *replay, const char *query, const char *content_type,
                        struct view body)
{
    char name[4096];
    const char *reason;
    struct multipart multipart;
    struct multipart_part part;
    ck_assert(http_query_get(query, "name", name, sizeof name));
    struct profile_origin origin = {
        .by_ingest = true,
        .from_ns = query_time(query, "from"),
        .until_ns = query_time(query, "until"),
    };
    ck_assert(multipart_begin(&multipart, view_of(content_type), body));
    struct bytes raw = {0};
    while (multipart_next(&multipart, &part)) {
        if (view_eq(part.name, VIEW("profile")))
            raw = inflated(part.content);
        else if (view_eq(part.name, VIEW("sample_type_config")))
            origin.sample_type_config = strndup((const char *)part.content.data, part.content.size);
    }
    origin.spy_name = strdup("gospy");
    upload(replay, &raw, series_parse(view_of(name), &reason), &origin);
}

static void play_traces(struct replay *replay, struct view body)
{
    struct bytes request = inflated(body); /* Java's is gzip */
    struct proto_fault fault;
    uint32_t items;
    ck_assert(otlp_check(SIGNAL_TRACES, bytes_view(&request), &items, &fault));
    replay->sent += items;
    ck_assert_int_eq(rig_consume(&replay->rig, SIGNAL_TRACES, BATCH_OTLP, &request, items),
                     VERDICT_OK);
}

static void play_request(struct replay *replay, const struct node *request, uint64_t began)
{
    const char *path = node_get(request, "path")->text;
    double offset = strtod(node_get(request, "offset")->text, NULL);
    rig_until(&replay->rig, began - RIG_START + (uint64_t)(offset * (double)S));
    struct bytes body = read_file(replay->folder, node_get(request, "file")->text);
    const struct node *headers = node_get(request, "headers");
    if (strcmp(path, "/v1/traces") == 0)
        play_traces(replay, bytes_view(&body));
    else if (strncmp(path, "/ingest?", 8) == 0 && strstr(path, "format=jfr"))
        play_opaque(replay, path + 8, node_get(headers, "content-type")->text, bytes_view(&body));
    else if (strncmp(path, "/ingest?", 8) == 0)
        play_ingest(replay, path + 8, node_get(headers, "content-type")->text, bytes_view(&body));
    else
        play_push(replay, bytes_view(&body));
    bytes_release(&body);
}

static bool is_sampled(const struct replay *replay, uint64_t id)
{
    for (size_t i = 0; i < replay->sampled_count; i++)
        if (replay->sampled[i] == id)
            return true;
    return false;
}

/* Exactly the spans with samples are linked, and there are some of both kinds. */
static size_t check(struct replay *replay)
{
    rig_collect(&replay->rig);
    ck_assert_uint_eq(replay->rig.count, replay->sent);
    size_t linked = 0;
    for (size_t i = 0; i < replay->rig.count; i++) {
        const struct rig_out *out = &replay->rig.out[i];
        ck_assert_ptr_eq(rig_left(&replay->rig, out->id), out);
        bool sampled = is_sampled(replay, out->id);
        ck_assert_uint_eq(out->attributes, sampled);
        ck_assert_uint_eq(out->link, sampled ? out->id : 0);
        linked += sampled;
    }
    ck_assert_uint_gt(linked, 0);
    ck_assert_uint_lt(linked, replay->sent);
    return linked;
}

static struct replay replay;

/* Returns how many spans left linked. */
static size_t replay_folder(const char *folder, const char *config)
{
    struct problems problems = {0};
    char path[512];
    snprintf(path, sizeof path, "file:" SOURCE_DIR "/tests/recorded/%s/index.json", folder);
    struct settings_source source = {SETTINGS_FILE, path};
    struct settings *settings = settings_load(&source, 1, &problems);
    ck_assert_ptr_nonnull(settings);
    const struct node *index = settings_root(settings);
    uint64_t began = strtoull(node_get(index, "recorded_unix_nano")->text, NULL, 10);
    replay.folder = folder;
    replay.by_wall = strstr(config, "wall") != NULL;
    rig_open(&replay.rig, config);
    replay.rig.clock.wall = began;
    rig_self(&replay.rig)->started = began;
    const struct node *requests = node_get(index, "requests");
    for (size_t i = 0; i < requests->count; i++)
        play_request(&replay, requests->items[i], began);
    rig_advance(&replay.rig, 90 * S);
    size_t linked = check(&replay);
    rig_close(&replay.rig);
    settings_free(settings);
    return linked;
}

START_TEST(python)
{
    replay_folder("python", "{}");
}
END_TEST

START_TEST(go)
{
    replay_folder("go", "{}");
}
END_TEST

START_TEST(java)
{
    ck_assert_uint_eq(replay_folder("java", "{}"), 58);
}
END_TEST

/* With the wall clock: of 113 sampled spans, some were running. */
START_TEST(java_wall)
{
    ck_assert_uint_lt(replay_folder("java_wall", "{}"), 113);
}
END_TEST

START_TEST(java_wall_where_wall_confirms)
{
    ck_assert_uint_eq(replay_folder("java_wall", "{confirm_by: [wall]}"), 113);
}
END_TEST

SUITE_MAIN("correlation recorded", python, go, java, java_wall, java_wall_where_wall_confirms)
