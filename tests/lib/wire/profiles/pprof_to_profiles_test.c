#include "lib/wire/profiles/pprof_to_profiles.h"

#include "lib/wire/profiles/otlp_profiles.h"
#include "opentelemetry/proto/collector/profiles/v1development/profiles_service.pb-c.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/pprof_build.h"
#include "tests/support/pprof_random.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

typedef Opentelemetry__Proto__Collector__Profiles__V1development__ExportProfilesServiceRequest
    Request;
typedef Opentelemetry__Proto__Profiles__V1development__Profile Profile;
typedef Opentelemetry__Proto__Profiles__V1development__Sample Sample;
typedef Opentelemetry__Proto__Profiles__V1development__KeyValueAndUnit Attribute;
typedef Opentelemetry__Proto__Profiles__V1development__ProfilesDictionary Dictionary;
typedef Opentelemetry__Proto__Common__V1__AnyValue AnyValue;

#define START INT64_C(1700000000000000000)
#define SPAN  "00f067aa0ba902b7"
#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"

static struct arena arena;
static struct bytes out;
static struct bytes raw;
static struct series *series;
static Request *request;
static const Dictionary *dictionary;

/* Releases the input and output of the last conversion. */
static void forget(void)
{
    if (request)
        protobuf_c_message_free_unpacked(&request->base, NULL);
    request = NULL;
    arena_release(&arena);
    bytes_release(&out);
}

/* Converts a profile with these labels; the result must pass the check. */
static void convert_labelled(struct view profile, bool by_ingest)
{
    struct pprof pprof;
    struct proto_fault fault;
    struct otlp_dictionary opened;
    const char *reason;
    uint32_t items;
    forget();
    arena_init(&arena, 64 << 20);
    bytes_init(&out, 64 << 20, NULL);
    ck_assert_msg(pprof_open(&pprof, profile, &arena, &fault), "%s", fault.reason);
    struct pprof_source source = {&pprof, series, by_ingest};
    ck_assert_msg(pprof_to_profiles(&source, &arena, &out, &reason), "%s", reason);
    ck_assert_msg(otlp_check(SIGNAL_PROFILES, bytes_view(&out), &items, &fault), "%s in %s",
                  fault.reason, fault.message);
    ck_assert_uint_eq(items, pprof.type_count);
    ck_assert_msg(otlp_dictionary_open(&opened, bytes_view(&out), &arena, &reason), "%s", reason);
    request = (Request *)otlp_reference_read(SIGNAL_PROFILES, bytes_view(&out));
    ck_assert_ptr_nonnull(request);
    dictionary = request->dictionary;
}

static void set_labels(const char *name)
{
    const char *reason;
    series_unref(series);
    series = series_parse(view_of(name), &reason);
    ck_assert_msg(series != NULL, "%s", reason);
}

/* Takes ownership of the build. */
static void convert(struct pprof_build *build)
{
    bytes_release(&raw);
    raw = pprof_build_raw(build);
    pprof_build_free(build);
    set_labels("process_cpu{service_name=ride,region=eu,__session_id__=x}");
    convert_labelled(bytes_view(&raw), false);
}

static const Profile *profile_at(size_t index)
{
    ck_assert_uint_eq(request->n_resource_profiles, 1);
    ck_assert_uint_eq(request->resource_profiles[0]->n_scope_profiles, 1);
    ck_assert_uint_lt(index, request->resource_profiles[0]->scope_profiles[0]->n_profiles);
    return request->resource_profiles[0]->scope_profiles[0]->profiles[index];
}

static const char *string(int32_t index)
{
    ck_assert_int_lt(index, (int32_t)dictionary->n_string_table);
    return dictionary->string_table[index];
}

static struct pprof_build *cpu_build(void)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_period(build, "cpu", "nanoseconds", 10000000);
    pprof_build_time(build, START, 15000000000);
    return build;
}

static void add_sample(struct pprof_build *build, int64_t count)
{
    pprof_build_sample(build, (const int64_t[]){count, count * 10000000},
                       (const char *const[]){"work", "main", NULL});
}

/* The attribute of a list with this key; NULL: none. */
static const Attribute *attribute_of(const int32_t *indices, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_gt(indices[i], 0);
        const Attribute *attribute = dictionary->attribute_table[indices[i]];
        if (strcmp(string(attribute->key_strindex), key) == 0)
            return attribute;
    }
    return NULL;
}

