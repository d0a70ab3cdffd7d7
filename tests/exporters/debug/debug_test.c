/* The debug exporter's output. */
#include "exporters/debug/debug.h"

#include "pipeline/otlp_form.h"
#include "tests/support/backend.h"
#include "tests/support/keeper.h"
#include "tests/support/pprof_build.h"
#include "tests/support/proto_build.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct component exporter_debug;
const struct component *const component_table[] = {&scripted_source, &scripted_pprof,
                                                   &exporter_debug, NULL};

static struct given_exporter exporter;
static char path[128];
static int own_stdout;

static void begin(const char *section)
{
    snprintf(path, sizeof path, "%s/stdout", receiver_folder());
    fflush(stdout);
    own_stdout = dup(STDOUT_FILENO);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    dup2(fd, STDOUT_FILENO);
    close(fd);
    exporter_start(&exporter, section, "traces", NULL);
}

/* The output so far. */
static const char *written(void)
{
    static char text[4 << 20];
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    fclose(file);
    return text;
}

static const char *end(void)
{
    exporter_stop(&exporter);
    const char *text = written();
    dup2(own_stdout, STDOUT_FILENO);
    close(own_stdout);
    return text;
}

#define MS UINT64_C(1000000)

struct given_span {
    uint8_t id, parent;
    const char *name;
    uint64_t start, duration;
    const char *profile;
};

static struct view span_of(uint8_t trace, const struct given_span *given)
{
    struct view parent = given->parent ? pb_fill(4, 8, given->parent) : VIEW("");
    struct view profile =
        given->profile ? pb_attribute(9, "pyroscope.profile.id", given->profile) : VIEW("");
    return PB_MESSAGE(2, pb_fill(1, 16, trace), pb_fill(2, 8, given->id), parent,
                      PB_MESSAGE(5, view_of(given->name)), pb_fixed64(7, given->start),
                      pb_fixed64(8, given->start + given->duration), profile);
}

static void send_trace_of(const char *service, uint8_t trace, const struct given_span *spans,
                          size_t count)
{
    struct view *parts = calloc(count, sizeof *parts);
    for (size_t i = 0; i < count; i++)
        parts[i] = span_of(trace, &spans[i]);
    struct view request = PB_MESSAGE(1, PB_MESSAGE(1, pb_attribute(1, "service.name", service)),
                                     pb_message(2, parts, count));
    free(parts);
    struct outcome outcome =
        exporter_send(&exporter, otlp_batch_of(SIGNAL_TRACES, request, (uint32_t)count));
    ck_assert_int_eq(outcome.verdict, VERDICT_OK);
}
#define SEND(trace, ...) SEND_OF("shop", trace, __VA_ARGS__)
#define SEND_OF(service, trace, ...)                                                               \
    send_trace_of(service, trace, (const struct given_span[]){__VA_ARGS__},                        \
                  sizeof((const struct given_span[]){__VA_ARGS__}) / sizeof(struct given_span))

static void send_profile_of(const char *series)
{
    static const struct {
        const char *function;
        unsigned samples;
    } rows[] = {{"find_nearest", 6}, {"sort", 3}, {"alloc", 1}, {"parse", 1}};
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, "cpu", "nanoseconds");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t count = rows[i].samples;
        pprof_build_sample(build, (int64_t[]){count, count * 10000000},
                           (const char *const[]){rows[i].function, "main", NULL});
        pprof_build_label(build, "span_id", "0101010101010101");
    }
    pprof_build_sample(build, (int64_t[]){50, 500000000}, (const char *const[]){"main", NULL});
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    exporter_send(&exporter, pprof_batch_of(bytes_view(&raw), series, NULL));
    bytes_release(&raw);
}

static void send_profile(void)
{
    send_profile_of("process_cpu{service_name=shop}");
}

static unsigned lines(const char *text)
{
    unsigned count = 0;
    for (; (text = strchr(text, '\n')); text++)
        count++;
    return count;
}

