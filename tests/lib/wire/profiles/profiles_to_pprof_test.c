#include "lib/wire/profiles/profiles_to_pprof.h"

#include "lib/wire/codec/compress.h"
#include "lib/wire/pprof/pprof.h"
#include "pprof.pb-c.h"
#include "tests/support/pprof_build.h"
#include "tests/support/pprof_text.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define PACKED(field, ...) PB_MESSAGE(field, PB_RAW(__VA_ARGS__))
#define STRING(text)       PB_TEXT(5, text)
#define SPAN_BYTES         PB_MESSAGE(2, VIEW("\x00\xf0\x67\xaa\x0b\xa9\x02\xb7"))
#define SPAN               "00f067aa0ba902b7"
#define TRACE              "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"

/* Strings. */
enum { COUNT = 2, CPU, NANOSECONDS, OFF_CPU, WORK, MAIN, FILE_C, SERVICE, RIDE, SHOP, THREAD };
enum { BINARY = 13, BUILD_ID, FRAME_TYPE, SPAN_KEY, TRACE_KEY, EVENTS };
/* Attributes. */
enum { IS_RIDE = 1, IS_SHOP, THREAD_7, THREAD_TEXT, GNU, KERNEL, SPAN_TEXT, TRACE_TEXT, NO_LABEL };

static struct view attribute(uint8_t key, struct view value)
{
    return PB_MESSAGE(6, pb_varint(1, key), PB_MESSAGE(2, value));
}

/* Stack 1 is work (leaf), main; stack 2 a frame without symbols; stack 3 a kernel frame. */
static struct view dictionary_field(void)
{
    struct view strings = PB_JOIN(
        PB_EMPTY(5), STRING("samples"), STRING("count"), STRING("cpu"), STRING("nanoseconds"),
        STRING("off_cpu"), STRING("work"), STRING("main"), STRING("file.c"), STRING("service.name"),
        STRING("ride"), STRING("shop"), STRING("thread.name"), STRING("/bin/ride"));
    strings =
        PB_JOIN(strings, STRING("process.executable.build_id.gnu"), STRING("profile.frame.type"),
                STRING("span_id"), STRING("trace_id"), STRING("events"));
    struct view attributes =
        PB_JOIN(PB_EMPTY(6), attribute(SERVICE, pb_varint(8, RIDE)),
                attribute(SERVICE, PB_TEXT(1, "shop")), attribute(THREAD, pb_varint(3, 7)),
                attribute(THREAD, PB_TEXT(1, "worker")), attribute(BUILD_ID, PB_TEXT(1, "beef")),
                attribute(FRAME_TYPE, PB_TEXT(1, "kernel")), attribute(SPAN_KEY, PB_TEXT(1, SPAN)),
                attribute(TRACE_KEY, PB_TEXT(1, TRACE)), attribute(THREAD, pb_varint(2, 1)));
    struct view functions = PB_JOIN(
        PB_EMPTY(3), PB_MESSAGE(3, pb_varint(1, WORK), pb_varint(3, FILE_C), pb_varint(4, 10)),
        PB_MESSAGE(3, pb_varint(1, MAIN), pb_varint(3, FILE_C)));
    struct view locations =
        PB_JOIN(PB_EMPTY(2),
                PB_MESSAGE(2, pb_varint(1, 1), PB_MESSAGE(3, pb_varint(1, 1), pb_varint(2, 12))),
                PB_MESSAGE(2, pb_varint(1, 1), PB_MESSAGE(3, pb_varint(1, 2), pb_varint(2, 30))),
                PB_MESSAGE(2, pb_varint(1, 2), pb_varint(2, 4096)),
                PB_MESSAGE(2, pb_varint(1, 1), pb_varint(2, 8192), PACKED(4, KERNEL)));
    return PB_MESSAGE(
        2, PB_EMPTY(1), PB_MESSAGE(1, pb_varint(1, 4096), pb_varint(4, BINARY), PACKED(5, GNU)),
        PB_MESSAGE(1, pb_varint(2, 9)), locations, functions, PB_EMPTY(4),
        PB_MESSAGE(4, pb_fill(1, 16, 0xa1), SPAN_BYTES), PB_MESSAGE(4, SPAN_BYTES),
        PB_MESSAGE(4, pb_fill(1, 16, 0), pb_fill(2, 8, 0)), strings, attributes, PB_EMPTY(7),
        PB_MESSAGE(7, PACKED(1, 1, 2)), PB_MESSAGE(7, PACKED(1, 3)), PB_MESSAGE(7, PACKED(1, 4)));
}