static const char *text_of(const Sample *sample, const char *key)
{
    const Attribute *attribute =
        attribute_of(sample->attribute_indices, sample->n_attribute_indices, key);
    return attribute ? attribute->value->string_value : NULL;
}

START_TEST(each_sample_type_is_a_profile)
{
    struct pprof_build *build = cpu_build();
    add_sample(build, 3);
    add_sample(build, 4);
    convert(build);
    ck_assert_uint_eq(request->resource_profiles[0]->scope_profiles[0]->n_profiles, 2);
    static const char *const want[][2] = {{"samples", "count"}, {"cpu", "nanoseconds"}};
    for (size_t i = 0; i < 2; i++) {
        const Profile *profile = profile_at(i);
        ck_assert_str_eq(string(profile->sample_type->type_strindex), want[i][0]);
        ck_assert_str_eq(string(profile->sample_type->unit_strindex), want[i][1]);
        ck_assert_str_eq(string(profile->period_type->type_strindex), "cpu");
        ck_assert_str_eq(string(profile->period_type->unit_strindex), "nanoseconds");
        ck_assert_int_eq(profile->period, 10000000);
        ck_assert_uint_eq(profile->time_unix_nano, START);
        ck_assert_uint_eq(profile->duration_nano, 15000000000);
        ck_assert_uint_eq(profile->n_samples, 2);
        ck_assert_int_eq(profile->samples[1]->values[0], i ? 40000000 : 4);
        ck_assert_uint_eq(profile->samples[0]->n_values, 1);
    }
}
END_TEST

START_TEST(equal_stacks_share_one_entry_with_the_leaf_first)
{
    struct pprof_build *build = cpu_build();
    add_sample(build, 1);
    add_sample(build, 2);
    convert(build);
    const Profile *profile = profile_at(0);
    ck_assert_int_eq(profile->samples[0]->stack_index, profile->samples[1]->stack_index);
    const Opentelemetry__Proto__Profiles__V1development__Stack *stack =
        dictionary->stack_table[profile->samples[0]->stack_index];
    ck_assert_uint_eq(stack->n_location_indices, 2);
    const Opentelemetry__Proto__Profiles__V1development__Location *leaf =
        dictionary->location_table[stack->location_indices[0]];
    int32_t function = leaf->lines[0]->function_index;
    ck_assert_str_eq(string(dictionary->function_table[function]->name_strindex), "work");
}
END_TEST

START_TEST(index_0_of_every_table_means_not_set)
{
    struct pprof_build *build = cpu_build();
    add_sample(build, 1);
    convert(build);
    struct proto_field field;
    ck_assert(proto_find(bytes_view(&out), 2, WIRE_LEN, &field));
    bool met[8] = {false};
    struct proto_scan scan = proto_scan_begin(field.bytes);
    while (proto_scan_next(&scan, &field)) {
        ck_assert_msg(met[field.number] || field.bytes.size == 0, "table %u", field.number);
        met[field.number] = true;
    }
    for (unsigned table = 1; table <= 7; table++)
        ck_assert_msg(met[table], "table %u", table);
}
END_TEST

START_TEST(a_span_id_becomes_a_link)
{
    static const uint8_t span[] = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7};
    static const uint8_t trace[] = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
                                    0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};
    static const uint8_t zeros[16];
    struct pprof_build *build = cpu_build();
    add_sample(build, 1);
    pprof_build_label(build, "span_id", SPAN);
    pprof_build_label(build, "trace_id", TRACE);
    add_sample(build, 2);
    pprof_build_label(build, "profile_id", "00F067AA0BA902B7");
    add_sample(build, 3);
    pprof_build_label(build, "span_id", SPAN);
    add_sample(build, 4);
    convert(build);
    Sample *const *samples = profile_at(1)->samples;
    for (size_t i = 0; i < 3; i++) {
        const Opentelemetry__Proto__Profiles__V1development__Link *link =
            dictionary->link_table[samples[i]->link_index];
        ck_assert_uint_eq(link->span_id.len, 8);
        ck_assert_uint_eq(link->trace_id.len, 16);
        ck_assert_mem_eq(link->span_id.data, span, 8);
        ck_assert_mem_eq(link->trace_id.data, i == 0 ? trace : zeros, 16);
        ck_assert_uint_eq(samples[i]->n_attribute_indices, 0);
    }
    ck_assert_int_eq(samples[1]->link_index, samples[2]->link_index);
    ck_assert_int_ne(samples[0]->link_index, samples[1]->link_index);
    ck_assert_int_eq(samples[3]->link_index, 0);
    ck_assert_uint_eq(dictionary->n_link_table, 3);
}
END_TEST

