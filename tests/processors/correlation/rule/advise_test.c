/* Log lines about setups in which spans cannot be linked. */
#include "processors/correlation/rule/advise.h"

#include "tests/processors/correlation/rig.h"

#include <unistd.h>

/* Captures what is logged from here on. */
struct said {
    FILE *file;
    int stderr_was;
    char text[8192];
};

static void listen_to_log(struct said *said)
{
    said->file = tmpfile();
    said->stderr_was = dup(STDERR_FILENO);
    dup2(fileno(said->file), STDERR_FILENO);
}

/* Returns what was logged since the last call. */
static const char *said_since(struct said *said)
{
    rewind(said->file);
    size_t size = fread(said->text, 1, sizeof said->text - 1, said->file);
    said->text[size] = '\0';
    rewind(said->file);
    ck_assert_int_eq(ftruncate(fileno(said->file), 0), 0);
    lseek(STDERR_FILENO, 0, SEEK_SET);
    return said->text;
}

static void stop_listening(struct said *said)
{
    dup2(said->stderr_was, STDERR_FILENO);
    close(said->stderr_was);
    fclose(said->file);
}

static unsigned lines(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void ck_said(struct said *said, const char *text)
{
    const char *all = said_since(said);
    ck_assert_msg(strstr(all, text) != NULL, "\"%s\" does not have \"%s\"", all, text);
    ck_assert_msg(lines(all) == 1, "more than a line: %s", all);
}

static void ck_silent(struct said *said)
{
    ck_assert_str_eq(said_since(said), "");
}

/* A marked root that ended just now. */
static void root(struct rig *rig, const char *service, uint64_t id, const char *language)
{
    RIG_SPANS(rig, {.service = service,
                    .id = id,
                    .start = rig_now(rig) - S / 2,
                    .end = rig_now(rig),
                    .language = language});
}

#define CHANGED " If both send one name, a processor in front of this one changes it\n"

START_TEST(a_name_that_is_missing_is_not_proposed_for_the_profiler)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{}");
    listen_to_log(&said);
    rig_advance(&rig, 10 * S);
    root(&rig, "unknown_service:python", 1, NULL);
    RIG_PROFILE(&rig, .service = "shop", .duration = 10 * S, .first = 1, .first_count = 1);
    rig_advance(&rig, S);
    ck_said(&said, "\"unknown_service:python\". A link needs one name for both: set "
                   "OTEL_SERVICE_NAME to that of the profiler." CHANGED);
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

START_TEST(names_that_do_not_match_are_said_once_with_both)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{}");
    listen_to_log(&said);
    rig_advance(&rig, 9 * S);
    for (uint64_t id = 1; id < 20; id++)
        root(&rig, "checkout", id, NULL);
    rig_advance(&rig, S);
    RIG_PROFILE(&rig, .service = "checkout-app", .duration = 10 * S, .first = 1, .first_count = 9);
    rig_advance(&rig, S);
    ck_said(&said, "correlation: samples of service \"checkout-app\" carry the ids of spans of "
                   "service \"checkout\". A link needs one name for both: give the profiler the "
                   "service.name of the traces (its application name), or set OTEL_SERVICE_NAME "
                   "to that of the profiler." CHANGED);
    RIG_PROFILE(&rig, .service = "checkout-app", .time = S, .duration = 10 * S, .first = 10,
                .first_count = 9);
    rig_advance(&rig, S);
    ck_silent(&said);
    ck_assert(rig_waits(&rig, 1));
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

/* Of two names for one service both are profiled; otherwise roots would not be held for long. */
START_TEST(it_is_said_again_after_an_hour)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{}");
    listen_to_log(&said);
    for (uint64_t id = 1; id <= 4; id++) {
        rig_advance(&rig, 30 * 60 * S);
        RIG_PROFILE(&rig, .service = "b", .time = rig_now(&rig) - 10 * S, .duration = 10 * S,
                    .ids = {99});
        root(&rig, "b", id, NULL);
        RIG_PROFILE(&rig, .service = "a", .time = rig_now(&rig) - 10 * S, .duration = 10 * S,
                    .ids = {id});
        rig_advance(&rig, S);
        if (id % 2)
            ck_said(&said, "\"a\" carry the ids of spans of service \"b\"");
        else
            ck_silent(&said);
    }
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

START_TEST(a_sample_that_finds_its_own_services_span_says_nothing_of_another)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{}");
    listen_to_log(&said);
    rig_advance(&rig, 10 * S);
    root(&rig, "shop", 7, NULL);
    root(&rig, "other", 7, NULL);
    rig_window(&rig, 7, 0, 0);
    rig_advance(&rig, S);
    ck_silent(&said);
    ck_assert(rig_explains(&rig, "service shop: spans linked 1"));
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

/* Windows whose samples have no ids, until the first hold is over. */
static void profile_in_vain(struct rig *rig, const char *kind)
{
    for (int i = 0; i < 9; i++) {
        RIG_PROFILE(rig, .name = kind, .type = "cpu", .time = rig_now(rig) - S, .duration = S);
        rig_advance(rig, 10 * S);
    }
}

static void open_with_tenants(struct rig *rig)
{
    rig_open(rig, "{}");
    rig->env.metadata_signals = SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_PROFILES);
    rig_advance(rig, 10 * S);
}