static struct view request_with(struct view resource, struct view scope, struct view profiles)
{
    return PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(1, resource), PB_MESSAGE(2, scope, profiles)),
                   dictionary_field());
}

static struct view request_of(struct view profiles)
{
    return request_with(pb_attribute(1, "service.name", "ride"), VIEW(""), profiles);
}

/* samples/count with a period of 10 ms of cpu, like the eBPF profiler. */
static struct view cpu_profile(struct view samples)
{
    return PB_MESSAGE(2, PB_MESSAGE(1, pb_varint(1, 1), pb_varint(2, COUNT)), samples,
                      pb_fixed64(3, 1700000000000000000), pb_varint(4, 5000000000),
                      PB_MESSAGE(5, pb_varint(1, CPU), pb_varint(2, NANOSECONDS)),
                      pb_varint(6, 10000000));
}

/* Everything made from a request; each made[i] and its text live until the process ends. */
static struct made {
    struct profiles_part part;
    struct bytes raw;
    char text[4096];
} made[16];
static size_t made_count;
static const char *fault;

static void forget(void)
{
    while (made_count > 0) {
        struct made *each = &made[--made_count];
        bytes_release(&each->raw);
        series_unref(each->part.series);
    }
}

static void check_pprof(struct made *each)
{
    struct pprof pprof;
    struct proto_fault broken;
    struct arena arena;
    arena_init(&arena, 1 << 22);
    ck_assert_msg(pprof_open(&pprof, bytes_view(&each->raw), &arena, &broken), "%s", broken.reason);
    ck_assert_uint_eq(pprof.sample_count, each->part.samples);
    arena_release(&arena);
    struct bytes text = pprof_text(bytes_view(&each->raw), true);
    snprintf(each->text, sizeof each->text, "%.*s", VIEW_ARG(bytes_view(&text)));
    bytes_release(&text);
}

static void convert_by(struct view request, struct profiles_policy policy)
{
    struct profiles_to_pprof conversion;
    struct proto_fault broken;
    struct arena arena;
    uint32_t items;
    ck_assert_msg(otlp_check(SIGNAL_PROFILES, request, &items, &broken), "%s in %s", broken.reason,
                  broken.message);
    arena_init(&arena, 1 << 24);
    forget();
    ck_assert_msg(profiles_to_pprof_begin(&conversion, request, &policy, &arena, &fault), "%s",
                  fault);
    for (bool more = true; more;) {
        struct made *each = &made[made_count];
        ck_assert_uint_lt(made_count, 15);
        bytes_init(&each->raw, 1 << 20, NULL);
        more = profiles_to_pprof_next(&conversion, &each->part, &each->raw, &fault);
        ck_assert_int_eq(more, each->raw.size > 0);
        if (more)
            check_pprof(&made[made_count++]);
        else
            bytes_release(&each->raw);
    }
    arena_release(&arena);
}

static void convert(struct view request)
{
    convert_by(request, (struct profiles_policy){.trace_ids = true});
    ck_assert_msg(!fault, "%s", fault);
}

static void has_text(size_t index, const char *text)
{
    ck_assert_uint_lt(index, made_count);
    ck_assert_msg(strstr(made[index].text, text), "no '%s' in:\n%s", text, made[index].text);
}

static void has_no_text(size_t index, const char *text)
{
    ck_assert_msg(!strstr(made[index].text, text), "'%s' in:\n%s", text, made[index].text);
}