START_TEST(what_is_no_span_id_stays_an_attribute)
{
    static const char *const ids[] = {"0000000000000000", "00f067aa0ba902b", "00f067aa0ba902bg",
                                      "x"};
    struct pprof_build *build = cpu_build();
    for (size_t i = 0; i < 4; i++) {
        add_sample(build, 1);
        pprof_build_label(build, "span_id", ids[i]);
        pprof_build_label(build, "trace_id", TRACE);
    }
    add_sample(build, 1);
    pprof_build_label(build, "span_id", SPAN);
    pprof_build_label(build, "trace_id", "short");
    convert(build);
    for (size_t i = 0; i < 4; i++) {
        const Sample *sample = profile_at(0)->samples[i];
        ck_assert_int_eq(sample->link_index, 0);
        ck_assert_str_eq(text_of(sample, "span_id"), ids[i]);
        ck_assert_str_eq(text_of(sample, "trace_id"), TRACE);
    }
    const Sample *last = profile_at(0)->samples[4];
    ck_assert_int_ne(last->link_index, 0);
    ck_assert_str_eq(text_of(last, "trace_id"), "short");
    ck_assert_ptr_null(text_of(last, "span_id"));
}
END_TEST

START_TEST(other_labels_become_attributes)
{
    struct pprof_build *build = cpu_build();
    add_sample(build, 1);
    pprof_build_label(build, "route", "/car");
    pprof_build_num_label(build, "bytes", 64, "kilobytes");
    add_sample(build, 1);
    pprof_build_label(build, "route", "/car");
    convert(build);
    const Sample *sample = profile_at(0)->samples[0];
    ck_assert_str_eq(text_of(sample, "route"), "/car");
    const Attribute *bytes =
        attribute_of(sample->attribute_indices, sample->n_attribute_indices, "bytes");
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(bytes->value->int_value, 64);
    ck_assert_str_eq(string(bytes->unit_strindex), "kilobytes");
    ck_assert_int_eq(sample->attribute_indices[0], profile_at(0)->samples[1]->attribute_indices[0]);
}
END_TEST

START_TEST(a_value_of_0_is_no_sample_of_its_type)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "alloc_space", "bytes");
    pprof_build_type(build, "inuse_space", "bytes");
    pprof_build_sample(build, (const int64_t[]){5, 0}, (const char *const[]){"f", NULL});
    convert(build);
    ck_assert_uint_eq(profile_at(0)->n_samples, 1);
    ck_assert_uint_eq(profile_at(1)->n_samples, 0);
}
END_TEST

/* The text of a resource attribute. */
static const char *resource_text(const char *key)
{
    const Opentelemetry__Proto__Resource__V1__Resource *resource =
        request->resource_profiles[0]->resource;
    for (size_t i = 0; i < resource->n_attributes; i++)
        if (strcmp(resource->attributes[i]->key, key) == 0)
            return resource->attributes[i]->value->string_value;
    return NULL;
}

START_TEST(series_labels_become_resource_attributes)
{
    struct pprof_build *build = cpu_build();
    add_sample(build, 1);
    convert(build);
    ck_assert_str_eq(resource_text("service.name"), "ride");
    ck_assert_str_eq(resource_text("region"), "eu");
    ck_assert_uint_eq(request->resource_profiles[0]->resource->n_attributes, 2);
}
END_TEST

START_TEST(the_application_names_the_service_where_no_label_does)
{
    struct view profile = pprof_random(1);
    set_labels("rides.app{region=eu}");
    convert_labelled(profile, true);
    ck_assert_str_eq(resource_text("service.name"), "rides.app");
    convert_labelled(profile, false);
    ck_assert_ptr_null(resource_text("service.name"));
    set_labels("rides.app{service_name=other}");
    convert_labelled(profile, true);
    ck_assert_str_eq(resource_text("service.name"), "other");
}
END_TEST