START_TEST(tenants_that_do_not_match_are_said_once_with_both)
{
    static const struct {
        const char *traces, *profiles, *service, *line;
    } all[] = {
        {"a", NULL, "shop",
         "correlation: samples of service \"shop\" without a tenant carry the ids of spans of "
         "service \"shop\" of tenant \"a\". A link needs one tenant for both: give the profiler "
         "the same X-Scope-OrgID as the exporter of the traces\n"},
        {NULL, "b", "shop",
         "samples of service \"shop\" of tenant \"b\" carry the ids of spans of service \"shop\" "
         "without a tenant. A link needs one tenant for both: give the exporter of the traces the "
         "same X-Scope-OrgID as the profiler\n"},
        {"a", "b", "till",
         "samples of service \"shop\" of tenant \"b\" carry the ids of spans of service \"till\" "
         "of tenant \"a\". A link needs one tenant for both: give the profiler the same "
         "X-Scope-OrgID and service name as the exporter of the traces\n"},
    };
    for (size_t i = 0; i < 2 * sizeof all / sizeof *all; i++) {
        struct rig rig;
        struct said said;
        bool span_first = i % 2;
        open_with_tenants(&rig);
        listen_to_log(&said);
        rig_tenant(&rig, all[i / 2].traces);
        if (span_first)
            root(&rig, all[i / 2].service, 7, NULL);
        rig_tenant(&rig, all[i / 2].profiles);
        rig_window(&rig, 7, 0, 0);
        rig_tenant(&rig, all[i / 2].traces);
        for (uint64_t id = 7; id < 9; id++)
            root(&rig, all[i / 2].service, id, NULL);
        rig_advance(&rig, 60 * S);
        ck_said(&said, all[i / 2].line);
        ck_assert(rig_explains(&rig, "forwarded unchanged") &&
                  rig_explains(&rig, "tenants differ"));
        stop_listening(&said);
        rig_close(&rig);
    }
}
END_TEST

/* Its profiles are sent to one. */
START_TEST(a_span_that_is_sent_to_two_tenants_is_no_mistake)
{
    struct rig rig;
    struct said said;
    open_with_tenants(&rig);
    listen_to_log(&said);
    rig_tenant(&rig, "a");
    root(&rig, "shop", 7, NULL);
    rig_tenant(&rig, "b");
    root(&rig, "shop", 7, NULL);
    rig_tenant(&rig, "a");
    rig_window(&rig, 7, 0, 0);
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 7, 0, 0);
    rig_advance(&rig, 60 * S);
    ck_silent(&said);
    ck_assert(rig_explains(&rig, "forwarded unchanged 1 (not profiled 1)"));
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

