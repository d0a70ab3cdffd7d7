/* pprof to OTLP and back: each sample type has the same sums for every stack, span and set of
 * labels. protobuf-c reads both ends. */
#include "lib/wire/profiles/pprof_to_profiles.h"
#include "lib/wire/profiles/profiles_to_pprof.h"
#include "pprof.pb-c.h"
#include "tests/support/pprof_build.h"
#include "tests/support/pprof_random.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef Perftools__Profiles__Profile Profile;
typedef Perftools__Profiles__Sample Sample;

enum { MAX_SUMS = 512 };

struct sums {
    char *keys[MAX_SUMS];
    int64_t values[MAX_SUMS];
    size_t count;
};

static void add(struct sums *sums, const char *key, int64_t value)
{
    size_t at = 0;
    while (at < sums->count && strcmp(sums->keys[at], key) != 0)
        at++;
    ck_assert_uint_lt(at, MAX_SUMS);
    if (at == sums->count)
        sums->keys[sums->count++] = strdup(key);
    sums->values[at] += value;
}

static void free_sums(struct sums *sums)
{
    for (size_t i = 0; i < sums->count; i++)
        free(sums->keys[i]);
    sums->count = 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "" if a label has no string. */
static const char *text(const Profile *profile, int64_t index)
{
    return profile->string_table[index];
}

static void put_location(const Profile *profile, uint64_t id, struct bytes *key)
{
    const Perftools__Profiles__Location *location = NULL;
    const Perftools__Profiles__Mapping *mapping = NULL;
    const Perftools__Profiles__Function *function = NULL;
    for (size_t i = 0; i < profile->n_location && !location; i++)
        location = profile->location[i]->id == id ? profile->location[i] : NULL;
    ck_assert_ptr_nonnull(location);
    for (size_t i = 0; i < profile->n_mapping && !mapping; i++)
        mapping = profile->mapping[i]->id == location->mapping_id ? profile->mapping[i] : NULL;
    bytes_printf(key, "%s@%" PRIu64, mapping ? text(profile, mapping->filename) : "",
                 location->address);
    for (size_t line = 0; line < location->n_line; line++) {
        for (size_t i = 0; i < profile->n_function; i++)
            if (profile->function[i]->id == location->line[line]->function_id)
                function = profile->function[i];
        ck_assert_ptr_nonnull(function);
        bytes_printf(key, " %s in %s:%" PRId64, text(profile, function->name),
                     text(profile, function->filename), location->line[line]->line);
    }
    bytes_printf(key, ";");
}

static bool is_span_key(const char *key)
{
    return strcmp(key, "span_id") == 0 || strcmp(key, "profile_id") == 0;
}

static bool is_id(const char *id)
{
    return strlen(id) == 16 && strspn(id, "0123456789abcdef") == 16 && strspn(id, "0") < 16;
}

/* A sample's span id text: its first span_id, else its first profile_id. */
static const char *span_of(const Profile *profile, const Sample *sample)
{
    static const char *const names[] = {"span_id", "profile_id"};
    for (size_t name = 0; name < 2; name++)
        for (size_t i = 0; i < sample->n_label; i++)
            if (sample->label[i]->str &&
                strcmp(text(profile, sample->label[i]->key), names[name]) == 0)
                return text(profile, sample->label[i]->str);
    return "";
}

/* Stack, span and labels; labels without name or text are lost by the conversion. */
static void put_labels(const Profile *profile, const Sample *sample, struct bytes *key)
{
    char *labels[16];
    size_t count = 0;
    const char *span = span_of(profile, sample);
    for (size_t i = 0; i < sample->n_label; i++) {
        const Perftools__Profiles__Label *label = sample->label[i];
        const char *name = text(profile, label->key);
        char number[32];
        snprintf(number, sizeof number, "%" PRId64, label->num);
        const char *value = label->str ? text(profile, label->str) : number;
        bool said = is_span_key(name) && is_id(span);
        if (*name && *value && !said && asprintf(&labels[count], "%s=%s", name, value) > 0)
            count++;
    }
    qsort(labels, count, sizeof *labels, by_text);
    bytes_printf(key, " span %s", is_id(span) ? span : "");
    for (size_t i = 0; i < count; i++) {
        bytes_printf(key, " %s", labels[i]);
        free(labels[i]);
    }
}

static void add_samples(const Profile *profile, size_t column, struct sums *sums)
{
    for (size_t i = 0; i < profile->n_sample; i++) {
        const Sample *sample = profile->sample[i];
        struct bytes key;
        bytes_init(&key, 1 << 20, NULL);
        for (size_t j = 0; j < sample->n_location_id; j++)
            put_location(profile, sample->location_id[j], &key);
        put_labels(profile, sample, &key);
        bytes_append(&key, "", 1);
        add(sums, (const char *)key.data, sample->value[column]);
        bytes_release(&key);
    }
}

static void check_same(const struct sums *want, const struct sums *got)
{
    ck_assert_uint_eq(want->count, got->count);
    for (size_t i = 0; i < want->count; i++) {
        size_t at = 0;
        while (at < got->count && strcmp(got->keys[at], want->keys[i]) != 0)
            at++;
        ck_assert_msg(at < got->count, "lost: %s", want->keys[i]);
        ck_assert_int_eq(got->values[at], want->values[i]);
    }
}

/* Compares one resulting pprof with its column of the profile. */
static void check_part(const Profile *whole, size_t column, const struct bytes *raw)
{
    static struct sums want, got;
    Profile *part = perftools__profiles__profile__unpack(NULL, raw->size, raw->data);
    ck_assert_ptr_nonnull(part);
    add_samples(whole, column, &want);
    add_samples(part, 0, &got);
    check_same(&want, &got);
    ck_assert_uint_eq(part->n_sample_type, 1);
    ck_assert_str_eq(text(part, part->sample_type[0]->type),
                     text(whole, whole->sample_type[column]->type));
    ck_assert_str_eq(text(part, part->sample_type[0]->unit),
                     text(whole, whole->sample_type[column]->unit));
    ck_assert_int_eq(part->time_nanos, whole->time_nanos);
    ck_assert_int_eq(part->period, whole->period);
    ck_assert_str_eq(text(part, part->drop_frames), text(whole, whole->drop_frames));
    ck_assert_str_eq(text(part, part->keep_frames), text(whole, whole->keep_frames));
    free_sums(&want);
    free_sums(&got);
    perftools__profiles__profile__free_unpacked(part, NULL);
}

/* Converts a profile to OTLP and back. */
static void check_trip(struct view raw)
{
    struct series_label labels[] = {{VIEW("service_name"), VIEW("ride")},
                                    {VIEW("region"), VIEW("eu")}};
    struct series *series = series_new(labels, 2);
    struct profiles_to_pprof conversion;
    struct profiles_policy policy = {.trace_ids = true};
    struct profiles_part part;
    struct proto_fault fault;
    struct pprof pprof;
    struct arena arena;
    struct bytes request, back;
    const char *reason;
    arena_init(&arena, 64 << 20);
    bytes_init(&request, 64 << 20, NULL);
    bytes_init(&back, 64 << 20, NULL);
    ck_assert(pprof_open(&pprof, raw, &arena, &fault));
    Profile *whole = perftools__profiles__profile__unpack(NULL, raw.size, raw.data);
    struct pprof_source source = {&pprof, series, false};
    ck_assert_msg(pprof_to_profiles(&source, &arena, &request, &reason), "%s", reason);
    ck_assert_msg(
        profiles_to_pprof_begin(&conversion, bytes_view(&request), &policy, &arena, &reason), "%s",
        reason);
    size_t parts = 0;
    while (profiles_to_pprof_next(&conversion, &part, &back, &reason)) {
        check_part(whole, part.profile, &back);
        ck_assert(view_eq(series_get(part.series, VIEW("service_name")), VIEW("ride")));
        ck_assert(view_eq(series_get(part.series, VIEW("region")), VIEW("eu")));
        series_unref(part.series);
        parts++;
    }
    ck_assert_ptr_null(reason);
    ck_assert_uint_eq(parts, whole->n_sample ? pprof.type_count : 0);
    perftools__profiles__profile__free_unpacked(whole, NULL);
    series_unref(series);
    arena_release(&arena);
    bytes_release(&request);
    bytes_release(&back);
}

START_TEST(random_profiles_come_back)
{
    for (uint64_t seed = 0; seed < 400; seed++)
        check_trip(pprof_random(seed));
}
END_TEST

START_TEST(a_heap_profile_with_spans_and_numbers_comes_back)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "alloc_objects", "count");
    pprof_build_type(build, "alloc_space", "bytes");
    pprof_build_period(build, "space", "bytes", 524288);
    pprof_build_time(build, INT64_C(1700000000000000000), 15000000000);
    for (int i = 0; i < 40; i++) {
        char id[32];
        snprintf(id, sizeof id, "%016x", i % 7 + 1);
        pprof_build_sample(build, (const int64_t[]){i + 1, 64 * (i + 1)},
                           i % 2 ? (const char *const[]){"leaf", "main", NULL}
                                 : (const char *const[]){"main", NULL});
        if (i % 3)
            pprof_build_label(build, "span_id", id);
        pprof_build_num_label(build, "bytes", 64, "bytes");
    }
    struct bytes raw = pprof_build_raw(build);
    check_trip(bytes_view(&raw));
    pprof_build_free(build);
    bytes_release(&raw);
}
END_TEST

SUITE_MAIN("profiles_round_trip", random_profiles_come_back,
           a_heap_profile_with_spans_and_numbers_comes_back)
