#include "lib/wire/pprof/push.h"

#include "push.pb-c.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#include <stdio.h>

#define LABEL(name, value) PB_MESSAGE(1, PB_TEXT(1, name), PB_TEXT(2, value))

START_TEST(profiles_are_walked_series_by_series)
{
    struct view request = PB_JOIN(
        PB_EMPTY(1),
        PB_MESSAGE(1, LABEL("__name__", "process_cpu"), PB_MESSAGE(2, PB_TEXT(1, "one")),
                   PB_MESSAGE(2, PB_TEXT(2, "id"), PB_TEXT(1, "two"), PB_TEXT(9, "unknown"))),
        PB_TEXT(7, "unknown"),
        PB_MESSAGE(1, PB_EMPTY(2), LABEL("service_name", "b"), PB_TEXT(3, "")));
    static const char *const raws[] = {"one", "two", ""};
    struct push_walk walk;
    struct push_profile profile;
    push_walk_begin(&walk, request);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(push_walk_next(&walk, &profile));
        ck_assert(view_eq(profile.raw_profile, view_of(raws[i])));
        struct series *labels = push_series_labels(profile.series);
        ck_assert_uint_eq(labels->count, 1);
        ck_assert_int_eq(series_get(labels, VIEW("service_name")).data != NULL, i == 2);
        series_unref(labels);
    }
    ck_assert(!push_walk_next(&walk, &profile));
    ck_assert(!push_walk_next(&walk, &profile));
}
END_TEST

START_TEST(a_label_without_name_or_value_is_empty_text)
{
    struct series *labels =
        push_series_labels(PB_JOIN(PB_EMPTY(1), LABEL("a", "1"), LABEL("a", "2")));
    ck_assert_uint_eq(labels->count, 2);
    ck_assert_uint_eq(labels->labels[0].name.size, 0);
    ck_assert(view_eq(series_get(labels, VIEW("a")), VIEW("2")));
    series_unref(labels);
}
END_TEST

START_TEST(thousands_of_labels_are_bounded)
{
    struct view *fields = calloc(5000, sizeof *fields);
    ck_assert_ptr_nonnull(fields);
    for (uint32_t i = 0; i < 5000; i++) {
        char name[16];
        snprintf(name, sizeof name, "l%u", i);
        fields[i] = PB_MESSAGE(1, PB_MESSAGE(1, view_of(name)));
    }
    struct series *labels = push_series_labels(pb_join(fields, 5000));
    ck_assert_uint_eq(labels->count, 1000);
    series_unref(labels);
    free(fields);
}
END_TEST

START_TEST(what_is_written_protobuf_c_reads)
{
    struct series_label labels[] = {{VIEW("__name__"), VIEW("process_cpu")},
                                    {VIEW("service_name"), VIEW("ride")},
                                    {VIEW("empty"), VIEW("")}};
    struct series *series = series_new(labels, 3);
    struct view raw = pb_fill(1, 100000, 'p');
    struct bytes out;
    struct proto_fault fault;
    bytes_init(&out, 1 << 20, NULL);
    ck_assert(push_encode(series, raw, &out));
    ck_assert(proto_check(&shape_push_request, bytes_view(&out), &fault));
    Push__V1__PushRequest *read = push__v1__push_request__unpack(NULL, out.size, out.data);
    ck_assert_ptr_nonnull(read);
    ck_assert_uint_eq(read->n_series, 1);
    ck_assert_uint_eq(read->series[0]->n_labels, 3);
    ck_assert_str_eq(read->series[0]->labels[1]->name, "service_name");
    ck_assert_str_eq(read->series[0]->labels[1]->value, "ride");
    ck_assert_str_eq(read->series[0]->labels[2]->value, "");
    ck_assert_uint_eq(read->series[0]->n_samples, 1);
    ck_assert(view_eq((struct view){read->series[0]->samples[0]->raw_profile.data,
                                    read->series[0]->samples[0]->raw_profile.len},
                      raw));
    push__v1__push_request__free_unpacked(read, NULL);
    bytes_release(&out);
    series_unref(series);
}
END_TEST

START_TEST(without_room_nothing_is_written)
{
    struct series_label label = {VIEW("a"), VIEW("b")};
    struct series *series = series_new(&label, 1);
    bool written = false;
    for (size_t max = 0; !written; max++) {
        struct bytes out;
        bytes_init(&out, max, NULL);
        written = push_encode(series, VIEW("profile"), &out);
        ck_assert_uint_eq(out.size, written ? max : 0);
        ck_assert_uint_lt(max, 100);
        bytes_release(&out);
    }
    series_unref(series);
}
END_TEST

START_TEST(random_requests_are_walked_as_protobuf_c_reads_them)
{
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct random random = random_seeded(seed);
        struct bytes raw;
        struct push_walk walk;
        struct push_profile profile;
        bytes_init(&raw, 1 << 20, NULL);
        proto_random(&random, &shape_push_request, RANDOM_UNKNOWN | RANDOM_PADDED, 4, &raw);
        Push__V1__PushRequest *read = push__v1__push_request__unpack(NULL, raw.size, raw.data);
        ck_assert_ptr_nonnull(read);
        push_walk_begin(&walk, bytes_view(&raw));
        for (size_t i = 0; i < read->n_series; i++)
            for (size_t j = 0; j < read->series[i]->n_samples; j++) {
                ProtobufCBinaryData data = read->series[i]->samples[j]->raw_profile;
                ck_assert(push_walk_next(&walk, &profile));
                ck_assert(view_eq(profile.raw_profile, (struct view){data.data, data.len}));
            }
        ck_assert(!push_walk_next(&walk, &profile));
        push__v1__push_request__free_unpacked(read, NULL);
        bytes_release(&raw);
    }
}
END_TEST

SUITE_MAIN("push", profiles_are_walked_series_by_series,
           a_label_without_name_or_value_is_empty_text, thousands_of_labels_are_bounded,
           what_is_written_protobuf_c_reads, without_room_nothing_is_written,
           random_requests_are_walked_as_protobuf_c_reads_them)