START_TEST(basic_is_a_line_a_batch)
{
    begin("debug: ");
    SEND(7, {1, 0, "root", 0, 5, NULL}, {2, 1, "child", 0, 5, NULL});
    send_profile();
    exporter_send(&exporter, otlp_batch_of(SIGNAL_LOGS, VIEW("12345"), 3));
    const char *text = end();
    ck_assert_uint_eq(lines(text), 3);
    ck_assert_msg(strncmp(text, "debug: 2 spans, ", 16) == 0, "%s", text);
    ck_assert_msg(strstr(text, "bytes of shop\n"), "%s", text);
    ck_assert_msg(strstr(text, "\ndebug: 3 log records, 5 bytes\n"), "%s", text);
}
END_TEST

START_TEST(detailed_shows_a_trace_as_a_tree_with_what_its_profiles_said)
{
    begin("debug/x: {verbosity: detailed}");
    send_profile();
    SEND(0xab, {2, 1, "find_car", 1000 * MS, 120 * MS, NULL},
         {3, 2, "db", 1010 * MS, 500000, NULL});
    SEND(0xab, {4, 1, "reply", 1200 * MS, 90, NULL},
         {1, 0, "GET /car", 999 * MS, 1500 * MS, "0101010101010101"});
    ck_assert_uint_eq(lines(written()), 1); /* the profile's */
    given_advance(&exporter.given, 999 * MS);
    ck_assert_uint_eq(lines(written()), 1);
    given_advance(&exporter.given, 1 * MS);
    const char *tree = strchr(written(), '\n') + 1;
    ck_assert_str_eq(
        tree, "trace abababababababababababababababab  shop  4 spans, 1 linked\n"
              "  GET /car                                   1.50 s   profile 0101010101010101, 11 "
              "samples, 110.0 ms CPU: find_nearest 55%, sort 27%, alloc 9%\n"
              "    find_car                                 120.0 ms\n"
              "      db                                     500.0 us\n"
              "    reply                                    0.1 us\n"
              "\n  The flame graph of GET /car: 110.0 ms CPU\n\n"
              "  100.0%  █████████████████████████████████  total\n"
              "  100.0%  █████████████████████████████████    main\n"
              "   54.5%  ██████████████████                     find_nearest\n"
              "   27.3%  █████████                              sort\n"
              "    9.1%  ███                                    alloc\n"
              "    9.1%  ███                                    parse\n\n");
    end();
}
END_TEST

/* As Node.js sends it: three samples. */
static void send_wall(void)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, "wall", "nanoseconds");
    pprof_build_sample(build, (int64_t[]){3, 30000000}, (const char *const[]){"wait", NULL});
    pprof_build_label(build, "span_id", "0101010101010101");
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    exporter_send(&exporter, pprof_batch_of(bytes_view(&raw), "wall{service_name=shop}", NULL));
    bytes_release(&raw);
}

START_TEST(wall_time_is_not_shown_as_cpu_time)
{
    begin("debug: {verbosity: detailed}");
    send_wall();
    SEND(7, {1, 0, "root", 0, 5, "0101010101010101"});
    const char *text = end();
    ck_assert_msg(strstr(text, "3 samples, 30.0 ms wall time only: wait 100%\n"), "%s", text);
    ck_assert_msg(strstr(text, "The flame graph of root: 30.0 ms wall time\n"), "%s", text);
    ck_assert_msg(!strstr(text, " CPU"), "%s", text);
}
END_TEST

/* A profile of the span 0101010101010101 with one column of values, in ns: a, then b. */
static void send_times(const char *series, const char *type, int64_t a, int64_t b)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, type, "nanoseconds");
    pprof_build_sample(build, (int64_t[]){a}, (const char *const[]){"a", NULL});
    pprof_build_label(build, "span_id", "0101010101010101");
    pprof_build_sample(build, (int64_t[]){b}, (const char *const[]){"b", NULL});
    pprof_build_label(build, "span_id", "0101010101010101");
    pprof_build_sample(build, (int64_t[]){40}, (const char *const[]){NULL});
    pprof_build_label(build, "span_id", "0101010101010101");
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    exporter_send(&exporter, pprof_batch_of(bytes_view(&raw), series, NULL));
    bytes_release(&raw);
}

