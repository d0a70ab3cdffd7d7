#include "lib/wire/profiles/otlp_profiles.h"

#include "opentelemetry/proto/collector/profiles/v1development/profiles_service.pb-c.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#define COLLECTOR(name) opentelemetry__proto__collector__profiles__v1development__##name

#define PACKED(field, ...) PB_MESSAGE(field, PB_RAW(__VA_ARGS__))

static struct otlp_dictionary dictionary;

/* Opens a request with these tables and one profile of these fields; returns why it is refused. */
static const char *fault_of(struct view tables, struct view profile)
{
    struct view request =
        PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, profile))), PB_MESSAGE(2, tables));
    struct proto_fault fault;
    struct arena arena;
    const char *reason = NULL;
    uint32_t items;
    ck_assert(otlp_check(SIGNAL_PROFILES, request, &items, &fault));
    arena_init(&arena, 1 << 20);
    if (otlp_dictionary_open(&dictionary, request, &arena, &reason))
        ck_assert_ptr_null(reason);
    else
        ck_assert_ptr_nonnull(reason);
    arena_release(&arena);
    return reason;
}

static void expect_outside(struct view tables, struct view profile, const char *table)
{
    const char *reason = fault_of(tables, profile);
    ck_assert_msg(reason != NULL, "an index outside the %s table is taken", table);
    ck_assert_msg(strstr(reason, table) != NULL, "%s", reason);
}

START_TEST(an_index_outside_any_table_is_refused)
{
    struct view none = VIEW("");
    static const struct {
        uint32_t table, field;
        const char *names;
    } rows[] = {{1, 4, "string"}, {1, 5, "attribute"}, {2, 1, "mapping"}, {2, 4, "attribute"},
                {3, 1, "string"}, {3, 2, "string"},    {3, 3, "string"},  {6, 1, "string"},
                {6, 3, "string"}, {7, 1, "location"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_outside(PB_MESSAGE(rows[i].table, pb_varint(rows[i].field, 9)), none, rows[i].names);
        expect_outside(PB_MESSAGE(rows[i].table, pb_varint(rows[i].field, UINT64_MAX)), none,
                       rows[i].names);
        ck_assert_ptr_null(fault_of(PB_MESSAGE(rows[i].table, pb_varint(rows[i].field, 0)), none));
    }
    expect_outside(PB_MESSAGE(2, PB_MESSAGE(3, pb_varint(1, 1))), none, "function");
    expect_outside(PB_MESSAGE(7, PACKED(1, 0, 1)), none, "location");
    expect_outside(none, PB_MESSAGE(2, pb_varint(1, 1)), "stack");
    expect_outside(none, PB_MESSAGE(2, PACKED(2, 0, 1)), "attribute");
    expect_outside(none, PB_MESSAGE(2, pb_varint(3, 1)), "link");
    expect_outside(none, PACKED(11, 1), "attribute");
    expect_outside(none, PB_MESSAGE(1, pb_varint(2, 1)), "string");
    expect_outside(none, PB_MESSAGE(5, pb_varint(1, 1)), "string");
}
END_TEST

START_TEST(the_layout_of_1_9_is_refused)
{
    struct view stack = pb_varint(1, 0), values = PACKED(2, 0), link = pb_varint(4, 0);
    struct view stamps = PB_MESSAGE(5, VIEW("\1\0\0\0\0\0\0\0"));
    const char *reason = fault_of(VIEW(""), PB_MESSAGE(2, stack, values, link));
    ck_assert_ptr_nonnull(reason);
    ck_assert_ptr_nonnull(strstr(reason, "1.9"));
    ck_assert_ptr_nonnull(fault_of(VIEW(""), PB_MESSAGE(2, stack, link, stamps)));
}
END_TEST

START_TEST(attributes_where_1_9_had_them_do_not_pass_the_check)
{
    struct view request =
        PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, PB_MESSAGE(2, PACKED(3, 1, 2)))));
    struct proto_fault fault;
    uint32_t items;
    ck_assert(!otlp_check(SIGNAL_PROFILES, request, &items, &fault));
}
END_TEST