START_TEST(a_line_names_the_tenant_of_its_service)
{
    struct rig rig;
    struct said said;
    open_with_tenants(&rig);
    rig_tenant(&rig, "a");
    listen_to_log(&said);
    root(&rig, "shop", 1, NULL);
    profile_in_vain(&rig, "process_cpu");
    root(&rig, "shop", 2, NULL);
    ck_said(&said, "correlation: service \"shop\" of tenant \"a\" is profiled, but no sample");
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

START_TEST(a_name_cannot_add_a_line_to_the_log)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{}");
    listen_to_log(&said);
    rig_advance(&rig, 10 * S);
    root(&rig, "b\nall is well", 7, NULL);
    RIG_PROFILE(&rig, .service = "a", .duration = 10 * S, .ids = {7});
    rig_advance(&rig, S);
    ck_said(&said, "\"a\" carry the ids of spans of service \"b?all is well\"");
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

START_TEST(what_is_missing_is_said_in_the_services_language)
{
    static const struct {
        const char *language, *text;
    } ways[] = {
        {"python", "add PyroscopeSpanProcessor of pyroscope-otel"},
        {"go", "otelpyroscope of otel-profiling-go"},
        {"java", "load pyroscope-otel.jar"},
        {"nodejs", "Pyroscope.wrapWithLabels"},
        {"ruby", "Pyroscope::Otel::SpanProcessor"},
        {"dotnet", "PyroscopeSpanProcessor of Pyroscope.OpenTelemetry"},
        {"rust", "tag_wrapper"},
        {"cobol", "label each sample with the span_id of its local root"},
        {NULL, "label each sample with the span_id of its local root"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct rig rig;
        struct said said;
        rig_open(&rig, "{}");
        rig_advance(&rig, S);
        listen_to_log(&said);
        root(&rig, "shop", 1, ways[i].language);
        profile_in_vain(&rig, "process_cpu");
        root(&rig, "shop", 2, ways[i].language);
        const char *all = said_since(&said);
        ck_assert_msg(
            strstr(all, "service \"shop\" is profiled, but no sample of it has a span id"), "%s",
            all);
        ck_assert_msg(strstr(all, ways[i].text), "%s", all);
        ck_assert_uint_eq(lines(all), 1);
        stop_listening(&said);
        rig_close(&rig);
    }
}
END_TEST

START_TEST(a_service_without_ids_is_named_once_an_hour_while_it_has_roots)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{}");
    rig_advance(&rig, S);
    listen_to_log(&said);
    root(&rig, "shop", 1, NULL);
    profile_in_vain(&rig, "process_cpu");
    said_since(&said);
    uint64_t id = 1;
    for (int minute = 0; minute < 50; minute++) {
        root(&rig, "shop", ++id, NULL);
        RIG_PROFILE(&rig, .time = rig_now(&rig) - S, .duration = S);
        rig_advance(&rig, 60 * S);
    }
    ck_silent(&said);
    for (int minute = 0; minute < 20; minute++) {
        root(&rig, "shop", ++id, NULL);
        RIG_PROFILE(&rig, .time = rig_now(&rig) - S, .duration = S);
        rig_advance(&rig, 60 * S);
    }
    ck_said(&said, "no sample of it has a span id");
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

/* Ten roots and then a window with samples of ten ids, for a number of times. The ids are those of
 * the first `own` roots and, apart from these, of no span. */
static void sample_others(struct rig *rig, uint64_t *id, unsigned windows, unsigned own)
{
    for (unsigned i = 0; i < windows; i++) {
        for (unsigned j = 0; j < 10; j++) {
            rig_advance(rig, S);
            root(rig, "shop", *id + j, NULL);
        }
        RIG_PROFILE(rig, .time = rig_now(rig) - 10 * S, .duration = 10 * S, .first = *id,
                    .first_count = own);
        RIG_PROFILE(rig, .time = rig_now(rig) - 10 * S, .duration = 10 * S, .scope = "second",
                    .first = *id + 1000000, .first_count = 10 - own);
        *id += 10;
    }
}

START_TEST(a_service_whose_samples_name_none_of_its_spans_is_named_once)
{
    struct rig rig;
    struct said said;
    uint64_t id = 1;
    rig_open(&rig, "{}");
    listen_to_log(&said);
    sample_others(&rig, &id, 6, 0);
    ck_silent(&said); /* right after the start it may be too early */
    sample_others(&rig, &id, 14, 0);
    ck_said(&said, "service \"shop\" is profiled, but none of the last ");
    ck_assert(rig_explains(&rig, "span ids in samples are of no span"));
    sample_others(&rig, &id, 10, 0);
    ck_silent(&said);
    sample_others(&rig, &id, 1, 1);
    rig_advance(&rig, S);
    ck_said(&said, "correlation: samples of service \"shop\" name its spans now");
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

/* As where spans are sampled away before they come. */
START_TEST(samples_of_spans_that_did_not_come_are_fine_while_some_are_of_spans_that_did)
{
    struct rig rig;
    struct said said;
    uint64_t id = 1;
    rig_open(&rig, "{}");
    listen_to_log(&said);
    for (int i = 0; i < 10; i++) {
        sample_others(&rig, &id, 4, 0);
        sample_others(&rig, &id, 1, 1);
    }
    sample_others(&rig, &id, 60, 0);
    ck_silent(&said);
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

/* A gateway that takes over a service reads profiles of spans that another one has handed on. */
START_TEST(samples_of_the_time_before_the_first_span_are_not_those_of_no_span)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{}");
    listen_to_log(&said);
    for (uint64_t i = 1; i <= 30; i++) {
        rig_advance(&rig, 10 * S);
        RIG_PROFILE(&rig, .time = rig_now(&rig) - 10 * S, .duration = 10 * S, .first = i * 100,
                    .first_count = 50);
    }
    for (uint64_t i = 1; i <= 100; i++) {
        root(&rig, "shop", i, NULL);
        rig_advance(&rig, S);
        if (i % 10 == 0)
            rig_window(&rig, 0, 0, 0);
    }
    ck_silent(&said);
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

/* Uploads that take too long are another matter. */
START_TEST(samples_that_come_late_are_those_of_spans)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{hold: 20s}");
    listen_to_log(&said);
    for (uint64_t i = 0; i < 30; i++) {
        for (unsigned j = 0; j < 10; j++) {
            rig_advance(&rig, S);
            root(&rig, "shop", 10 * i + j + 1, NULL);
        }
        if (i >= 10)
            RIG_PROFILE(&rig, .time = rig_now(&rig) - 110 * S, .duration = 10 * S,
                        .first = 10 * (i - 10) + 1, .first_count = 10);
    }
    ck_silent(&said);
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

START_TEST(a_service_with_other_kinds_alone_is_told_which_confirm)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{}");
    rig_advance(&rig, S);
    listen_to_log(&said);
    root(&rig, "shop", 1, "go");
    profile_in_vain(&rig, "memory");
    root(&rig, "shop", 2, "go");
    ck_said(&said, "service \"shop\" sends no profiles of a kind that confirms spans (CPU or wall, "
                   "see confirm_by), so none is linked");
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

START_TEST(a_full_hold_is_said_with_the_number_and_the_key_once_a_minute)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{hold_max_spans: 10, hold: 1h}");
    listen_to_log(&said);
    for (uint64_t id = 1; id <= 11; id++)
        root(&rig, "shop", id, NULL);
    rig_advance(&rig, S);
    ck_said(&said, "the hold is full, 1 spans were forwarded before their profiles arrived: raise "
                   "hold_max_spans");
    for (uint64_t id = 12; id <= 20; id++) {
        root(&rig, "shop", id, NULL);
        rig_advance(&rig, 6 * S);
    }
    ck_silent(&said);
    rig_advance(&rig, 6 * S);
    root(&rig, "shop", 21, NULL);
    ck_said(&said, "the hold is full, 10 spans were forwarded");
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

/* A request of some KiB whose spans all wait. */
static void large_request(struct rig *rig, uint64_t first, size_t count)
{
    struct rig_span *spans = calloc(count, sizeof *spans);
    for (size_t i = 0; i < count; i++)
        spans[i] = (struct rig_span){.id = first + i, .end = S};
    rig_spans(rig, spans, count);
    free(spans);
}

/* Whether requests are small or a third of the hold. */
START_TEST(where_its_memory_is_full_that_is_the_key)
{
    const size_t sizes[] = {1, 100, 1500};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rig rig;
        struct said said;
        rig_open(&rig, "{hold_max_mib: 1}");
        listen_to_log(&said);
        uint64_t id = 1;
        while (rig.traces.count == 0) {
            large_request(&rig, id, sizes[i]);
            id += sizes[i];
        }
        rig_advance(&rig, S);
        ck_said(&said, "before their profiles arrived: raise hold_max_mib");
        stop_listening(&said);
        rig_close(&rig);
    }
}
END_TEST

START_TEST(where_the_budget_refuses_that_is_the_key)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{hold_max_spans: 100000}");
    listen_to_log(&said);
    for (uint64_t id = 1; id <= 100; id++)
        root(&rig, "shop", id, NULL);
    rig.budget.limit = budget_used(&rig.budget);
    root(&rig, "shop", 101, NULL);
    rig_advance(&rig, S);
    ck_said(&said, "spans were forwarded before their profiles arrived: raise the memory budget "
                   "(limit_mib of memory_limiter)");
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

START_TEST(where_the_budget_refuses_the_first_spans_that_is_said_too)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{}");
    listen_to_log(&said);
    rig.budget.limit = 0;
    root(&rig, "shop", 1, NULL);
    rig_advance(&rig, S);
    ck_assert(rig_bare(&rig, 1));
    ck_said(&said, "1 spans were forwarded before their profiles arrived: raise the memory budget");
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

START_TEST(where_a_request_is_larger_than_the_hold_that_is_said_too)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{hold_max_spans: 2}");
    listen_to_log(&said);
    large_request(&rig, 1, 5);
    rig_advance(&rig, S);
    ck_said(&said, "3 spans were forwarded before their profiles arrived: raise hold_max_spans");
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

START_TEST(too_many_services_are_said_with_the_number_and_the_limit_once_a_minute)
{
    struct rig rig;
    struct said said;
    char name[16];
    rig_open(&rig, "{}");
    rig_self(&rig)->services.max = 3;
    listen_to_log(&said);
    for (unsigned i = 1; i <= 23; i++) {
        snprintf(name, sizeof name, "job-%u", i);
        root(&rig, name, i, NULL);
    }
    rig_advance(&rig, 2 * S);
    ck_said(&said, "correlation: 20 spans were forwarded before their profiles could come, since "
                   "more than 3 services sent spans; the last of \"job-20\".");
    root(&rig, "job-24", 24, NULL);
    rig_advance(&rig, 30 * S);
    ck_silent(&said);
    rig_advance(&rig, 31 * S);
    ck_said(&said, "correlation: 1 spans were forwarded");
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

START_TEST(profiles_with_wrong_windows_are_said_with_their_service_once_a_minute)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{}");
    rig_advance(&rig, 20 * S);
    listen_to_log(&said);
    for (unsigned i = 0; i < 3; i++)
        RIG_PROFILE(&rig, .time = 10 * S + i, .duration = INT64_MAX);
    rig_advance(&rig, 2 * S);
    ck_said(&said,
            "correlation: 3 profiles, the last of service \"shop\", last more than an hour or "
            "end in the future");
    RIG_PROFILE(&rig, .time = 12 * S, .duration = INT64_MAX);
    rig_advance(&rig, 30 * S);
    ck_silent(&said);
    rig_advance(&rig, 30 * S);
    ck_said(&said, "correlation: 1 profiles");
    rig_window(&rig, 0, 0, 0);
    rig_advance(&rig, 90 * S);
    ck_silent(&said);
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

START_TEST(a_profiler_that_stops_is_said_once_and_when_it_comes_again)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{}");
    listen_to_log(&said);
    rig_warm(&rig);
    for (uint64_t id = 1; id <= 300; id++) {
        rig_advance(&rig, S);
        root(&rig, "shop", id, NULL);
        if (id == 50)
            ck_silent(&said);
    }
    ck_said(&said, "correlation: no profile of service \"shop\" has come for 80 s, while its spans "
                   "go on, so they have no links: see whether its profiler still runs");
    ck_assert(rig_explains(&rig, "its last profile came 300 s ago: see whether its profiler"));
    rig_window(&rig, 0, 0, 0);
    rig_advance(&rig, 30 * S);
    ck_said(&said, "info  correlation: profiles of service \"shop\" come again, after 5 min");
    ck_assert(!rig_explains(&rig, "its last profile came"));
    said_since(&said);
    rig_advance(&rig, 70 * S);
    root(&rig, "shop", 301, NULL);
    rig_advance(&rig, 70 * S);
    ck_silent(&said);
    ck_assert(rig_explains(&rig, "its last profile came"));
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

static void note_fix(void *ctx, const struct watch_decision *decision)
{
    *(const char **)ctx = decision->reason ? decision->reason->fix : NULL;
}

static void pass_over(void *ctx, const struct batch *batch, bool linked)
{
    (void)ctx, (void)batch, (void)linked;
}

START_TEST(what_to_do_about_a_profiler_that_stops_is_told_with_the_reason)
{
    struct rig rig;
    struct watch watch;
    const char *fix = NULL;
    struct watcher watcher = {.ctx = &fix, .passed = pass_over, .decided = note_fix};
    rig_open(&rig, "{}");
    watch_init(&watch);
    watch_attach(&watch, &watcher);
    rig_warm(&rig);
    rig.env.watch = &watch;
    rig_advance(&rig, 90 * S);
    root(&rig, "shop", 1, NULL);
    rig_advance(&rig, 90 * S);
    ck_assert_str_eq(fix, "See whether its service's profiler still runs and can reach this "
                          "process.");
    rig.env.watch = NULL;
    watch_detach(&watch, &watcher);
    watch_release(&watch);
    rig_close(&rig);
}
END_TEST

static void note_ended(void *ctx, const struct watch_decision *decision)
{
    *(uint64_t *)ctx = decision->ended;
}

/* When a span that waits ended, as it is told once it is decided. */
static uint64_t told_end(uint64_t ahead)
{
    struct rig rig;
    struct watch watch;
    uint64_t told = 1;
    struct watcher watcher = {.ctx = &told, .passed = pass_over, .decided = note_ended};
    rig_open(&rig, "{}");
    watch_init(&watch);
    watch_attach(&watch, &watcher);
    rig_warm(&rig);
    rig.env.watch = &watch;
    uint64_t end = rig_now(&rig) + ahead;
    RIG_SPANS(&rig, {.service = "shop", .id = 1, .start = end - S / 2, .end = end});
    ck_assert_uint_eq(told, 1);
    rig_advance(&rig, 180 * S);
    rig.env.watch = NULL;
    watch_detach(&watch, &watcher);
    watch_release(&watch);
    rig_close(&rig);
    return told;
}

START_TEST(the_end_of_a_span_whose_clock_is_ahead_is_not_told)
{
    ck_assert_uint_gt(told_end(0), 1);
    ck_assert_uint_eq(told_end(60 * S), 0);
}
END_TEST

START_TEST(a_service_without_spans_is_not_said_to_be_silent)
{
    struct rig rig;
    struct said said;
    rig_open(&rig, "{}");
    listen_to_log(&said);
    rig_warm(&rig);
    rig_advance(&rig, 600 * S);
    ck_silent(&said);
    stop_listening(&said);
    rig_close(&rig);
}
END_TEST

SUITE_MAIN("correlation advise", names_that_do_not_match_are_said_once_with_both,
           a_name_that_is_missing_is_not_proposed_for_the_profiler, it_is_said_again_after_an_hour,
           a_sample_that_finds_its_own_services_span_says_nothing_of_another,
           tenants_that_do_not_match_are_said_once_with_both,
           a_span_that_is_sent_to_two_tenants_is_no_mistake, a_line_names_the_tenant_of_its_service,
           a_name_cannot_add_a_line_to_the_log, what_is_missing_is_said_in_the_services_language,
           a_service_without_ids_is_named_once_an_hour_while_it_has_roots,
           a_service_whose_samples_name_none_of_its_spans_is_named_once,
           samples_of_spans_that_did_not_come_are_fine_while_some_are_of_spans_that_did,
           samples_of_the_time_before_the_first_span_are_not_those_of_no_span,
           samples_that_come_late_are_those_of_spans,
           a_service_with_other_kinds_alone_is_told_which_confirm,
           a_full_hold_is_said_with_the_number_and_the_key_once_a_minute,
           where_its_memory_is_full_that_is_the_key, where_the_budget_refuses_that_is_the_key,
           where_the_budget_refuses_the_first_spans_that_is_said_too,
           where_a_request_is_larger_than_the_hold_that_is_said_too,
           too_many_services_are_said_with_the_number_and_the_limit_once_a_minute,
           profiles_with_wrong_windows_are_said_with_their_service_once_a_minute,
           a_profiler_that_stops_is_said_once_and_when_it_comes_again,
           what_to_do_about_a_profiler_that_stops_is_told_with_the_reason,
           the_end_of_a_span_whose_clock_is_ahead_is_not_told,
           a_service_without_spans_is_not_said_to_be_silent)