static void has_label(size_t index, const char *name, const char *value)
{
    struct view got = series_get(made[index].part.series, view_of(name));
    ck_assert_msg(value ? got.data && view_eq(got, view_of(value)) : !got.data, "%s is %.*s", name,
                  VIEW_ARG(got));
}

START_TEST(samples_of_cpu_count_their_period)
{
    convert(request_of(cpu_profile(PB_JOIN(PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 3))))));
    ck_assert_uint_eq(made_count, 1);
    has_label(0, "__name__", "process_cpu");
    has_text(0, "type cpu in nanoseconds period cpu in nanoseconds of 10000000 ");
    has_text(0, "duration 5000000000 ");
    has_text(0, "default cpu ");
    has_text(0, "time 1700000000000000000 ");
    has_text(0, "value 30000000 mapping /bin/ride function work in file.c line 12 mapping "
                "/bin/ride function main in file.c line 30 \n");
}
END_TEST

START_TEST(timestamps_without_values_count_as_one_each)
{
    struct view times = PB_MESSAGE(5, pb_fill(1, 24, 1));
    struct view three = PB_MESSAGE(5, ((struct view){times.data + 4, 24}));
    convert(request_of(cpu_profile(PB_JOIN(PB_MESSAGE(2, pb_varint(1, 1), three),
                                           PB_MESSAGE(2, pb_varint(1, 1), pb_fixed64(5, 9)),
                                           PB_MESSAGE(2, pb_varint(1, 1))))));
    ck_assert_uint_eq(made[0].part.samples, 2);
    has_text(0, "value 30000000 ");
    has_text(0, "value 10000000 ");
}
END_TEST

START_TEST(several_values_of_a_sample_are_summed)
{
    struct view off_cpu = PB_MESSAGE(1, pb_varint(1, OFF_CPU), pb_varint(2, NANOSECONDS));
    struct view sample =
        PB_MESSAGE(2, pb_varint(1, 2), PACKED(4, 5, 6), pb_fixed64(5, 1), pb_fixed64(5, 2));
    convert(request_of(PB_MESSAGE(2, off_cpu, sample)));
    has_label(0, "__name__", "off_cpu");
    has_text(0, "type off_cpu in nanoseconds ");
    has_text(0, "duration 10000000000 ");
    has_text(0, "value 11 ");
}
END_TEST

START_TEST(the_period_names_any_other_profile)
{
    struct view sample = PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 5));
    struct view type = PB_MESSAGE(1, pb_varint(1, EVENTS), pb_varint(2, COUNT));
    struct view period = PB_MESSAGE(5, pb_varint(1, OFF_CPU));
    convert(request_of(PB_JOIN(PB_MESSAGE(2, type, sample, period, pb_varint(6, 1)),
                               PB_MESSAGE(2, type, sample, period), PB_MESSAGE(2, type, sample))));
    ck_assert_uint_eq(made_count, 3);
    has_label(0, "__name__", "off_cpu");
    has_label(1, "__name__", "process_cpu");
    has_label(2, "__name__", "process_cpu");
    has_text(2, "type events in count ");
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(made[i].part.profile, i);
}
END_TEST

START_TEST(a_link_becomes_labels)
{
    struct view linked = PB_MESSAGE(2, pb_varint(1, 1), pb_varint(3, 1), PACKED(4, 1));
    struct view untraced = PB_MESSAGE(2, pb_varint(1, 1), pb_varint(3, 2), PACKED(4, 2));
    struct view zero = PB_MESSAGE(2, pb_varint(1, 1), pb_varint(3, 3), PACKED(4, 3));
    struct view request = request_of(cpu_profile(PB_JOIN(linked, untraced, zero, linked)));
    convert(request);
    has_text(0, "line 30 label span_id = " SPAN " or 0 unit  label trace_id = " TRACE
                " or 0 unit  \nvalue 20000000 ");
    has_text(0, "line 30 label span_id = " SPAN " or 0 unit  \nvalue 30000000 ");
    has_text(0, "line 30 \nvalue 10000000 ");
    convert_by(request, (struct profiles_policy){.trace_ids = false});
    has_text(0, "label span_id = " SPAN " ");
    has_no_text(0, "trace_id");
}
END_TEST