START_TEST(a_repeated_upload_counts_once)
{
    begin("debug: {verbosity: detailed}");
    send_profile();
    send_profile();
    SEND(7, {1, 0, "root", 0, 5, "0101010101010101"});
    const char *text = end();
    ck_assert_msg(strstr(text, ", 11 samples, 110.0 ms CPU: find_nearest 55%"), "%s", text);
}
END_TEST

START_TEST(samples_of_wall_time_are_not_added_to_those_of_cpu_time)
{
    begin("debug: {verbosity: detailed}");
    send_wall();
    send_profile();
    SEND(7, {1, 0, "root", 0, 5, "0101010101010101"});
    const char *text = end();
    ck_assert_msg(strstr(text, ", 11 samples, 110.0 ms CPU: find_nearest 55%"), "%s", text);
}
END_TEST

START_TEST(samples_of_wall_time_alone_count)
{
    begin("debug: {verbosity: detailed}");
    send_times("wall{service_name=shop}", "wall", 30000000, 10000000);
    SEND(7, {1, 0, "root", 0, 5, "0101010101010101"});
    const char *text = end();
    ck_assert_msg(strstr(text, ", 2 samples, 40.0 ms wall time only: a 75%, b 25%\n"), "%s", text);
}
END_TEST

START_TEST(the_line_of_a_span_has_the_measure_of_its_graph)
{
    begin("debug: {verbosity: detailed}");
    send_times("wall{service_name=shop}", "wall", 10000000, 90000000);
    send_times("process_cpu{service_name=shop}", "cpu", 30000000, 10000000);
    SEND(7, {1, 0, "root", 0, 5, "0101010101010101"});
    const char *text = end();
    ck_assert_msg(strstr(text, ", 2 samples, 40.0 ms CPU: a 75%, b 25%\n"), "%s", text);
    ck_assert_msg(strstr(text, "   75.0%"), "%s", text);
}
END_TEST

/* As the client's and the server's span of one request, in libraries that give both one id. */
START_TEST(one_id_in_two_services_is_two_spans)
{
    begin("debug: {verbosity: detailed}");
    send_times("process_cpu{service_name=cli}", "cpu", 20000000, 10000000);
    send_times("process_cpu{service_name=srv}", "cpu", 10000000, 40000000);
    SEND_OF("cli", 7, {1, 0, "call", 0, 9, "0101010101010101"});
    SEND_OF("srv", 8, {1, 9, "serve", 1, 5, "0101010101010101"});
    const char *text = end();
    ck_assert_msg(strstr(text, "30.0 ms CPU: a 67%, b 33%\n"), "%s", text);
    ck_assert_msg(strstr(text, "50.0 ms CPU: b 80%, a 20%\n"), "%s", text);
    ck_assert_msg(!strstr(text, "not linked"), "%s", text);
}
END_TEST

static void add_stacks(struct span_profiles *profiles, uint64_t id, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        char name[24];
        struct span_stack stack = {.id = id, .samples = 1, .count = 2};
        snprintf(name, sizeof name, "f%u", i);
        stack.names[0] = view_of(name);
        stack.names[1] = VIEW("main");
        span_profiles_count(profiles, &stack);
    }
}

