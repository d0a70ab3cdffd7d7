#include "extensions/status/flame_add.h"
#include "extensions/status/flame_write.h"
#include "extensions/status/left_out.h"

#include "lib/base/clock.h"
#include "lib/wire/pprof/pprof_count.h"
#include "lib/wire/pprof/pprof_stacks.h"
#include "tests/support/pprof_build.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

#define CPU_TYPE "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define ID_A     UINT64_C(0x0123456789abcdef)
#define STARTED  (UINT64_C(1800000000) * NS_PER_S)
#define ARRIVED  (STARTED + 12 * NS_PER_S)

static const char id_a[] = "0123456789abcdef", id_b[] = "fedcba9876543210";

/* Two stacks of one span, one of another, and one of none. */
static struct bytes profile(void)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_period(build, "cpu", "nanoseconds", 10);
    pprof_build_time(build, INT64_C(1800000000000000000), 10000000000);
    pprof_build_sample(build, (const int64_t[]){3, 30},
                       (const char *const[]){"leaf", "work", "main", NULL});
    pprof_build_label(build, "span_id", id_a);
    pprof_build_sample(build, (const int64_t[]){1, 10},
                       (const char *const[]){"work", "main", NULL});
    pprof_build_label(build, "profile_id", id_a);
    pprof_build_sample(
        build, (const int64_t[]){2, 20},
        (const char *const[]){"a;\xc2\x9b\x7f<b>\xff\xe2\x80\xae\xe2\x80\xa8", "main", NULL});
    pprof_build_label(build, "span_id", id_b);
    pprof_build_sample(build, (const int64_t[]){5, 50}, (const char *const[]){"idle", NULL});
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return raw;
}

static struct series *labels(const char *service)
{
    const struct series_label list[] = {{VIEW("__name__"), VIEW("process_cpu")},
                                        {VIEW("service_name"), view_of(service)}};
    return series_new(list, 2);
}

static void draw(struct flame *flame, const struct flame_filter *filter, struct budget *budget)
{
    struct bytes raw = profile();
    struct series *series = labels("shop");
    struct flame_source source = {.raw = bytes_view(&raw), .series = series, .arrived = ARRIVED};
    flame_init(flame, filter, budget);
    flame_add_pprof(flame, &source);
    flame_add_pprof(flame, &source); /* repeated, it counts once */
    flame_finish(flame);
    series_unref(series);
    bytes_release(&raw);
}

/* A heap profile of a series, as a Go process sends every 15 s. */
static void add_heap(struct flame *flame, const char *instance, int64_t in_use, uint64_t arrived)
{
    const struct series_label list[] = {{VIEW("__name__"), VIEW("memory")},
                                        {VIEW("service_name"), VIEW("shop")},
                                        {VIEW("instance"), view_of(instance)}};
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "alloc_space", "bytes");
    pprof_build_type(build, "inuse_space", "bytes");
    pprof_build_period(build, "space", "bytes", 512);
    pprof_build_time(build, (int64_t)arrived, 0);
    pprof_build_sample(build, (const int64_t[]){100, in_use},
                       (const char *const[]){"leaf", "main", NULL});
    pprof_build_sample(build, (const int64_t[]){100, in_use}, (const char *const[]){"main", NULL});
    struct bytes raw = pprof_build_raw(build);
    struct series *series = series_new(list, 3);
    flame_add_pprof(flame, &(struct flame_source){
                               .raw = bytes_view(&raw), .series = series, .arrived = arrived});
    series_unref(series);
    bytes_release(&raw);
    pprof_build_free(build);
}

static void draw_heaps(struct flame *flame, const char *type, struct budget *budget)
{
    const struct flame_filter filter = {.service = "shop", .type = type, .to = UINT64_MAX};
    const uint64_t now = UINT64_C(1800000000) * NS_PER_S;
    flame_init(flame, &filter, budget);
    add_heap(flame, "a", 7, now);
    add_heap(flame, "b", 20, now - 5 * NS_PER_S);
    add_heap(flame, "a", 9, now - 15 * NS_PER_S);
    add_heap(flame, "b", 21, now - 20 * NS_PER_S);
    add_heap(flame, "ended", 1000, now - 600 * NS_PER_S);
    flame_finish(flame);
}