START_TEST(attributes_of_samples_become_labels)
{
    struct view many = PACKED(2, THREAD_7, THREAD_TEXT, NO_LABEL, SPAN_TEXT, TRACE_TEXT, 0);
    struct view plain = PB_MESSAGE(2, pb_varint(1, 1), many, PACKED(4, 1));
    struct view linked = PB_MESSAGE(2, pb_varint(1, 1), many, pb_varint(3, 1), PACKED(4, 2));
    struct view request = request_of(cpu_profile(PB_JOIN(plain, linked)));
    convert(request);
    has_text(0,
             "value 10000000 mapping /bin/ride function work in file.c line 12 mapping /bin/ride "
             "function main in file.c line 30 label thread.name = 7 or 0 unit  label "
             "thread.name = worker or 0 unit  label span_id = " SPAN
             " or 0 unit  label trace_id = " TRACE " or 0 unit  \n");
    /* The link and the labels agree. */
    has_text(0, "line 30 label span_id = " SPAN " or 0 unit  label trace_id = " TRACE
                " or 0 unit  label thread.name = 7 or 0 unit  label thread.name = worker or 0 unit "
                " \n");
    convert_by(request, (struct profiles_policy){.trace_ids = false});
    has_no_text(0, "trace_id");
}
END_TEST

START_TEST(attributes_of_resource_and_scope_become_series_labels)
{
    struct view list = PB_MESSAGE(5, PB_MESSAGE(1, PB_TEXT(1, "only")));
    struct view two = PB_MESSAGE(5, PB_MESSAGE(1, PB_TEXT(1, "a")), PB_MESSAGE(1, PB_TEXT(1, "b")));
    struct view resource = PB_JOIN(
        pb_attribute(1, "service.name", "ride"), pb_attribute(1, "region", "eu"),
        PB_MESSAGE(1, PB_TEXT(1, "pid"), PB_MESSAGE(2, pb_varint(3, (uint64_t)-7))),
        PB_MESSAGE(1, PB_TEXT(1, "list"), PB_MESSAGE(2, list)),
        PB_MESSAGE(1, PB_TEXT(1, "two"), PB_MESSAGE(2, two)),
        PB_MESSAGE(1, PB_TEXT(1, "flag"), PB_MESSAGE(2, pb_varint(2, 1))),
        pb_attribute(1, "empty", ""), pb_attribute(1, "__name__", "mine"),
        pb_attribute(1, "__delta__", "mine"),
        PB_MESSAGE(1, pb_varint(3, THREAD), PB_MESSAGE(2, pb_varint(8, WORK))),
        PB_MESSAGE(1, PB_TEXT(1, "inline"), PB_MESSAGE(2, PB_TEXT(1, "yes")), pb_varint(3, 0)));
    struct view scope = PB_MESSAGE(1, PB_TEXT(1, "scope name"), pb_attribute(3, "region", "us"),
                                   pb_attribute(3, "library", "x"));
    convert(
        request_with(resource, scope, cpu_profile(PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 1)))));
    static const char *const want[][2] = {
        {"__delta__", "false"},   {"__otel__", "true"},    {"__name__", "process_cpu"},
        {"service.name", "ride"}, {"region", "eu"},        {"pid", "-7"},
        {"list", "only"},         {"thread.name", "work"}, {"inline", "yes"},
        {"library", "x"},         {"service_name", "ride"}};
    const size_t count = sizeof want / sizeof *want;
    const struct series *series = made[0].part.series;
    ck_assert_uint_eq(series->count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert(view_eq(series->labels[i].name, view_of(want[i][0])));
        ck_assert(view_eq(series->labels[i].value, view_of(want[i][1])));
    }
}
END_TEST