START_TEST(stacks_are_bounded_and_charged)
{
    struct budget budget;
    budget_init(&budget, 64 << 20);
    struct span_profiles *profiles = span_profiles_new(&budget);
    size_t empty = budget_used(&budget);
    add_stacks(profiles, 1, 0, 1000);
    const struct call_tree *tree = &span_profiles_get(profiles, 1, "")->tree;
    ck_assert_uint_eq(tree->count, CALLS_MAX);
    /* total, main and 254 functions; main has the samples of the others */
    ck_assert_uint_eq(tree->calls[1].samples, 1000 - 254);
    ck_assert_uint_gt(budget_used(&budget), empty);
    for (unsigned id = 2; id < 1000; id++)
        add_stacks(profiles, id, 0, 300);
    ck_assert_uint_le(budget_used(&budget), empty + (4 << 20));
    ck_assert_uint_eq(span_profiles_get(profiles, 1, "")->tree.count, 0);
    ck_assert_uint_eq(span_profiles_get(profiles, 1, "")->samples, 1000);
    ck_assert_uint_eq(span_profiles_get(profiles, 999, "")->tree.count, CALLS_MAX);
    add_stacks(profiles, 1, 0, 1); /* a part of a graph would mislead */
    ck_assert_uint_eq(span_profiles_get(profiles, 1, "")->tree.count, 0);
    span_profiles_free(profiles);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(without_memory_the_calls_that_there_are_count)
{
    struct budget budget;
    budget_init(&budget, 0);
    struct call_room room = {&budget, 1 << 20};
    struct call_tree tree = {0};
    const struct span_stack stack = {.samples = 1, .names = {VIEW("f")}, .count = 1};
    struct bytes out;
    bytes_init(&out, 4096, NULL);
    call_tree_add(&tree, &room, &stack);
    call_tree_write(&tree, &out);
    ck_assert_uint_eq(tree.count + out.size, 0);
    call_tree_release(&tree, &room);
    bytes_release(&out);
}
END_TEST

/* Depth, recursion, names that are long, empty or would steer the terminal, sums that overflow. */
START_TEST(any_stack_is_drawn_within_the_line)
{
    struct call_room room = {NULL, 1 << 20};
    struct call_tree tree = {0};
    struct span_stack stack = {.samples = 1, .cpu_ns = UINT64_MAX, .count = STACK_DEPTH};
    struct bytes out;
    bytes_init(&out, 1 << 16, NULL);
    for (size_t i = 0; i < STACK_DEPTH; i++)
        stack.names[i] = i % 2 ? VIEW("deep\x1b[2J\xc3\xa9") : VIEW("");
    call_tree_add(&tree, &room, &stack);
    stack.count = 1;
    stack.names[0] =
        VIEW("eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");
    call_tree_add(&tree, &room, &stack);
    call_tree_write(&tree, &out);
    bytes_append(&out, "", 1);
    const char *text = (const char *)out.data;
    ck_assert_msg(lines(text) == 3, "%s", text);
    ck_assert_msg(strstr(text, "  ... 254 frames ...\n"), "%s", text);
    ck_assert_msg(strstr(text, "  deep\\x1b[2J\xc3\xa9\n") || strstr(text, "  (unknown)\n"), "%s",
                  text);
    ck_assert_ptr_null(strchr(text, '\x1b'));
    call_tree_release(&tree, &room);
    bytes_release(&out);
}
END_TEST

/* As the frames of a web framework, below which the code of the user begins. */
START_TEST(frames_that_only_call_the_next_are_one_line)
{
    static const char *const tails[] = {"render", "sort"};
    struct call_room room = {NULL, 1 << 20};
    struct call_tree tree = {0};
    struct bytes out;
    bytes_init(&out, 1 << 16, NULL);
    for (unsigned i = 0; i < 2; i++) {
        struct span_stack stack = {.samples = 3 - i, .count = 21};
        stack.names[0] = view_of(tails[i]);
        for (size_t k = 1; k < stack.count; k++)
            stack.names[k] = VIEW(
                "./node_modules/@opentelemetry/instrumentation-http/build/src/http.js:_onCall");
        call_tree_add(&tree, &room, &stack);
    }
    call_tree_write(&tree, &out);
    bytes_append(&out, "", 1);
    const char *text = (const char *)out.data;
    ck_assert_msg(lines(text) == 5, "%s", text);
    ck_assert_msg(strstr(text, "    ... 19 frames ...\n"), "%s", text);
    ck_assert_msg(strstr(text, "src/http.js:_onCall\n"), "%s", text);
    ck_assert_msg(strstr(text, "  60.0%"), "%s", text);
    ck_assert_msg(strstr(text, "render\n") < strstr(text, "sort\n"), "%s", text);
    call_tree_release(&tree, &room);
    bytes_release(&out);
}
END_TEST

START_TEST(samples_under_another_service_name_do_not_link)
{
    begin("debug: {verbosity: detailed}");
    send_profile_of("process_cpu{service_name=till}");
    SEND(1, {1, 0, "root", 0, 5, "0101010101010101"});
    const char *text = end();
    ck_assert_msg(strstr(text, "1 span, 0 linked\n"), "%s", text);
    ck_assert_msg(strstr(text, "; not linked, since the profile is of service till\n"), "%s", text);
}
END_TEST

START_TEST(several_linked_spans_have_a_graph_each_and_shared_links_one)
{
    begin("debug: {verbosity: detailed}");
    send_profile();
    SEND(1, {1, 0, "root", 0, 5, "0101010101010101"}, {2, 1, "child", 0, 5, "0101010101010101"},
         {3, 1, "unseen", 0, 5, "0202020202020202"});
    const char *text = end(), *first = strstr(text, "The flame graph of ");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(strstr(first + 1, "The flame graph of "));
}
END_TEST

/* A profile of the window from so many seconds to others, with 10 ms of CPU time of a span. */
static void send_window(int64_t from, int64_t to)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_time(build, from * (int64_t)NS_PER_S, (to - from) * (int64_t)NS_PER_S);
    pprof_build_sample(build, (int64_t[]){10000000}, (const char *const[]){"main", NULL});
    pprof_build_label(build, "span_id", "0101010101010101");
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    exporter_send(&exporter, pprof_batch_of(bytes_view(&raw), "cpu{service_name=shop}", NULL));
    bytes_release(&raw);
}