START_TEST(a_state_is_drawn_as_each_series_had_it_last)
{
    struct budget budget;
    struct flame flame;
    budget_init(&budget, 1 << 30);
    draw_heaps(&flame, "memory:inuse_space:bytes:space:bytes", &budget);
    ck_assert_int_eq(flame_total(&flame, 0), 2 * 7 + 2 * 20);
    ck_assert(flame.is_state);
    ck_assert_uint_eq(flame.profiles, 2);
    flame_release(&flame);
    draw_heaps(&flame, "memory:alloc_space:bytes:space:bytes", &budget);
    ck_assert_int_eq(flame_total(&flame, 0), 5 * 200); /* what happened adds up */
    ck_assert(!flame.is_state);
    ck_assert_uint_eq(flame.profiles, 5);
    flame_release(&flame);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

static const char *folded(struct flame *flame, struct bytes *out)
{
    bytes_init(out, 1 << 16, NULL);
    ck_assert(flame_write_all(flame, FLAME_FOLDED, VIEW(""), out));
    bytes_append(out, "", 1);
    return (const char *)out->data;
}

START_TEST(a_span_has_the_samples_that_name_it)
{
    const struct flame_id ids[] = {{7, 0}, {ID_A, 0}};
    struct budget budget;
    struct flame flame;
    struct bytes text;
    budget_init(&budget, 1 << 24);
    draw(&flame, &(struct flame_filter){.ids = ids, .id_count = 2, .type = "", .to = UINT64_MAX},
         &budget);
    ck_assert_str_eq(folded(&flame, &text), "main;work 10\nmain;work;leaf 30\n");
    ck_assert_int_eq(flame_total(&flame, 0), 40);
    ck_assert_uint_eq(flame.samples, 4);
    ck_assert_str_eq(flame.type, CPU_TYPE);
    ck_assert_uint_eq(flame.type_count, 2);
    ck_assert(!flame.truncated);
    bytes_release(&text);
    flame_release(&flame);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

/* As where spans of two services share an id. */
START_TEST(an_id_may_be_asked_for_in_the_profiles_of_one_service)
{
    for (int other = 0; other < 2; other++) {
        const struct flame_id ids[] = {{ID_A, left_out_service(VIEW("till"))},
                                       {ID_A, left_out_service(VIEW("shop"))}};
        struct budget budget;
        struct flame flame;
        budget_init(&budget, 1 << 24);
        draw(&flame,
             &(struct flame_filter){
                 .ids = ids, .id_count = other ? 1 : 2, .type = "", .to = UINT64_MAX},
             &budget);
        ck_assert_int_eq(flame_total(&flame, 0), other ? 0 : 40);
        flame_release(&flame);
        ck_assert_uint_eq(budget_used(&budget), 0);
    }
}
END_TEST

START_TEST(a_service_has_all_and_another_type_where_it_is_asked_for)
{
    struct budget budget;
    struct flame flame;
    struct flame_filter filter = {
        .service = "shop", .type = "process_cpu:samples:count:cpu:nanoseconds", .to = UINT64_MAX};
    budget_init(&budget, 1 << 24);
    draw(&flame, &filter, &budget);
    ck_assert_int_eq(flame_total(&flame, 0), 11);
    flame_release(&flame);
    filter.service = "other";
    draw(&flame, &filter, &budget);
    ck_assert_int_eq(flame_total(&flame, 0), 0);
    flame_release(&flame);
    filter = (struct flame_filter){.service = "shop", .type = "", .to = UINT64_C(1) << 60};
    draw(&flame, &filter, &budget);
    ck_assert_int_eq(flame_total(&flame, 0), 0);
    flame_release(&flame);
}
END_TEST

/* A frame of hostile text stays one frame, and is valid UTF-8. */
START_TEST(names_are_text_in_every_format)
{
    struct budget budget;
    struct flame flame;
    struct bytes text, out;
    budget_init(&budget, 1 << 24);
    draw(&flame, &(struct flame_filter){.service = "shop", .type = "", .to = UINT64_MAX}, &budget);
    ck_assert_ptr_nonnull(strstr(folded(&flame, &text), "main;a:  <b>\xef\xbf\xbd   20\n"));
    bytes_release(&text);
    bytes_init(&out, 1 << 16, NULL);
    ck_assert(flame_write_all(
        &flame, FLAME_SVG,
        VIEW("</svg><script>\xef\xbf\xbe\xe2\x80\xae\x7f\xc2\x85\xe2\x81\xa6\x1b"), &out));
    bytes_append(&out, "", 1);
    ck_assert_ptr_nonnull(
        strstr((const char *)out.data, "\xef\xbf\xbd\\u202e\\x7f\\x85\\u2066\\x1b</text>"));
    ck_assert_ptr_nonnull(strstr((const char *)out.data, "&lt;b&gt;"));
    ck_assert_ptr_null(strstr((const char *)out.data, "<script>"));
    ck_assert_ptr_nonnull(strstr((const char *)out.data, "&lt;script&gt;\xef\xbf\xbd"));
    ck_assert_ptr_null(strstr((const char *)out.data, "\xef\xbf\xbe"));
    bytes_clear(&out);
    ck_assert(flame_write_all(&flame, FLAME_JSON, VIEW(""), &out));
    bytes_append(&out, "", 1);
    ck_assert_ptr_nonnull(strstr((const char *)out.data, "<b>\xef\xbf\xbd\xe2\x80\xae"));
    ck_assert_ptr_nonnull(strstr((const char *)out.data, "\"nodes\":[[-1,1,110,0],"));
    bytes_release(&out);
    flame_release(&flame);
}
END_TEST

static void add_values(struct flame *flame, const char *name, const char *unit, int64_t factor)
{
    const struct series_label list[] = {{VIEW("__name__"), view_of(name)},
                                        {VIEW("service_name"), VIEW("shop")}};
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, "cpu", unit);
    pprof_build_type(build, "wall", "nanoseconds");
    pprof_build_sample(build, (const int64_t[]){3 * factor, 30 * factor, 70 * factor},
                       (const char *const[]){"work", "main", NULL});
    struct bytes raw = pprof_build_raw(build);
    struct series *series = series_new(list, 2);
    flame_add_pprof(
        flame, &(struct flame_source){.raw = bytes_view(&raw), .series = series, .arrived = 7});
    series_unref(series);
    bytes_release(&raw);
    pprof_build_free(build);
}

static void add_cpu(struct flame *flame, const char *name, const char *unit)
{
    add_values(flame, name, unit, 1);
}

static void add_scaled_cpu(struct flame *flame, const char *name, int64_t factor)
{
    add_values(flame, name, "nanoseconds", factor);
}

START_TEST(cpu_time_of_another_type_is_told)
{
    static const struct {
        const char *name, *unit, *type;
        bool other;
    } cases[] = {
        {"process_cpu", "nanoseconds", "", false},
        {"process_cpu", "microseconds", "", true},
        {"cpu", "nanoseconds", "", true},
        {"wall", "count", "", false},
        {"cpu", "nanoseconds", "process_cpu:wall:nanoseconds::", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct flame_filter filter = {
            .service = "shop", .type = cases[i].type, .to = UINT64_MAX};
        struct flame flame;
        flame_init(&flame, &filter, NULL);
        add_cpu(&flame, "process_cpu", "nanoseconds");
        add_cpu(&flame, cases[i].name, cases[i].unit);
        flame_finish(&flame);
        ck_assert_msg(flame_has_other_cpu(&flame) == cases[i].other, "case %zu", i);
        flame_release(&flame);
    }
}
END_TEST

START_TEST(the_type_of_cpu_time_that_has_most_is_known)
{
    const struct flame_filter filter = {.service = "shop", .type = "", .to = UINT64_MAX};
    struct flame flame;
    flame_init(&flame, &filter, NULL);
    add_cpu(&flame, "cpu", "nanoseconds");
    ck_assert_ptr_null(flame_better_type(&flame));
    add_cpu(&flame, "process_cpu", "microseconds"); /* not comparable */
    add_cpu(&flame, "process_cpu", "nanoseconds");
    ck_assert_ptr_null(flame_better_type(&flame)); /* as much */
    add_scaled_cpu(&flame, "process_cpu", 3);
    ck_assert_str_eq(flame_better_type(&flame), "process_cpu:cpu:nanoseconds::");
    ck_assert_uint_eq(flame.sum, 30);
    flame_release(&flame);
}
END_TEST

/* A profile of CPU and wall time; .NET's samples have one of them. */
static void add_either(struct flame *flame, int64_t cpu, int64_t wall)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_type(build, "wall", "nanoseconds");
    pprof_build_sample(build, (const int64_t[]){cpu, wall},
                       (const char *const[]){"work", "main", NULL});
    struct bytes raw = pprof_build_raw(build);
    flame_add_pprof(flame, &(struct flame_source){.raw = bytes_view(&raw), .arrived = ARRIVED});
    bytes_release(&raw);
    pprof_build_free(build);
}

START_TEST(a_type_without_values_gives_way_to_one_that_has_some)
{
    const struct flame_filter filter = {.type = "", .to = UINT64_MAX};
    struct flame flame;
    flame_init(&flame, &filter, NULL);
    add_either(&flame, 0, 5);
    ck_assert_str_eq(flame.type, "process_cpu:cpu:nanoseconds::");
    ck_assert_str_eq(flame_better_type(&flame), "process_cpu:wall:nanoseconds::");
    add_either(&flame, 1, 0);
    ck_assert_ptr_null(flame_better_type(&flame));
    flame_release(&flame);
}
END_TEST

/* A profile of the window: a sample of 2^62 in each of five functions. */
static void add_huge(struct flame *flame, const char *unit)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", unit);
    for (int i = 0; i < 5; i++)
        pprof_build_sample(
            build, (const int64_t[]){INT64_C(1) << 62},
            (const char *const[]){(const char *[]){"a", "b", "c", "d", "e"}[i], "main", NULL});
    struct bytes raw = pprof_build_raw(build);
    flame_add_pprof(flame, &(struct flame_source){.raw = bytes_view(&raw), .arrived = ARRIVED});
    bytes_release(&raw);
    pprof_build_free(build);
}