START_TEST(the_service_is_named_by_rule)
{
    struct view one = cpu_profile(PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 1)));
    convert(request_with(VIEW(""), VIEW(""), one));
    has_label(0, "service_name", "unknown_service");
    convert(request_with(pb_attribute(1, "process.executable.name", "ride"), VIEW(""), one));
    has_label(0, "service_name", "unknown_service:ride");
    convert(request_with(
        PB_JOIN(pb_attribute(1, "service.name", "a"), pb_attribute(1, "service_name", "b")),
        VIEW(""), one));
    has_label(0, "service_name", "b");
    ck_assert_uint_eq(made[0].part.series->count, 5);
}
END_TEST

START_TEST(samples_that_name_their_service_get_a_pprof_of_their_own)
{
    struct view ride = PB_MESSAGE(2, pb_varint(1, 1), PACKED(2, IS_RIDE), PACKED(4, 1));
    struct view shop = PB_MESSAGE(2, pb_varint(1, 1), PACKED(2, IS_SHOP, THREAD_7), PACKED(4, 2));
    struct view none = PB_MESSAGE(2, pb_varint(1, 2), PACKED(4, 3));
    struct view one = cpu_profile(PB_JOIN(shop, none, ride, shop));
    convert(request_with(pb_attribute(1, "service.name", "host"), VIEW(""),
                         PB_JOIN(one, cpu_profile(ride))));
    static const char *const services[] = {"shop", "host", "ride", "ride"};
    ck_assert_uint_eq(made_count, 4);
    for (size_t i = 0; i < 4; i++) {
        has_label(i, "service_name", services[i]);
        has_no_text(i, "service.name");
        ck_assert_uint_eq(made[i].part.profile, i == 3);
        ck_assert_uint_eq(made[i].part.samples, i == 0 ? 2 : 1);
    }
    has_text(0, "value 20000000 ");
    has_text(0, "label thread.name = 7 ");
    has_no_text(1, "work");
}
END_TEST

static Perftools__Profiles__Profile *profile;

static void unpack(size_t index)
{
    if (profile)
        perftools__profiles__profile__free_unpacked(profile, NULL);
    profile =
        perftools__profiles__profile__unpack(NULL, made[index].raw.size, made[index].raw.data);
    ck_assert_ptr_nonnull(profile);
}

START_TEST(mappings_are_kept_with_their_build_id_and_flags)
{
    convert(request_of(cpu_profile(PB_JOIN(PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 1)),
                                           PB_MESSAGE(2, pb_varint(1, 2), PACKED(4, 1)),
                                           PB_MESSAGE(2, pb_varint(1, 3), PACKED(4, 1))))));
    unpack(0);
    ck_assert_uint_eq(profile->n_mapping, 2);
    ck_assert_uint_eq(profile->n_location, 4);
    ck_assert_uint_eq(profile->n_function, 2);
    const Perftools__Profiles__Mapping *first = profile->mapping[0];
    ck_assert_uint_eq(first->memory_start, 4096);
    ck_assert_str_eq(profile->string_table[first->build_id], "beef");
    /* One location without lines, here the kernel's, is enough, as in the server. */
    ck_assert(!first->has_functions && !first->has_filenames && !first->has_line_numbers);
    ck_assert(!first->has_inline_frames);
    ck_assert_uint_eq(profile->mapping[1]->memory_limit, 9);
    ck_assert(!profile->mapping[1]->has_functions);
    /* Kernel frames have their own mapping and its name, as in the server. */
    ck_assert_str_eq(profile->string_table[profile->mapping[0]->filename], "/bin/ride");
    ck_assert_uint_eq(profile->location[3]->mapping_id, 1);
    ck_assert_uint_eq(profile->location[3]->address, 8192);
}
END_TEST

START_TEST(a_mapping_has_the_flags_that_all_its_locations_allow)
{
    convert(request_of(cpu_profile(PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 1)))));
    unpack(0);
    const Perftools__Profiles__Mapping *first = profile->mapping[0];
    ck_assert(first->has_functions && first->has_filenames && first->has_line_numbers);
    ck_assert(!first->has_inline_frames);
}
END_TEST