#define ENDS_AT_15                                                                                 \
    {                                                                                              \
        1, 0, "root", 5 * NS_PER_S, 10 * NS_PER_S, "0101010101010101"                              \
    }

START_TEST(a_span_waits_for_the_profile_that_covers_its_end)
{
    begin("debug: {verbosity: detailed}");
    send_window(1, 11);
    SEND(1, ENDS_AT_15);
    given_advance(&exporter.given, 10 * NS_PER_S);
    ck_assert_ptr_null(strstr(written(), "trace "));
    send_window(11, 21);
    given_advance(&exporter.given, NS_PER_S);
    const char *text = written();
    ck_assert_msg(strstr(text, ", 20.0 ms CPU: main 100%\n"), "%s", text);
    ck_assert_msg(strstr(text, "The flame graph of root: 20.0 ms CPU\n"), "%s", text);
    end();
}
END_TEST

START_TEST(numbers_that_may_grow_are_said_to_be_so_far)
{
    begin("debug: {verbosity: detailed}");
    send_window(1, 11);
    SEND(1, ENDS_AT_15);
    given_advance(&exporter.given, 20 * NS_PER_S);
    const char *text = written();
    ck_assert_msg(strstr(text, ", 10.0 ms CPU so far: main 100%\n"), "%s", text);
    ck_assert_msg(strstr(text, "The flame graph of root: 10.0 ms CPU so far\n"), "%s", text);
    SEND(2, ENDS_AT_15);
    text = end();
    ck_assert_uint_eq(lines(strstr(text, "trace 02")), lines(strstr(text, "trace 01")) / 2);
}
END_TEST

START_TEST(a_span_without_samples_is_not_linked_at_the_end)
{
    begin("debug: {verbosity: detailed}");
    send_window(1, 11);
    SEND(1, {2, 0, "undecided", 5, 5, "0202020202020202"});
    const char *text = end();
    ck_assert_msg(strstr(text, "1 span, 0 linked\n"), "%s", text);
}
END_TEST

START_TEST(a_trace_without_its_root_waits_for_it)
{
    begin("debug: {verbosity: detailed}");
    SEND(1, {2, 9, "child", 5, 5, NULL});
    given_advance(&exporter.given, 30 * NS_PER_S);
    ck_assert_str_eq(written(), "");
    SEND(1, {9, 0, "root", 1, 20, NULL});
    given_advance(&exporter.given, NS_PER_S);
    const char *text = written();
    ck_assert_uint_eq(lines(text), 3);
    ck_assert(strstr(text, "root") < strstr(text, "child"));
    SEND(2, {2, 9, "orphan", 5, 5, NULL});
    given_advance(&exporter.given, 60 * NS_PER_S);
    ck_assert_ptr_nonnull(strstr(written(), "\n  orphan "));
    end();
}
END_TEST

