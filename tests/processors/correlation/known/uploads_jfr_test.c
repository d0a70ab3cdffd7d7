/* What correlation reads from JFR uploads; the body is always forwarded unchanged. */
#include "lib/wire/codec/compress.h"
#include "processors/correlation/known/uploads.h"
#include "tests/processors/correlation/rig.h"
#include "tests/support/jfr_build.h"

#define QUERY "name=shop&spyName=javaspy&sampleRate=100&format=jfr"
#define FORM  "multipart/form-data; boundary=b0"

static struct rig rig;
static uint8_t *sent;
static size_t sent_size;

static struct batch *batch_of(struct view body, const char *query, const char *type)
{
    struct buffer *payload = buffer_new(body.size, &rig.budget, true);
    memcpy(payload->data, body.data, body.size);
    struct batch *batch = batch_new(SIGNAL_PROFILES, BATCH_OPAQUE, payload, 1, NULL);
    struct opaque_request *request = calloc(1, sizeof *request);
    request->query = strdup(query);
    request->content_type = type ? strdup(type) : NULL;
    batch_set_opaque(batch, request);
    return batch;
}

/* Sends a body, which must leave unchanged. */
static void send_as(struct view body, const char *query, const char *type)
{
    sent = memcpy(realloc(sent, body.size + 1), body.data, body.size);
    sent_size = body.size;
    ck_assert_int_eq(rig_upload(&rig, batch_of(body, query, type)), VERDICT_OK);
    struct batch *out = rig.profiles.batches[rig.profiles.count - 1];
    ck_assert_int_eq(out->encoding, BATCH_OPAQUE);
    ck_assert(view_eq(buffer_view(out->payload), (struct view){sent, sent_size}));
    ck_assert_str_eq(out->opaque->query, query);
}

static void add_part(struct bytes *body, const char *name, struct view content, bool gzip)
{
    bytes_printf(body,
                 "--b0\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n\r\n",
                 name, name);
    if (gzip)
        ck_assert(deflate_append(ENCODING_GZIP, content, body));
    else
        bytes_append_view(body, content);
    bytes_append_view(body, VIEW("\r\n"));
}

static struct bytes form_of(struct view jfr, struct view labels, bool gzip)
{
    struct bytes body;
    bytes_init(&body, SIZE_MAX, NULL);
    add_part(&body, "jfr", jfr, gzip);
    if (labels.data)
        add_part(&body, "labels", labels, gzip);
    bytes_append_view(&body, VIEW("--b0--\r\n"));
    return body;
}

static void send_form(struct view jfr, struct view labels, const char *query)
{
    struct bytes body = form_of(jfr, labels, true);
    send_as(bytes_view(&body), query, FORM);
    bytes_release(&body);
}

/* A recording of the last ten seconds, in a mode. */
static struct jfr_build *recording(const char *mode)
{
    struct jfr_build *build = jfr_build_new((int64_t)(rig.clock.wall - 10 * S), (int64_t)(10 * S));
    jfr_build_agent_classes(build);
    if (mode)
        jfr_build_setting(build, "event", mode);
    return build;
}

static void add(struct jfr_build *build, const char *class, uint64_t id, uint64_t state)
{
    struct jfr_build_sample sample = {.stack = 1, .state = state, .span_id = id, .samples = 1};
    jfr_build_sample(build, class, &sample);
}

#define EXECUTION "jdk.ExecutionSample"
#define WALL      "profiler.WallClockSample"

/* Uploads it as the agent does. */
static void upload_with(struct jfr_build *build, struct view labels, const char *query)
{
    struct bytes chunk = jfr_build_chunk(build);
    jfr_build_free(build);
    send_form(bytes_view(&chunk), labels, query);
    bytes_release(&chunk);
}

static void upload(struct jfr_build *build)
{
    upload_with(build, (struct view){0}, QUERY);
}

static void begin(const char *yaml)
{
    rig_open(&rig, yaml);
    rig_advance(&rig, 20 * S);
}

static void end(void)
{
    rig_close(&rig);
    free(sent);
    sent = NULL;
}

/* Recordings of a mode without a sample in a span, ten seconds each, until RIG_WARM. */
static void begin_with(const char *yaml, const char *mode)
{
    rig_open(&rig, yaml);
    while (rig_now(&rig) < RIG_WARM) {
        rig_advance(&rig, 10 * S);
        struct jfr_build *build = recording(mode);
        add(build, strcmp(mode, "wall") == 0 ? WALL : EXECUTION, 0, JFR_BUILD_RUNNABLE);
        upload(build);
    }
}