/* Times count as correlation counts them; the sum of anything else is cut. */
START_TEST(absurd_values_add_up)
{
    static const struct {
        const char *unit;
        int64_t total;
        bool truncated;
    } cases[] = {
        {"nanoseconds", (int64_t)(5 * PPROF_TIME_MAX), false},
        {"milliseconds", (int64_t)(PPROF_TIME_MAX / NS_PER_MS * 5), false},
        {"count", INT64_MAX, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct flame_filter filter = {.type = "", .to = UINT64_MAX};
        struct flame flame;
        int64_t sum = 0;
        flame_init(&flame, &filter, NULL);
        add_huge(&flame, cases[i].unit);
        flame_finish(&flame);
        for (size_t node = 0; node < flame_count(&flame); node++)
            sum += flame_nodes(&flame)[node].self;
        ck_assert_int_eq(flame_total(&flame, 0), cases[i].total);
        ck_assert_int_eq(sum, cases[i].total);
        ck_assert(flame.truncated == cases[i].truncated && flame.too_large == cases[i].truncated);
        flame_release(&flame);
    }
}
END_TEST

/* A profile with 20 ns on a stack, and 30 ns on none. */
static void add_stackless(struct flame *flame, uint64_t start, uint64_t length, uint64_t arrived)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_time(build, (int64_t)start, (int64_t)length);
    pprof_build_sample(build, (const int64_t[]){20}, (const char *const[]){"main", NULL});
    pprof_build_label(build, "span_id", id_a);
    pprof_build_sample(build, (const int64_t[]){30}, (const char *const[]){NULL});
    pprof_build_label(build, "span_id", id_a);
    struct bytes raw = pprof_build_raw(build);
    flame_add_pprof(flame, &(struct flame_source){.raw = bytes_view(&raw), .arrived = arrived});
    bytes_release(&raw);
    pprof_build_free(build);
}