/* Each service decides about its spans at a time of its own. */
START_TEST(a_trace_of_several_services_is_one_tree)
{
    begin("debug: {verbosity: detailed}");
    SEND_OF("render", 1, {4, 3, "GET /render", 30, 5, NULL});
    given_advance(&exporter.given, 5 * NS_PER_S);
    SEND_OF("shop", 1, {2, 1, "HTTP GET", 10, 50, NULL});
    given_advance(&exporter.given, 5 * NS_PER_S);
    SEND_OF("shop", 1, {1, 0, "GET /checkout", 1, 90, NULL});
    given_advance(&exporter.given, 20 * NS_PER_S);
    ck_assert_str_eq(written(), "");
    SEND_OF("pricing", 1, {3, 2, "GET /price", 20, 20, NULL});
    given_advance(&exporter.given, NS_PER_S);
    const char *text = written();
    ck_assert_msg(lines(text) == 5, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\n        GET /render "));
    ck_assert_msg(strstr(text, "  shop  4 spans, 0 linked\n"), "%s", text); /* its root's */
    /* What comes later does not wait for the root, which was shown. */
    SEND_OF("pricing", 1, {5, 3, "late", 21, 2, NULL});
    given_advance(&exporter.given, NS_PER_S);
    ck_assert_ptr_nonnull(strstr(written(), "\n  late "));
    end();
}
END_TEST

START_TEST(rings_and_doubles_of_spans_are_shown_once_each)
{
    begin("debug: {verbosity: detailed}");
    SEND(1, {1, 2, "one", 1, 5, NULL}, {2, 3, "two", 2, 5, NULL}, {3, 1, "three", 3, 5, NULL},
         {4, 4, "self", 4, 5, NULL}, {5, 0, "root", 0, 5, NULL}, {5, 0, "again", 0, 5, NULL});
    given_advance(&exporter.given, NS_PER_S);
    const char *text = end();
    ck_assert_uint_eq(lines(text), 7);
    static const char *const names[] = {"one", "two", "three", "self", "root", "again"};
    for (size_t i = 0; i < 6; i++)
        ck_assert_ptr_nonnull(strstr(text, names[i]));
}
END_TEST

START_TEST(a_chain_of_any_depth_is_shown_whole)
{
    struct given_span chain[250];
    for (unsigned i = 0; i < 250; i++)
        chain[i] = (struct given_span){(uint8_t)(i + 1), (uint8_t)i, "link", i, 5, NULL};
    begin("debug: {verbosity: detailed}");
    send_trace_of("shop", 1, chain, 250);
    ck_assert_uint_eq(lines(end()), 251);
}
END_TEST

START_TEST(what_is_kept_is_shown_at_the_end)
{
    begin("debug: {verbosity: detailed}");
    SEND(1, {2, 9, "orphan", 5, 5, NULL});
    ck_assert_ptr_nonnull(strstr(end(), "orphan"));
}
END_TEST

START_TEST(names_cannot_steer_the_terminal)
{
    begin("debug: {verbosity: detailed}");
    SEND(1, {1, 0,
             "a\x1b[2Jb\nc\xc2\x9b"
             "d\xe2\x80\xae"
             "e\xe2\x80\x8b"
             "f\xc3\xa9",
             5, 5, NULL});
    const char *text = end();
    ck_assert_msg(strstr(text, "  a\\x1b[2Jb\\nc\\x9bd\\u202ee\\u200bf\xc3\xa9 "), "%s", text);
    ck_assert_uint_eq(lines(text), 2);
}
END_TEST

START_TEST(where_the_log_is_json_so_is_what_is_written)
{
    log_set_form(true, ",\"team\":\"a\"");
    begin("debug/x: {verbosity: detailed}");
    SEND(1, {1, 0, "say \"hi\"", 5, 5, NULL}, {2, 1, "child", 5, 5, NULL});
    exporter_send(&exporter, otlp_batch_of(SIGNAL_LOGS, VIEW("12345"), 3));
    const char *text = end();
    log_set_form(false, "");
    ck_assert_uint_eq(lines(text), 2);
    ck_assert_msg(strstr(text, "\"msg\":\"debug/x: 3 log records, 5 bytes\",\"team\":\"a\","
                               "\"otelcol.component.id\":\"debug/x\""),
                  "%s", text);
    ck_assert_msg(strstr(text, "\"otelcol.signal\":\"logs\"}\n"), "%s", text);
    const char *tree = strstr(text, "say \\\"hi\\\" ");
    ck_assert_msg(tree && strstr(tree, "\\n") && strstr(tree, "child"), "%s", text);
    ck_assert_msg(strstr(tree, "\"otelcol.signal\":\"traces\"}\n"), "%s", text);
}
END_TEST

START_TEST(memory_is_bounded_and_the_oldest_traces_give_way)
{
    static struct given_span many[1500];
    begin("debug: {verbosity: detailed}");
    for (unsigned i = 0; i < 1500; i++)
        many[i] = (struct given_span){1, 0, "s", i, 5, NULL};
    for (uint8_t trace = 1; trace <= 21; trace++)
        send_trace_of("shop", trace, many, 1500); /* 1000 per trace are kept, 20000 in total */
    const char *text = written();
    ck_assert_msg(strncmp(text, "trace 0101", 10) == 0, "%.100s", text);
    ck_assert_ptr_nonnull(strstr(text, "  1500 spans, 0 linked\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n  and 500 more spans\n"));
    ck_assert_uint_eq(lines(text), 1002);
    end();
}
END_TEST

START_TEST(a_reader_that_does_not_read_holds_nothing_up)
{
    int ends[2];
    begin("debug: ");
    ck_assert_int_eq(pipe(ends), 0);
    dup2(ends[1], STDOUT_FILENO);
    /* More lines than fit into a pipe. */
    for (unsigned i = 0; i < 20000; i++)
        ck_assert_int_eq(exporter_send(&exporter, otlp_batch_of(SIGNAL_LOGS, VIEW(""), 1)).verdict,
                         VERDICT_OK);
    exporter_stop(&exporter);
    dup2(own_stdout, STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(samples_are_counted_by_what_a_profile_has)
{
    struct span_profiles *profiles = span_profiles_new(NULL);
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds"); /* Python: no samples/count */
    pprof_build_period(build, "cpu", "nanoseconds", 10000000);
    pprof_build_sample(build, (int64_t[]){30000000}, (const char *const[]){"f", NULL});
    pprof_build_label(build, "span_id", "00000000000000AA");
    pprof_build_sample(build, (int64_t[]){10000000}, (const char *const[]){"g", NULL});
    pprof_build_label(build, "span_id", "0000000000000000");
    struct bytes raw = pprof_build_raw(build);
    span_profiles_add(profiles, VIEW("shop"), bytes_view(&raw));
    span_profiles_add(profiles, VIEW("shop"), VIEW("garbage"));
    const struct span_profile *profile = span_profiles_get(profiles, 0xaa, "");
    ck_assert_ptr_nonnull(profile);
    ck_assert_uint_eq(profile->samples, 3);
    ck_assert_uint_eq(profile->cpu_ns, 30000000);
    ck_assert_ptr_null(span_profiles_get(profiles, 0, ""));
    pprof_build_free(build);
    bytes_release(&raw);

    build = pprof_build_new();
    pprof_build_type(build, "goroutine", "count"); /* sleeping ones too */
    pprof_build_sample(build, (int64_t[]){1}, (const char *const[]){"f", NULL});
    pprof_build_label(build, "span_id", "00000000000000bb");
    raw = pprof_build_raw(build);
    span_profiles_add(profiles, VIEW("shop"), bytes_view(&raw));
    ck_assert_ptr_null(span_profiles_get(profiles, 0xbb, ""));
    pprof_build_free(build);
    bytes_release(&raw);
    span_profiles_free(profiles);
}
END_TEST

/* Go sends samples and their CPU time, which are separate in OTLP. */
static void check_otlp(bool times_first)
{
    struct outcome why;
    struct span_profiles *profiles = span_profiles_new(NULL);
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, times_first ? "cpu" : "samples", times_first ? "nanoseconds" : "count");
    pprof_build_type(build, times_first ? "samples" : "cpu", times_first ? "count" : "nanoseconds");
    pprof_build_period(build, "cpu", "nanoseconds", 10000000);
    pprof_build_sample(build, (int64_t[]){times_first ? 30000000 : 3, times_first ? 3 : 30000000},
                       (const char *const[]){"hot", NULL});
    pprof_build_label(build, "span_id", "00000000000000aa");
    struct bytes raw = pprof_build_raw(build);
    struct batch *batch = pprof_batch_of(bytes_view(&raw), "process_cpu{service_name=a}", NULL);
    struct batch *form = otlp_form(batch, &why);
    ck_assert_ptr_nonnull(form);
    span_profiles_add_otlp(profiles, buffer_view(form->payload));
    span_profiles_add_otlp(profiles, VIEW("garbage"));
    const struct span_profile *profile = span_profiles_get(profiles, 0xaa, "");
    ck_assert_ptr_nonnull(profile);
    ck_assert_uint_eq(profile->samples, 3);
    ck_assert_uint_eq(profile->cpu_ns, 30000000);
    ck_assert_str_eq(profile->hot[0].name, "hot");
    batch_unref(form);
    batch_unref(batch);
    bytes_release(&raw);
    pprof_build_free(build);
    span_profiles_free(profiles);
}

START_TEST(otlp_profiles_count_like_the_pprof_that_they_were)
{
    check_otlp(false);
    check_otlp(true);
}
END_TEST

START_TEST(the_latest_spans_of_many_are_remembered)
{
    struct span_profiles *profiles = span_profiles_new(NULL);
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    for (unsigned i = 1; i <= 3000; i++) {
        char id[24];
        snprintf(id, sizeof id, "%016x", i);
        pprof_build_sample(build, (int64_t[]){i}, (const char *const[]){"f", NULL});
        pprof_build_label(build, "span_id", id);
    }
    struct bytes raw = pprof_build_raw(build);
    span_profiles_add(profiles, VIEW("shop"), bytes_view(&raw));
    ck_assert_ptr_null(span_profiles_get(profiles, 1, ""));
    ck_assert_ptr_null(span_profiles_get(profiles, 3000 - 1024, ""));
    for (unsigned i = 3000 - 1023; i <= 3000; i++)
        ck_assert_uint_eq(span_profiles_get(profiles, i, "")->samples, i);
    pprof_build_free(build);
    bytes_release(&raw);
    span_profiles_free(profiles);
}
END_TEST

SUITE_MAIN(
    "debug_exporter", basic_is_a_line_a_batch,
    detailed_shows_a_trace_as_a_tree_with_what_its_profiles_said,
    wall_time_is_not_shown_as_cpu_time, a_repeated_upload_counts_once,
    samples_of_wall_time_are_not_added_to_those_of_cpu_time, samples_of_wall_time_alone_count,
    the_line_of_a_span_has_the_measure_of_its_graph, one_id_in_two_services_is_two_spans,
    a_trace_of_several_services_is_one_tree, a_span_waits_for_the_profile_that_covers_its_end,
    numbers_that_may_grow_are_said_to_be_so_far, a_span_without_samples_is_not_linked_at_the_end,
    a_trace_without_its_root_waits_for_it, rings_and_doubles_of_spans_are_shown_once_each,
    a_chain_of_any_depth_is_shown_whole, what_is_kept_is_shown_at_the_end,
    names_cannot_steer_the_terminal, where_the_log_is_json_so_is_what_is_written,
    memory_is_bounded_and_the_oldest_traces_give_way, a_reader_that_does_not_read_holds_nothing_up,
    samples_are_counted_by_what_a_profile_has, otlp_profiles_count_like_the_pprof_that_they_were,
    the_latest_spans_of_many_are_remembered, stacks_are_bounded_and_charged,
    without_memory_the_calls_that_there_are_count, any_stack_is_drawn_within_the_line,
    frames_that_only_call_the_next_are_one_line, samples_under_another_service_name_do_not_link,
    several_linked_spans_have_a_graph_each_and_shared_links_one)