/* Three marked roots in the following window: ids 1, 2 and 3. */
static void roots(void)
{
    uint64_t start = RIG_WARM + S, end = RIG_WARM + 4 * S;
    rig_advance(&rig, 5 * S);
    RIG_SPANS(&rig, {.id = 1, .start = start, .end = end, .attributes = {"0000000000000001"}},
              {.id = 2, .start = start, .end = end, .attributes = {"0000000000000002"}},
              {.id = 3, .start = start, .end = end, .attributes = {"0000000000000003"}});
    rig_advance(&rig, 5 * S);
}

START_TEST(spans_with_cpu_samples_are_linked_and_the_others_lose_their_mark)
{
    static const char *const modes[] = {"cpu", "itimer", "ctimer"};
    for (size_t i = 0; i < 3; i++) {
        begin_with("{}", modes[i]);
        roots();
        struct jfr_build *build = recording(modes[i]);
        add(build, EXECUTION, 1, JFR_BUILD_RUNNABLE);
        add(build, EXECUTION, 2, JFR_BUILD_DEFAULT);
        add(build, EXECUTION, 3, JFR_BUILD_SLEEPING);
        upload(build);
        ck_assert(rig_linked(&rig, 1) && rig_linked(&rig, 2) && rig_waits(&rig, 3));
        rig_until(&rig, RIG_WARM + 17 * S);
        ck_assert(rig_bare(&rig, 3));
        ck_assert(
            rig_explains(&rig, "linked 2, not linked 1 (no sample 1), forwarded unchanged 0"));
        ck_assert(rig_explains(&rig, "process_cpu windows of up to 10.0 s"));
        end();
    }
}
END_TEST

/* Pyroscope makes process_cpu of the running threads' samples. */
START_TEST(in_wall_mode_the_running_threads_confirm_as_cpu)
{
    begin_with("{}", "wall");
    roots();
    struct jfr_build *build = recording("wall");
    add(build, WALL, 1, JFR_BUILD_RUNNABLE);
    add(build, WALL, 2, JFR_BUILD_SLEEPING);
    upload(build);
    ck_assert(rig_linked(&rig, 1) && rig_waits(&rig, 2));
    rig_until(&rig, RIG_WARM + 17 * S);
    ck_assert(rig_bare(&rig, 2) && rig_bare(&rig, 3));
    end();
}
END_TEST

START_TEST(already_the_first_recording_by_the_wall_clock_confirms_as_cpu)
{
    begin("{}");
    rig_root(&rig, 1, 11 * S, 19 * S);
    rig_root(&rig, 2, 11 * S, 19 * S);
    struct jfr_build *build = recording("wall");
    add(build, WALL, 1, JFR_BUILD_RUNNABLE);
    add(build, WALL, 2, JFR_BUILD_SLEEPING);
    upload(build);
    ck_assert(rig_linked(&rig, 1) && rig_waits(&rig, 2));
    end();
}
END_TEST

START_TEST(wall_samples_confirm_where_no_thread_ran_or_the_user_says_so)
{
    static const char *const settings[] = {"{}", "{confirm_by: [wall]}"};
    for (size_t i = 0; i < 2; i++) {
        begin(settings[i]);
        struct jfr_build *build = recording("wall");
        add(build, WALL, 1, JFR_BUILD_SLEEPING);
        if (i)
            add(build, WALL, 2, JFR_BUILD_RUNNABLE);
        upload(build);
        rig_root(&rig, 1, 11 * S, 19 * S);
        rig_root(&rig, 2, 11 * S, 19 * S);
        ck_assert(rig_linked(&rig, 1));
        ck_assert(i ? rig_linked(&rig, 2) : rig_waits(&rig, 2));
        end();
    }
}
END_TEST