/* As in the rows of routes, they are the service's, but no span's. */
START_TEST(samples_without_a_stack_are_drawn)
{
    const struct flame_id ids[] = {{ID_A, 0}};
    for (int by_id = 0; by_id < 2; by_id++) {
        const struct flame_filter filter = {
            .ids = by_id ? ids : NULL, .id_count = 1, .type = "", .to = UINT64_MAX};
        struct flame flame;
        struct bytes text;
        flame_init(&flame, &filter, NULL);
        add_stackless(&flame, STARTED, 10 * NS_PER_S, ARRIVED);
        flame_finish(&flame);
        ck_assert_int_eq(flame_total(&flame, 0), by_id ? 20 : 50);
        ck_assert_str_eq(folded(&flame, &text), by_id ? "main 20\n" : "main 20\n(no stack) 30\n");
        bytes_release(&text);
        flame_release(&flame);
    }
}
END_TEST

/* A profile is drawn with the time in which /api/cost counts it. */
START_TEST(a_profile_whose_clock_is_wrong_is_drawn_where_it_counts)
{
    enum { MINUTE = 60, HOUR = 3600 };
    static const struct {
        int64_t start, length, from, to; /* s; of the arrival */
        bool drawn;
    } cases[] = {
        {-12, 10, -20, 0, true},
        {-12, 10, -2, 0, false},
        {MINUTE, 10, -20, 1, true}, /* ahead: at its arrival */
        {MINUTE, 10, MINUTE, 2 * MINUTE, false},
        {-5, 60, -20, -1, true}, /* ends after it arrived: moved back */
        {-5, 60, -50, -40, true},
        {-5, 60, -80, -70, false},
        {-2 * HOUR, 2 * HOUR, -20, 1, true},
        {-2 * HOUR, 2 * HOUR, -HOUR, -20, false}, /* too long: at its end */
        {-HOUR / 2, 2 * HOUR, -20, 0, false},
        {-HOUR / 2, 2 * HOUR, -HOUR, -20, true}, /* and ends too late: at its start */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct flame_filter filter = {
            .type = "",
            .from = ARRIVED + (uint64_t)cases[i].from * NS_PER_S,
            .to = ARRIVED + (uint64_t)cases[i].to * NS_PER_S,
        };
        struct flame flame;
        flame_init(&flame, &filter, NULL);
        add_stackless(&flame, ARRIVED + (uint64_t)cases[i].start * NS_PER_S,
                      (uint64_t)cases[i].length * NS_PER_S, ARRIVED);
        flame_finish(&flame);
        ck_assert_msg((flame_total(&flame, 0) > 0) == cases[i].drawn, "case %zu", i);
        flame_release(&flame);
    }
}
END_TEST