START_TEST(tables_hold_only_what_the_samples_name)
{
    struct view first = cpu_profile(PB_MESSAGE(2, pb_varint(1, 2), PACKED(4, 1)));
    struct view second = cpu_profile(PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 1)));
    convert(request_of(PB_JOIN(first, second, first)));
    unpack(0);
    ck_assert_uint_eq(profile->n_location, 1);
    ck_assert_uint_eq(profile->n_function, 0);
    unpack(1);
    ck_assert_uint_eq(profile->n_location, 2);
    ck_assert(view_eq(bytes_view(&made[0].raw), bytes_view(&made[2].raw)));
}
END_TEST

START_TEST(a_profile_without_a_time_gets_the_one_given)
{
    struct view sample = PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 1));
    struct view request = request_of(PB_MESSAGE(2, PB_MESSAGE(1, pb_varint(1, CPU)), sample));
    convert_by(request, (struct profiles_policy){.now_ns = 1234567});
    has_text(0, "time 1234567 ");
    convert_by(request, (struct profiles_policy){.now_ns = 0});
    has_text(0, "time 0 ");
}
END_TEST

static struct view payload_of(const struct bytes *pprof, struct view samples)
{
    return PB_MESSAGE(2, PB_MESSAGE(1, pb_varint(1, 1), pb_varint(2, COUNT)), samples,
                      pb_fixed64(3, 77), PB_TEXT(9, "pprof"), PB_MESSAGE(10, bytes_view(pprof)));
}

static struct bytes original(const char *span, bool gzip)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_sample(build, (const int64_t[]){1, 2}, (const char *const[]){"original", NULL});
    if (span)
        pprof_build_label(build, "profile_id", span);
    pprof_build_label(build, "trace_id", TRACE);
    struct bytes raw = gzip ? pprof_build_gzip(build) : pprof_build_raw(build);
    pprof_build_free(build);
    return raw;
}

START_TEST(an_original_pprof_is_used)
{
    struct bytes raw = original(SPAN, false);
    struct bytes gzip = original(SPAN, true);
    struct view sample = PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 1));
    convert(request_of(PB_JOIN(payload_of(&raw, sample), payload_of(&raw, sample),
                               payload_of(&gzip, VIEW("")), cpu_profile(sample))));
    ck_assert_uint_eq(made_count, 3);
    for (size_t i = 0; i < 2; i++) {
        ck_assert(made[i].part.original);
        has_label(i, "__name__", "process_cpu");
        has_label(i, "service_name", "ride");
        has_text(i, "function original ");
        has_text(i, "type samples in count type cpu in nanoseconds ");
        has_text(i, "label span_id = " SPAN " or 0 unit  label trace_id = " TRACE);
        has_text(i, "time 77 ");
    }
    ck_assert_uint_eq(made[1].part.profile, 2);
    ck_assert(!made[2].part.original);
    convert_by(request_of(payload_of(&raw, sample)), (struct profiles_policy){.trace_ids = false});
    has_no_text(0, "trace_id");
    bytes_release(&raw);
    bytes_release(&gzip);
}
END_TEST

START_TEST(an_original_that_says_less_is_not_used)
{
    struct bytes raw = original(NULL, false), broken = raw;
    struct bytes whole = original(SPAN, false);
    struct view plain = PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 1));
    struct view linked = PB_MESSAGE(2, pb_varint(1, 1), pb_varint(3, 1), PACKED(4, 1));
    struct view service = PB_MESSAGE(2, pb_varint(1, 1), PACKED(2, IS_SHOP), PACKED(4, 1));
    broken.size--;
    const struct view profiles[] = {payload_of(&raw, linked), payload_of(&broken, plain),
                                    payload_of(&raw, service),
                                    payload_of(&(struct bytes){0}, plain)};
    for (size_t i = 0; i < 4; i++) {
        convert(request_of(profiles[i]));
        ck_assert_uint_eq(made_count, 1);
        ck_assert(!made[0].part.original);
        has_text(0, "function work ");
    }
    convert(request_of(payload_of(&whole, linked)));
    ck_assert(made[0].part.original);
    bytes_release(&raw);
    bytes_release(&whole);
}
END_TEST