START_TEST(wall_time_is_read_beside_cpu_time)
{
    struct arena arena;
    begin("{}");
    struct jfr_build *build = recording("wall");
    add(build, WALL, 1, JFR_BUILD_SLEEPING);
    add(build, WALL, 2, JFR_BUILD_RUNNABLE);
    struct bytes chunk = jfr_build_chunk(build);
    jfr_build_free(build);
    struct batch *batch = batch_of(bytes_view(&chunk), QUERY, NULL);
    arena_init(&arena, 1 << 20);
    const struct upload *cpu =
        uploads_of_opaque(batch, KIND_BIT(KIND_PROCESS_CPU) | KIND_BIT(KIND_WALL), rig.clock.wall,
                          &rig.budget, &arena);
    ck_assert_ptr_nonnull(cpu);
    ck_assert_int_eq(cpu->window.kind, KIND_PROCESS_CPU);
    ck_assert(cpu->times_cpu && !cpu->wall_ns && cpu->count == 1);
    ck_assert_uint_eq(cpu->ids[0].cpu_ns, 10000000);
    const struct upload *wall = cpu->next;
    ck_assert_int_eq(wall->window.kind, KIND_WALL);
    ck_assert(!wall->times_cpu && wall->count == 2);
    ck_assert_uint_eq(wall->wall_ns[0], 10000000);
    ck_assert_uint_eq(wall->wall_ns[1], 10000000);
    arena_release(&arena);
    batch_unref(batch);
    bytes_release(&chunk);
    end();
}
END_TEST