static int64_t attribute(const char **at, const char *name)
{
    *at = strstr(*at, name);
    ck_assert_ptr_nonnull(*at);
    *at += strlen(name);
    return strtol(*at, NULL, 10);
}

/* In pieces, none of which has more than a frame beyond what was asked for. */
START_TEST(its_svg_has_a_rectangle_for_each_frame_below_its_caller)
{
    static const int64_t x_and_width[][2] = {{0, 1200}, {0, 654},   {0, 436},
                                             {0, 327},  {436, 218}, {654, 545}};
    struct budget budget;
    struct flame flame;
    struct bytes out;
    budget_init(&budget, 1 << 24);
    draw(&flame, &(struct flame_filter){.service = "shop", .type = "", .to = UINT64_MAX}, &budget);
    size_t used = budget_used(&budget);
    struct flame_writer writer = flame_writer_begin(&flame, FLAME_SVG, VIEW("title"));
    bytes_init(&out, 1 << 16, NULL);
    while (!writer.done) {
        size_t before = out.size;
        ck_assert(flame_write(&writer, &out, before + 1));
        ck_assert_uint_lt(out.size - before, 512);
    }
    flame_writer_end(&writer);
    ck_assert_uint_eq(budget_used(&budget), used);
    bytes_append(&out, "", 1);
    const char *at = strstr((const char *)out.data, "<g>");
    for (size_t i = 0; i < sizeof x_and_width / sizeof *x_and_width; i++) {
        ck_assert_int_eq(attribute(&at, "<rect x=\""), x_and_width[i][0]);
        ck_assert_int_eq(attribute(&at, "width=\""), x_and_width[i][1]);
    }
    ck_assert_ptr_null(strstr(at, "<rect"));
    ck_assert_ptr_nonnull(strstr(at, "</g>\n</svg>\n"));
    bytes_release(&out);
    flame_release(&flame);
}
END_TEST

static bool has_text(struct flame *flame, enum flame_format format, const char *sentence)
{
    struct bytes out;
    bytes_init(&out, 1 << 16, NULL);
    ck_assert(flame_write_all(flame, format, VIEW("title"), &out));
    bool has = memmem(out.data, out.size, sentence, strlen(sentence));
    bytes_release(&out);
    return has;
}

START_TEST(a_file_says_what_is_missing)
{
    static const enum flame_format formats[] = {FLAME_JSON, FLAME_PPROF, FLAME_SVG};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct flame flame;
        draw(&flame, &(struct flame_filter){.service = "shop", .type = "", .to = UINT64_MAX}, NULL);
        ck_assert(!has_text(&flame, formats[i], "Some are missing."));
        flame.text = "Some are missing.";
        ck_assert(has_text(&flame, formats[i], "Some are missing."));
        flame_release(&flame);
    }
}
END_TEST