START_TEST(text_that_is_not_utf_8_is_mended)
{
    struct view resource = pb_attribute(1, "service.name", "ride");
    struct view dictionary = PB_MESSAGE(2, PB_EMPTY(5), PB_TEXT(5, "c\xffpu"), PB_EMPTY(7));
    struct view one = PB_MESSAGE(2, PB_MESSAGE(1, pb_varint(1, 1)), PB_MESSAGE(2, PACKED(4, 1)));
    convert(PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(1, resource), PB_MESSAGE(2, one)), dictionary));
    has_text(0, "type c\xef\xbf\xbdpu in ");
}
END_TEST

START_TEST(an_index_outside_its_table_is_refused)
{
    struct profiles_to_pprof conversion;
    struct profiles_policy policy = {0};
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct view request = request_of(cpu_profile(PB_MESSAGE(2, pb_varint(1, 99), PACKED(4, 1))));
    ck_assert(!profiles_to_pprof_begin(&conversion, request, &policy, &arena, &fault));
    ck_assert_ptr_nonnull(strstr(fault, "stack"));
    arena_release(&arena);
}
END_TEST

START_TEST(a_hostile_request_does_not_multiply)
{
    static struct view profiles[2000];
    struct view one =
        PB_MESSAGE(2, PB_MESSAGE(1, pb_varint(1, 1)), PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 1)));
    for (size_t i = 0; i < 2000; i++)
        profiles[i] = one;
    struct view dictionary =
        PB_MESSAGE(2, PB_EMPTY(2), PB_MESSAGE(2, pb_varint(2, 1)), PB_EMPTY(5), PB_TEXT(5, "cpu"),
                   PB_EMPTY(7), PB_MESSAGE(7, pb_fill(1, 300000, 1)));
    struct view request =
        PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(2, pb_join(profiles, 2000))), dictionary);
    struct profiles_to_pprof conversion;
    struct profiles_policy policy = {0};
    struct profiles_part part;
    struct arena arena;
    struct bytes raw;
    size_t written = 0;
    arena_init(&arena, 1 << 24);
    bytes_init(&raw, 1 << 24, NULL);
    ck_assert(profiles_to_pprof_begin(&conversion, request, &policy, &arena, &fault));
    while (profiles_to_pprof_next(&conversion, &part, &raw, &fault)) {
        written += raw.size;
        series_unref(part.series);
    }
    ck_assert_ptr_nonnull(fault);
    ck_assert_uint_lt(written, 300 * request.size);
    ck_assert(!profiles_to_pprof_next(&conversion, &part, &raw, &fault));
    ck_assert_ptr_null(fault);
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

START_TEST(nor_does_a_resource_with_many_scopes)
{
    static struct view scopes[3000];
    struct view scope = PB_MESSAGE(2, cpu_profile(PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 1))));
    for (size_t i = 0; i < 3000; i++)
        scopes[i] = scope;
    struct view request =
        PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(1, pb_fill(9, 1000000, 'x')), pb_join(scopes, 3000)),
                dictionary_field());
    struct profiles_to_pprof conversion;
    struct profiles_policy policy = {0};
    struct profiles_part part;
    struct arena arena;
    struct bytes raw;
    unsigned parts = 0;
    arena_init(&arena, 1 << 24);
    bytes_init(&raw, 1 << 24, NULL);
    ck_assert(profiles_to_pprof_begin(&conversion, request, &policy, &arena, &fault));
    for (; profiles_to_pprof_next(&conversion, &part, &raw, &fault); parts++)
        series_unref(part.series);
    ck_assert_ptr_nonnull(fault);
    ck_assert_uint_lt(parts, 400);
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

START_TEST(a_payload_that_inflates_past_its_room_is_not_used)
{
    static uint8_t zeros[4 << 20];
    struct bytes bomb;
    bytes_init(&bomb, 8 << 20, NULL);
    ck_assert(deflate_append(ENCODING_GZIP, (struct view){zeros, sizeof zeros}, &bomb));
    convert(request_of(payload_of(&bomb, PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 1)))));
    ck_assert_uint_eq(made_count, 1);
    ck_assert(!made[0].part.original);
    bytes_release(&bomb);
}
END_TEST