START_TEST(what_the_pprof_says_of_itself_is_kept)
{
    struct pprof_build *build = cpu_build();
    add_sample(build, 1);
    uint64_t one = (uint64_t)pprof_build_string(build, "first comment");
    uint64_t two = (uint64_t)pprof_build_string(build, "second comment");
    uint64_t drop = (uint64_t)pprof_build_string(build, "runtime\\..*");
    uint64_t build_id = (uint64_t)pprof_build_string(build, "abcdef");
    uint64_t file = (uint64_t)pprof_build_string(build, "/bin/ride");
    struct view mapping =
        PB_MESSAGE(3, pb_varint(1, 9), pb_varint(2, 4096), pb_varint(3, 8192), pb_varint(4, 16),
                   pb_varint(5, file), pb_varint(6, build_id), pb_varint(7, 1));
    struct view location =
        PB_MESSAGE(4, pb_varint(1, 900), pb_varint(2, 9), pb_varint(3, 5000), pb_varint(5, 1));
    pprof_build_raw_fields(build, PB_JOIN(mapping, location, pb_varint(13, one), pb_varint(13, two),
                                          pb_varint(7, drop)));
    convert(build);
    const Profile *profile = profile_at(1);
    const int32_t *list = profile->attribute_indices;
    const Attribute *comments =
        attribute_of(list, profile->n_attribute_indices, "pprof.profile.comment");
    ck_assert_uint_eq(comments->value->array_value->n_values, 2);
    ck_assert_str_eq(comments->value->array_value->values[1]->string_value, "second comment");
    ck_assert_str_eq(attribute_of(list, profile->n_attribute_indices, "pprof.profile.drop_frames")
                         ->value->string_value,
                     "runtime\\..*");
    const Opentelemetry__Proto__Profiles__V1development__Mapping *got =
        dictionary->mapping_table[1];
    ck_assert_uint_eq(got->memory_start, 4096);
    ck_assert_uint_eq(got->memory_limit, 8192);
    ck_assert_uint_eq(got->file_offset, 16);
    ck_assert_str_eq(string(got->filename_strindex), "/bin/ride");
    ck_assert_str_eq(attribute_of(got->attribute_indices, got->n_attribute_indices,
                                  "process.executable.build_id.gnu")
                         ->value->string_value,
                     "abcdef");
    ck_assert(attribute_of(got->attribute_indices, got->n_attribute_indices,
                           "pprof.mapping.has_functions")
                  ->value->bool_value);
    const Opentelemetry__Proto__Profiles__V1development__Location *last =
        dictionary->location_table[dictionary->n_location_table - 1];
    ck_assert_int_eq(last->mapping_index, 1);
    ck_assert_uint_eq(last->address, 5000);
    ck_assert_ptr_nonnull(attribute_of(last->attribute_indices, last->n_attribute_indices,
                                       "pprof.location.is_folded"));
}
END_TEST

START_TEST(any_profile_passes_the_check)
{
    set_labels("app{service_name=ride}");
    for (uint64_t seed = 0; seed < 300; seed++)
        convert_labelled(pprof_random(seed), false);
}
END_TEST

START_TEST(too_little_room_is_a_clean_failure)
{
    struct proto_fault fault;
    struct pprof pprof;
    const char *reason;
    set_labels("app{service_name=ride}");
    arena_init(&arena, 1 << 20);
    ck_assert(pprof_open(&pprof, pprof_random(3), &arena, &fault));
    struct pprof_source source = {&pprof, series, false};
    for (int which = 0; which < 2; which++) {
        bool done = false;
        for (size_t cap = 0; !done; cap += which ? 16 : 1) {
            struct arena small;
            struct bytes result;
            arena_init(&small, which ? cap : 1 << 20);
            bytes_init(&result, which ? 1 << 20 : cap, NULL);
            done = pprof_to_profiles(&source, &small, &result, &reason);
            ck_assert_int_eq(done, reason == NULL);
            ck_assert_int_eq(done, result.size > 0);
            arena_release(&small);
            bytes_release(&result);
            ck_assert_uint_lt(cap, 1 << 16);
        }
    }
    struct budget budget;
    struct bytes result;
    budget_init(&budget, 300);
    bytes_init(&result, 1 << 20, &budget);
    ck_assert(!pprof_to_profiles(&source, &arena, &result, &reason));
    ck_assert_ptr_nonnull(strstr(reason, "memory"));
    bytes_release(&result);
    ck_assert_uint_eq(budget_used(&budget), 0);
    forget();
}
END_TEST

SUITE_MAIN("pprof_to_profiles", each_sample_type_is_a_profile,
           equal_stacks_share_one_entry_with_the_leaf_first, index_0_of_every_table_means_not_set,
           a_span_id_becomes_a_link, what_is_no_span_id_stays_an_attribute,
           other_labels_become_attributes, a_value_of_0_is_no_sample_of_its_type,
           series_labels_become_resource_attributes,
           the_application_names_the_service_where_no_label_does,
           what_the_pprof_says_of_itself_is_kept, any_profile_passes_the_check,
           too_little_room_is_a_clean_failure)