START_TEST(its_pprof_has_the_same_totals)
{
    struct budget budget;
    struct flame flame;
    struct bytes out;
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    struct pprof_sample sample;
    int64_t sum = 0;
    budget_init(&budget, 1 << 24);
    draw(&flame, &(struct flame_filter){.service = "shop", .type = "", .to = UINT64_MAX}, &budget);
    bytes_init(&out, 1 << 16, NULL);
    arena_init(&arena, 1 << 20);
    ck_assert(flame_write_all(&flame, FLAME_PPROF, VIEW(""), &out));
    ck_assert_msg(pprof_open(&pprof, bytes_view(&out), &arena, &fault), "%s", fault.reason);
    struct proto_scan scan = pprof_samples(&pprof);
    while (pprof_next_sample(&pprof, &scan, &sample))
        sum += sample.values[0];
    ck_assert_int_eq(sum, 110);
    ck_assert(view_eq(pprof.types[0].type, VIEW("cpu")));
    ck_assert_int_eq(pprof.time_nanos, INT64_C(1800000000000000000));
    ck_assert_int_eq(pprof.duration_nanos, 10000000000);
    arena_release(&arena);
    bytes_release(&out);
    flame_release(&flame);
}
END_TEST

/* Of a stack that is too deep the root is what stays. */
START_TEST(a_deep_stack_is_cut_at_its_leaf)
{
    enum { DEEP = 40, MOST = 16 };
    const char *frames[DEEP + 1] = {NULL};
    char names[DEEP][16];
    for (int i = 0; i < DEEP; i++) {
        snprintf(names[i], sizeof names[i], "f%d", i);
        frames[i] = names[i];
    }
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_sample(build, (const int64_t[]){1}, frames);
    struct bytes raw = pprof_build_raw(build);
    struct arena arena;
    struct pprof pprof;
    struct pprof_stacks stacks;
    struct pprof_sample sample;
    uint32_t found[MOST];
    bool cut = false;
    arena_init(&arena, 1 << 20);
    ck_assert(pprof_reopen(&pprof, bytes_view(&raw), &arena));
    ck_assert(pprof_stacks_open(&stacks, &pprof, &arena));
    struct proto_scan scan = pprof_samples(&pprof);
    ck_assert(pprof_next_sample(&pprof, &scan, &sample));
    size_t count = pprof_stacks_read(&stacks, &sample, found, MOST, &cut);
    ck_assert_uint_ge(count, MOST / 2);
    ck_assert(cut);
    ck_assert(view_eq(pprof_string(&pprof, found[count - 1]), VIEW("f39")));
    arena_release(&arena);
    bytes_release(&raw);
    pprof_build_free(build);
}
END_TEST

START_TEST(frames_without_symbols_are_drawn)
{
    const struct flame_filter filter = {
        .ids = (const struct flame_id[]){{ID_A, 0}}, .id_count = 1, .type = "", .to = UINT64_MAX};
    struct pprof_build *build = pprof_build_new();
    struct flame flame;
    struct bytes out;
    pprof_build_lines(build, false);
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_sample(build, (const int64_t[]){30}, (const char *const[]){"a", "b", NULL});
    pprof_build_label(build, "span_id", id_a);
    pprof_build_lines(build, true);
    pprof_build_sample(build, (const int64_t[]){10}, (const char *const[]){"a", "main", NULL});
    pprof_build_label(build, "span_id", id_a);
    struct bytes raw = pprof_build_raw(build);
    flame_init(&flame, &filter, NULL);
    flame_add_pprof(&flame, &(struct flame_source){.raw = bytes_view(&raw), .arrived = 7});
    flame_finish(&flame);
    ck_assert_int_eq(flame_total(&flame, 0), 40);
    ck_assert_str_eq(folded(&flame, &out),
                     "unknown!0x2000;unknown!0x1000 30\nmain;unknown!0x1000 10\n");
    bytes_release(&out);
    flame_release(&flame);
    bytes_release(&raw);
    pprof_build_free(build);
}
END_TEST