START_TEST(after_a_profile_without_room_the_next_one_follows)
{
    struct view big = cpu_profile(PB_MESSAGE(2, pb_varint(1, 1), PACKED(4, 1)));
    struct view small = PB_MESSAGE(2, PB_MESSAGE(2, PACKED(4, 1)));
    struct profiles_to_pprof conversion;
    struct profiles_policy policy = {0};
    struct profiles_part part;
    struct arena arena;
    struct bytes raw;
    arena_init(&arena, 1 << 20);
    bytes_init(&raw, 60, NULL);
    ck_assert(profiles_to_pprof_begin(&conversion, request_of(PB_JOIN(big, small)), &policy, &arena,
                                      &fault));
    ck_assert(!profiles_to_pprof_next(&conversion, &part, &raw, &fault));
    ck_assert_ptr_nonnull(fault);
    ck_assert_uint_eq(part.profile, 0);
    ck_assert(profiles_to_pprof_next(&conversion, &part, &raw, &fault));
    ck_assert_uint_eq(part.profile, 1);
    series_unref(part.series);
    ck_assert(!profiles_to_pprof_next(&conversion, &part, &raw, &fault));
    ck_assert_ptr_null(fault);
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

START_TEST(a_small_arena_is_a_clean_failure)
{
    struct bytes payload = original(SPAN, false);
    struct view ride = PB_MESSAGE(2, pb_varint(1, 3), PACKED(2, IS_RIDE, THREAD_7), PACKED(4, 1));
    struct view shop =
        PB_MESSAGE(2, pb_varint(1, 1), PACKED(2, IS_SHOP), pb_varint(3, 1), PACKED(4, 2));
    struct view request =
        request_of(PB_JOIN(cpu_profile(PB_JOIN(ride, shop)), payload_of(&payload, VIEW(""))));
    struct profiles_policy policy = {.trace_ids = true};
    for (size_t cap = 0, parts = 0; parts < 3; cap += 16) {
        struct profiles_to_pprof conversion;
        struct profiles_part part;
        struct arena arena;
        struct bytes raw;
        arena_init(&arena, cap);
        bytes_init(&raw, 1 << 20, NULL);
        parts = 0;
        if (profiles_to_pprof_begin(&conversion, request, &policy, &arena, &fault))
            for (bool more = true; more;) {
                more = profiles_to_pprof_next(&conversion, &part, &raw, &fault);
                parts += more;
                if (more)
                    series_unref(part.series);
            }
        else
            ck_assert_str_eq(fault, "too large");
        arena_release(&arena);
        bytes_release(&raw);
        ck_assert_uint_lt(cap, 1 << 17);
    }
    bytes_release(&payload);
}
END_TEST

SUITE_MAIN("profiles_to_pprof", samples_of_cpu_count_their_period,
           timestamps_without_values_count_as_one_each, several_values_of_a_sample_are_summed,
           the_period_names_any_other_profile, a_link_becomes_labels,
           attributes_of_samples_become_labels,
           attributes_of_resource_and_scope_become_series_labels, the_service_is_named_by_rule,
           samples_that_name_their_service_get_a_pprof_of_their_own,
           mappings_are_kept_with_their_build_id_and_flags,
           a_mapping_has_the_flags_that_all_its_locations_allow,
           tables_hold_only_what_the_samples_name, a_profile_without_a_time_gets_the_one_given,
           an_original_pprof_is_used, an_original_that_says_less_is_not_used,
           text_that_is_not_utf_8_is_mended, an_index_outside_its_table_is_refused,
           a_hostile_request_does_not_multiply, nor_does_a_resource_with_many_scopes,
           a_payload_that_inflates_past_its_room_is_not_used,
           after_a_profile_without_room_the_next_one_follows, a_small_arena_is_a_clean_failure)