START_TEST(values_that_are_not_packed_are_legal)
{
    ck_assert_ptr_null(
        fault_of(VIEW(""), PB_MESSAGE(2, pb_varint(1, 0), pb_varint(4, 100), pb_varint(4, 200),
                                      pb_fixed64(5, 1), pb_fixed64(5, 2))));
}
END_TEST

START_TEST(several_dictionaries_in_a_request_count_as_one)
{
    struct view request =
        PB_JOIN(PB_MESSAGE(2, PB_EMPTY(5), PB_TEXT(5, "one")), PB_MESSAGE(2, PB_TEXT(5, "two")));
    struct arena arena;
    const char *reason;
    arena_init(&arena, 1 << 20);
    ck_assert(otlp_dictionary_open(&dictionary, request, &arena, &reason));
    ck_assert_uint_eq(dictionary.of[OTLP_TABLE_STRING].count, 3);
    ck_assert(view_eq(dictionary.of[OTLP_TABLE_STRING].entries[2], VIEW("two")));
    arena_release(&arena);
}
END_TEST

START_TEST(a_small_arena_is_a_clean_failure)
{
    struct view request = PB_MESSAGE(2, PB_EMPTY(1), PB_EMPTY(2), PB_EMPTY(3), PB_EMPTY(4),
                                     PB_EMPTY(5), PB_EMPTY(6), PB_EMPTY(7));
    bool opened = false;
    for (size_t cap = 0; !opened; cap++) {
        struct arena arena;
        const char *reason;
        arena_init(&arena, cap);
        opened = otlp_dictionary_open(&dictionary, request, &arena, &reason);
        if (!opened)
            ck_assert_str_eq(reason, "too large");
        arena_release(&arena);
        ck_assert_uint_lt(cap, 1000);
    }
}
END_TEST

typedef Opentelemetry__Proto__Collector__Profiles__V1development__ExportProfilesServiceRequest
    Request;

START_TEST(tables_of_random_requests_are_as_protobuf_c_reads_them)
{
    unsigned opened = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct random random = random_seeded(seed);
        struct bytes raw;
        struct arena arena;
        const char *reason;
        bytes_init(&raw, 1 << 20, NULL);
        arena_init(&arena, 1 << 20);
        proto_random(&random, &shape_profiles_request, RANDOM_UNKNOWN, 5, &raw);
        const ProtobufCMessageDescriptor *type =
            &COLLECTOR(export_profiles_service_request__descriptor);
        Request *read = (Request *)protobuf_c_message_unpack(type, NULL, raw.size, raw.data);
        ck_assert_ptr_nonnull(read);
        if (otlp_dictionary_open(&dictionary, bytes_view(&raw), &arena, &reason)) {
            opened++;
            if (read->dictionary) {
                ck_assert_uint_eq(dictionary.of[OTLP_TABLE_STRING].count,
                                  read->dictionary->n_string_table);
                ck_assert_uint_eq(dictionary.of[OTLP_TABLE_LINK].count,
                                  read->dictionary->n_link_table);
                ck_assert_uint_eq(dictionary.of[OTLP_TABLE_STACK].count,
                                  read->dictionary->n_stack_table);
            }
        }
        protobuf_c_message_free_unpacked(&read->base, NULL);
        arena_release(&arena);
        bytes_release(&raw);
    }
    ck_assert_uint_gt(opened, 0);
}
END_TEST

SUITE_MAIN("otlp_dictionary", an_index_outside_any_table_is_refused, the_layout_of_1_9_is_refused,
           attributes_where_1_9_had_them_do_not_pass_the_check,
           values_that_are_not_packed_are_legal, several_dictionaries_in_a_request_count_as_one,
           a_small_arena_is_a_clean_failure, tables_of_random_requests_are_as_protobuf_c_reads_them)