START_TEST(too_many_nodes_count_for_their_parents)
{
    struct budget budget;
    struct flame flame;
    const struct flame_filter filter = {.type = "", .to = UINT64_MAX};
    budget_init(&budget, 1 << 26);
    flame_init(&flame, &filter, &budget);
    for (uint32_t i = 0; i < FLAME_NODES + 100; i++) {
        uint32_t node = flame_child(&flame, 0, i + 2);
        flame_nodes(&flame)[node].self += 1;
    }
    flame_finish(&flame);
    ck_assert(flame.merged && !flame.truncated);
    ck_assert_int_eq(flame_total(&flame, 0), FLAME_NODES + 100);
    ck_assert_int_eq(flame_nodes(&flame)[0].self, 101);
    flame_release(&flame);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

static const char *ingested(const char *query, const char *type, struct view body,
                            struct flame *flame, struct bytes *out)
{
    const struct flame_filter filter = {.type = "", .to = UINT64_MAX};
    flame_init(flame, &filter, NULL);
    flame_add_ingest(flame, query, type, body, 7);
    flame_finish(flame);
    return folded(flame, out);
}

#define ALL(array)                                                                                 \
    {                                                                                              \
        (const uint8_t *)(array), sizeof(array) - 1                                                \
    }
#define TRIE_TYPE "binary/octet-stream+trie"

/* Both have main 1, main;work 3 and main;wait 2. */
static const char trie[] = "\0\0\1"
                           "\5main;\0\1"
                           "\1w\0\2"
                           "\3ork\3\0"
                           "\3ait\2\0";
static const char tree[] = "\0\0\1"
                           "\4main\1\2"
                           "\4work\3\0"
                           "\4wait\2\0";

START_TEST(text_formats_are_drawn)
{
    static const char sampled[] =
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"profiles\":[{"
        "\"type\":\"sampled\",\"name\":\"p\",\"unit\":\"milliseconds\",\"startValue\":0,"
        "\"samples\":[[0,1],[0],[0,1]],\"weights\":[1,2,0.5]},{\"type\":\"evented\","
        "\"name\":\"q\",\"unit\":\"milliseconds\",\"events\":[{\"type\":\"O\",\"at\":0,"
        "\"frame\":0},{\"type\":\"O\",\"at\":1,\"frame\":1},{\"type\":\"C\",\"at\":4,"
        "\"frame\":1},{\"type\":\"C\",\"at\":4,\"frame\":0}]}],"
        "\"shared\":{\"frames\":[{\"name\":\"m\\u0061in\"},{\"name\":\"work\"}]}}";
    static const struct {
        const char *query, *type;
        struct view body;
        const char *folded;
        uint64_t samples;
    } cases[] = {
        {"name=a.cpu&format=trie&sampleRate=100000", NULL, ALL(trie),
         "main;work 30000\nmain;wait 20000\n", 5},
        {"name=a.cpu&sampleRate=100000", TRIE_TYPE, ALL(trie), "main;work 30000\nmain;wait 20000\n",
         5},
        {"name=a.cpu&format=tree&sampleRate=100000", NULL, ALL(tree),
         "main 10000\nmain;work 30000\nmain;wait 20000\n", 6},
        {"name=a.inuse_space&format=lines",
         NULL,
         {(const uint8_t *)"a;b\na;b\na", 9},
         "a 1\na;b 2\n",
         3},
        {"name=a.cpu&format=speedscope", NULL, ALL(sampled), "main 3000000\nmain;work 4500000\n",
         5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct flame flame;
        struct bytes out;
        ck_assert_str_eq(ingested(cases[i].query, cases[i].type, cases[i].body, &flame, &out),
                         cases[i].folded);
        ck_assert_uint_eq(flame.samples, cases[i].samples);
        ck_assert(!flame.truncated);
        bytes_release(&out);
        flame_release(&flame);
    }
}
END_TEST

/* What a type of a recorded upload of the Java agent adds up to. */
static int64_t java_total(const char *type, struct view body, const char *content_type)
{
    const struct flame_filter filter = {.type = type, .to = UINT64_MAX};
    struct flame flame;
    flame_init(&flame, &filter, NULL);
    flame_add_ingest(&flame, "name=java&format=jfr&sampleRate=100", content_type, body, 7);
    flame_finish(&flame);
    int64_t total = flame_total(&flame, 0);
    ck_assert(!flame.truncated);
    flame_release(&flame);
    return total;
}

START_TEST(allocations_of_java_are_drawn)
{
    static uint8_t body[1 << 20];
    static const char *const types[] = {CPU_TYPE,
                                        "memory:alloc_in_new_tlab_objects:count:space:bytes",
                                        "memory:alloc_outside_tlab_objects:count:space:bytes",
                                        "memory:alloc_in_new_tlab_bytes:bytes:space:bytes",
                                        "memory:alloc_outside_tlab_bytes:bytes:space:bytes"};
    int64_t totals[5];
    char type[128];
    FILE *file = fopen(SOURCE_DIR "/tests/recorded/java/002-6.372-ingest.bin", "rb");
    ck_assert_ptr_nonnull(file);
    struct view all = {body, fread(body, 1, sizeof body, file)};
    fclose(file);
    size_t line = (size_t)((const uint8_t *)memchr(body, '\r', all.size) - body);
    snprintf(type, sizeof type, "multipart/form-data; boundary=%.*s", (int)line - 2,
             (const char *)body + 2);
    for (size_t i = 0; i < 5; i++)
        totals[i] = java_total(types[i], all, type);
    ck_assert_int_gt(totals[0], 0);
    ck_assert_int_eq(java_total("", all, type), totals[0]);
    ck_assert_int_eq(totals[1] + totals[2], 61); /* all that the recording has */
    ck_assert_int_gt(totals[3] + totals[4], 61 * 16);
}
END_TEST

START_TEST(a_text_is_of_the_service_without_the_type_in_its_name)
{
    static const struct {
        const char *query, *service;
        int64_t total;
    } cases[] = {
        {"name=a.cpu&sampleRate=100", "a", 30000000},
        {"name=a.cpu&sampleRate=100", "a.cpu", 0},
        {"name=a.itimer{service_name=b}&sampleRate=100", "b", 30000000},
        {"name=a&format=folded", "a", 30000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct flame_filter filter = {
            .service = cases[i].service, .type = "", .to = UINT64_MAX};
        struct flame flame;
        flame_init(&flame, &filter, NULL);
        flame_add_ingest(&flame, cases[i].query, NULL, VIEW("main;work 3\n"), 7);
        flame_finish(&flame);
        ck_assert_int_eq(flame_total(&flame, 0), cases[i].total);
        flame_release(&flame);
    }
}
END_TEST

/* Cut anywhere, or endless: what was read stays, and the answer says that something is missing. */
START_TEST(broken_nodes_are_cut)
{
    static uint8_t deep[6000];
    for (size_t i = 0; i < sizeof deep; i += 3)
        memcpy(deep + i, "\0\1\1", 3);
    for (size_t size = 0; size < sizeof tree - 1; size++) {
        struct flame flame;
        struct bytes out;
        struct view cut = {(const uint8_t *)tree, size};
        ingested("name=a.cpu&format=tree", NULL, cut, &flame, &out);
        ck_assert(flame.truncated);
        bytes_release(&out);
        flame_release(&flame);
        ingested("name=a.cpu&format=trie", NULL, (struct view){deep, sizeof deep - size}, &flame,
                 &out);
        ck_assert(flame.truncated);
        bytes_release(&out);
        flame_release(&flame);
    }
}
END_TEST

SUITE_MAIN("status flame", a_span_has_the_samples_that_name_it,
           an_id_may_be_asked_for_in_the_profiles_of_one_service,
           a_service_has_all_and_another_type_where_it_is_asked_for, names_are_text_in_every_format,
           cpu_time_of_another_type_is_told, the_type_of_cpu_time_that_has_most_is_known,
           a_type_without_values_gives_way_to_one_that_has_some, absurd_values_add_up,
           samples_without_a_stack_are_drawn,
           a_profile_whose_clock_is_wrong_is_drawn_where_it_counts, a_file_says_what_is_missing,
           its_svg_has_a_rectangle_for_each_frame_below_its_caller, its_pprof_has_the_same_totals,
           a_deep_stack_is_cut_at_its_leaf, too_many_nodes_count_for_their_parents,
           a_state_is_drawn_as_each_series_had_it_last, frames_without_symbols_are_drawn,
           text_formats_are_drawn, allocations_of_java_are_drawn,
           a_text_is_of_the_service_without_the_type_in_its_name, broken_nodes_are_cut)