START_TEST(allocations_and_locks_carry_ids_and_confirm_only_where_the_user_says_so)
{
    static const struct {
        const char *yaml, *class;
        bool confirms;
    } rows[] = {
        {"{}", "jdk.ObjectAllocationInNewTLAB", false},
        {"{}", "jdk.ObjectAllocationOutsideTLAB", false},
        {"{}", "jdk.JavaMonitorEnter", false},
        {"{confirm_by: [memory]}", "jdk.ObjectAllocationInNewTLAB", true},
        {"{confirm_by: [mutex]}", "jdk.JavaMonitorEnter", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin_with(rows[i].yaml, "itimer");
        roots();
        struct jfr_build *build = recording("itimer");
        add(build, rows[i].class, 1, 0);
        upload(build);
        ck_assert(rows[i].confirms ? rig_linked(&rig, 1) : rig_waits(&rig, 1));
        rig_until(&rig, RIG_WARM + 40 * S);
        ck_assert(rows[i].confirms || rig_bare(&rig, 1));
        end();
    }
}
END_TEST

START_TEST(samples_without_a_stack_or_of_no_time_do_not_confirm)
{
    begin("{}");
    struct jfr_build *build = recording("itimer");
    jfr_build_sample(build, EXECUTION,
                     &(struct jfr_build_sample){.state = JFR_BUILD_RUNNABLE, .span_id = 1});
    upload(build);
    /* The server counts 1/sampleRate for a sample, which is zero here. */
    build = recording("itimer");
    add(build, EXECUTION, 1, JFR_BUILD_RUNNABLE);
    upload_with(build, (struct view){0}, "name=shop&sampleRate=0&format=jfr");
    rig_root(&rig, 1, 11 * S, 19 * S);
    ck_assert(rig_waits(&rig, 1));
    end();
}
END_TEST

START_TEST(a_recording_without_samples_is_a_window_too)
{
    begin_with("{}", "itimer");
    roots();
    upload(recording("itimer"));
    ck_assert(rig_waits(&rig, 1));
    rig_until(&rig, RIG_WARM + 17 * S);
    ck_assert(rig_bare(&rig, 1));
    ck_assert(rig_explains(&rig, "no sample 3"));
    end();
}
END_TEST

START_TEST(a_window_ends_with_its_chunk_and_no_later_than_until)
{
    char query[128];
    begin_with("{}", "itimer");
    rig_until(&rig, RIG_WARM + 5 * S);
    rig_root(&rig, 1, RIG_WARM + S, RIG_WARM + 4 * S);
    rig_until(&rig, RIG_WARM + 10 * S);
    snprintf(query, sizeof query, QUERY "&from=%llu&until=%llu",
             (unsigned long long)((RIG_START + RIG_WARM) / S - 10),
             (unsigned long long)((RIG_START + RIG_WARM) / S + 3));
    upload_with(recording("itimer"), (struct view){0}, query);
    rig_until(&rig, RIG_WARM + 18 * S);
    ck_assert(rig_waits(&rig, 1));
    end();
}
END_TEST

START_TEST(two_chunks_are_one_window_from_the_first_start_to_the_last_end)
{
    rig_open(&rig, "{}");
    rig_advance(&rig, 20 * S);
    struct jfr_build *build = recording("itimer");
    add(build, EXECUTION, 1, JFR_BUILD_RUNNABLE);
    struct bytes both = jfr_build_chunk(build);
    jfr_build_free(build);
    struct bytes second =
        jfr_build_cpu((int64_t)(RIG_START + 5 * S), (int64_t)(5 * S), (const uint64_t[]){2}, 1);
    bytes_append_view(&both, bytes_view(&second));
    send_form(bytes_view(&both), (struct view){0}, QUERY);
    rig_root(&rig, 1, 11 * S, 19 * S);
    rig_root(&rig, 2, 6 * S, 9 * S);
    ck_assert(rig_linked(&rig, 1) && rig_linked(&rig, 2));
    ck_assert(rig_explains(&rig, "windows of up to 15.0 s, the last one ended 0.0 s ago"));
    bytes_release(&both);
    bytes_release(&second);
    end();
}
END_TEST

/* Returns the annotations of the span with id 1, after an upload with three samples. */
static const struct rig_out *annotated(const char *mode, const char *class, uint64_t state,
                                       const char *query)
{
    begin("{annotate: true}");
    struct jfr_build *build = recording(mode);
    for (int i = 0; i < 3; i++)
        add(build, class, 1, state);
    upload_with(build, (struct view){0}, query);
    rig_root(&rig, 1, 11 * S, 19 * S);
    return rig_left(&rig, 1);
}

START_TEST(figures_are_those_that_the_server_draws)
{
    const struct rig_out *out = annotated("itimer", EXECUTION, JFR_BUILD_RUNNABLE, QUERY);
    ck_assert(out->samples == 3 && out->cpu_ns == 30000000);
    end();
    out = annotated("cpu", EXECUTION, JFR_BUILD_RUNNABLE, "name=shop&sampleRate=50&format=jfr");
    ck_assert(out->samples == 3 && out->cpu_ns == 60000000);
    end();
    out = annotated("cpu", EXECUTION, JFR_BUILD_RUNNABLE, "name=shop&sampleRate=x&format=jfr");
    ck_assert(out->samples == 3 && out->cpu_ns == 30000000);
    end();
    /* Events that are counted, not timed: there is no CPU time. */
    out = annotated("cache-misses", EXECUTION, JFR_BUILD_RUNNABLE, QUERY);
    ck_assert(out->samples == 3 && out->cpu_ns <= 0);
    end();
    out = annotated("wall", WALL, JFR_BUILD_SLEEPING, QUERY);
    ck_assert(out->samples == 3 && out->cpu_ns == -1); /* not known, so that it is left out */
    end();
}
END_TEST

START_TEST(the_recording_is_read_in_every_form_that_the_server_takes)
{
    struct bytes chunk;
    rig_open(&rig, "{}");
    rig_advance(&rig, 20 * S);
    for (uint64_t id = 1; id <= 4; id++) {
        chunk = jfr_build_cpu((int64_t)(RIG_START + 10 * S), (int64_t)(10 * S), &id, 1);
        struct bytes form = form_of(bytes_view(&chunk), VIEW(""), id == 1);
        if (id <= 2)
            send_as(bytes_view(&form), QUERY, FORM);
        else
            send_as(bytes_view(&chunk), QUERY, id == 3 ? NULL : "application/octet-stream");
        rig_root(&rig, id, 11 * S, 19 * S);
        ck_assert_msg(rig_linked(&rig, id), "%d", (int)id);
        bytes_release(&form);
        bytes_release(&chunk);
    }
    end();
}
END_TEST

/* LabelsSnapshot: strings 1 to n, and contexts of pairs of them. */
static void put_string(struct bytes *labels, uint64_t key, const char *text)
{
    struct bytes entry;
    bytes_init(&entry, SIZE_MAX, NULL);
    rig_number(&entry, 1, WIRE_VARINT, key);
    rig_field(&entry, 2, view_of(text));
    rig_field(labels, 2, bytes_view(&entry));
    bytes_release(&entry);
}

static void put_context(struct bytes *labels, uint64_t key, uint64_t name, uint64_t value)
{
    struct bytes pair, context, entry;
    bytes_init(&pair, SIZE_MAX, NULL);
    bytes_init(&context, SIZE_MAX, NULL);
    bytes_init(&entry, SIZE_MAX, NULL);
    rig_number(&pair, 1, WIRE_VARINT, name);
    rig_number(&pair, 2, WIRE_VARINT, value);
    rig_field(&context, 1, bytes_view(&pair));
    rig_number(&entry, 1, WIRE_VARINT, key);
    rig_field(&entry, 2, bytes_view(&context));
    rig_field(labels, 1, bytes_view(&entry));
    bytes_release(&pair);
    bytes_release(&context);
    bytes_release(&entry);
}

static struct bytes some_labels(void)
{
    struct bytes labels;
    bytes_init(&labels, SIZE_MAX, NULL);
    put_string(&labels, 1, "span_id");
    put_string(&labels, 2, "profile_id");
    put_string(&labels, 3, "vehicle");
    put_string(&labels, 4, "0000000000000001");
    put_string(&labels, 5, "0000000000000002");
    put_string(&labels, 6, "bike");
    put_context(&labels, 10, 1, 6); /* replaced below: of equal keys the last one counts */
    put_context(&labels, 10, 1, 4);
    put_context(&labels, 11, 2, 5);
    put_context(&labels, 12, 3, 6);
    put_context(&labels, 13, 1, 6);
    return labels;
}

START_TEST(labels_by_hand_name_spans)
{
    struct bytes labels = some_labels();
    begin_with("{}", "itimer");
    roots();
    struct jfr_build *build = recording("itimer");
    for (uint64_t context = 10; context <= 14; context++)
        jfr_build_sample(build, EXECUTION,
                         &(struct jfr_build_sample){.stack = 1,
                                                    .state = JFR_BUILD_RUNNABLE,
                                                    .context = context,
                                                    .span_id = context == 12 ? 3 : 0});
    upload_with(build, bytes_view(&labels), QUERY);
    ck_assert(rig_linked(&rig, 1) && rig_linked(&rig, 2) && rig_linked(&rig, 3));
    ck_assert(rig_explains(&rig, "3 span ids in samples"));
    bytes_release(&labels);
    end();
}
END_TEST

/* Whether marked spans of the service pass unedited after this upload, and why. */
static void assert_not_judged(const char *why)
{
    char text[128];
    snprintf(text, sizeof text, "sends profiles whose span ids cannot be read: %s\n", why);
    ck_assert(rig_explains(&rig, text));
    RIG_SPANS(&rig, {.id = 9, .start = 11 * S, .end = 19 * S, .attributes = {"0000000000000009"}});
    ck_assert(rig_linked(&rig, 9));
    ck_assert(rig_explains(&rig, "forwarded unchanged 1 (span ids of profiles cannot be read 1)"));
    end();
}

START_TEST(a_recording_without_fields_for_ids_is_not_judged)
{
    begin("{}");
    struct jfr_build *build = jfr_build_new((int64_t)(RIG_START + 10 * S), (int64_t)(10 * S));
    jfr_build_class(build, EXECUTION, JFR_BUILD_FIRST);
    jfr_build_field(build, "startTime", JFR_BUILD_LONG, 0);
    jfr_build_field(build, "stackTrace", JFR_BUILD_STACK, JFR_BUILD_CONSTANT);
    jfr_build_field(build, "state", JFR_BUILD_STATE, JFR_BUILD_CONSTANT);
    add(build, EXECUTION, 0, JFR_BUILD_RUNNABLE);
    upload(build);
    assert_not_judged("JFR without fields for span ids");
}
END_TEST

START_TEST(a_recording_without_events_of_a_mode_that_tells_nothing_is_not_judged)
{
    begin("{}");
    upload(recording(NULL));
    assert_not_judged("JFR without events");
}
END_TEST

START_TEST(what_is_malformed_goes_on_and_is_not_judged)
{
    struct bytes chunk =
        jfr_build_cpu((int64_t)RIG_START, (int64_t)(10 * S), (const uint64_t[]){9}, 1);
    struct view jfr = bytes_view(&chunk), cut = {jfr.data, jfr.size - 1}, none = {0};
    begin("{}");
    send_form(cut, none, QUERY);
    assert_not_judged("malformed JFR");
    begin("{}");
    send_form(jfr, VIEW("\x0a\x09 not so"), QUERY);
    assert_not_judged("JFR with malformed labels");
    begin("{}");
    send_as(VIEW("--b0\r\nContent-Disposition: form-data; name=\"jfr\""), QUERY, FORM);
    assert_not_judged("JFR in a malformed form");
    begin("{}");
    send_as(VIEW("jfr"), QUERY, "multipart/form-data");
    assert_not_judged("JFR in a malformed form");
    begin("{}");
    send_as(VIEW("--b0--\r\n"), QUERY, FORM);
    assert_not_judged("malformed JFR");
    begin("{}");
    struct bytes form = form_of(VIEW("\x1f\x8b is no gzip"), none, false);
    send_as(bytes_view(&form), QUERY, FORM);
    assert_not_judged("JFR in malformed gzip");
    begin("{}");
    bytes_release(&form);
    bytes_init(&form, SIZE_MAX, NULL);
    /* The server inflates only parts of a form. */
    ck_assert(deflate_append(ENCODING_GZIP, jfr, &form));
    send_as(bytes_view(&form), QUERY, NULL);
    assert_not_judged("malformed JFR");
    bytes_release(&form);
    bytes_release(&chunk);
}
END_TEST

START_TEST(a_bomb_goes_on_and_is_not_judged)
{
    struct view zeros = {calloc(1, 65 << 20), 65 << 20};
    begin("{}");
    send_form(zeros, (struct view){0}, QUERY);
    assert_not_judged("JFR of more than 64 MiB");
    begin("{}");
    struct bytes form = form_of(zeros, (struct view){0}, true);
    rig.budget.limit = budget_used(&rig.budget) + form.size + (1 << 20);
    send_as(bytes_view(&form), QUERY, FORM);
    ck_assert_uint_le(budget_used(&rig.budget), rig.budget.limit);
    assert_not_judged("JFR, no room");
    bytes_release(&form);
    free((void *)zeros.data);
}
END_TEST

START_TEST(what_is_inflated_is_charged_and_given_back)
{
    begin("{}");
    size_t before = budget_used(&rig.budget);
    rig.budget.limit = before + (1 << 20);
    struct bytes chunk =
        jfr_build_cpu((int64_t)RIG_START, (int64_t)(10 * S), (const uint64_t[]){1}, 1);
    send_form(bytes_view(&chunk), (struct view){0}, QUERY);
    collecting_sink_clear(&rig.profiles);
    rig_root(&rig, 1, 11 * S, 19 * S);
    ck_assert(rig_linked(&rig, 1));
    bytes_release(&chunk);
    end();
}
END_TEST

START_TEST(any_memory_that_fails_leaves_the_service_unjudged_or_judged_right)
{
    struct bytes labels = some_labels();
    for (size_t limit = 0; limit <= 64 << 10; limit += 512) {
        begin("{}");
        rig.budget.limit = budget_used(&rig.budget) + limit;
        struct jfr_build *build = recording("itimer");
        add(build, EXECUTION, 1, JFR_BUILD_RUNNABLE);
        struct bytes chunk = jfr_build_chunk(build);
        jfr_build_free(build);
        struct bytes form = form_of(bytes_view(&chunk), bytes_view(&labels), true);
        struct batch *batch = batch_of(bytes_view(&form), QUERY, FORM);
        rig.budget.limit = budget_used(&rig.budget) + limit;
        ck_assert_int_eq(rig_upload(&rig, batch), VERDICT_OK);
        rig.budget.limit = SIZE_MAX;
        RIG_SPANS(&rig,
                  {.id = 1, .start = 11 * S, .end = 19 * S, .attributes = {"0000000000000001"}});
        ck_assert(rig_linked(&rig, 1));
        bytes_release(&chunk);
        bytes_release(&form);
        end();
    }
    bytes_release(&labels);
}
END_TEST

SUITE_MAIN("correlation jfr", spans_with_cpu_samples_are_linked_and_the_others_lose_their_mark,
           in_wall_mode_the_running_threads_confirm_as_cpu,
           already_the_first_recording_by_the_wall_clock_confirms_as_cpu,
           wall_samples_confirm_where_no_thread_ran_or_the_user_says_so,
           wall_time_is_read_beside_cpu_time,
           allocations_and_locks_carry_ids_and_confirm_only_where_the_user_says_so,
           samples_without_a_stack_or_of_no_time_do_not_confirm,
           a_recording_without_samples_is_a_window_too,
           a_window_ends_with_its_chunk_and_no_later_than_until,
           two_chunks_are_one_window_from_the_first_start_to_the_last_end,
           figures_are_those_that_the_server_draws,
           the_recording_is_read_in_every_form_that_the_server_takes, labels_by_hand_name_spans,
           a_recording_without_fields_for_ids_is_not_judged,
           a_recording_without_events_of_a_mode_that_tells_nothing_is_not_judged,
           what_is_malformed_goes_on_and_is_not_judged, a_bomb_goes_on_and_is_not_judged,
           what_is_inflated_is_charged_and_given_back,
           any_memory_that_fails_leaves_the_service_unjudged_or_judged_right)
