#include "lib/wire/otlp/otlp_attribute.h"

#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include "opentelemetry/proto/common/v1/common.pb-c.h"

/* The string value of a list's attribute; data NULL: absent or not a string. */
static struct view attribute(struct view message, uint32_t list, struct view key)
{
    struct proto_field field;
    bool found = otlp_attribute_find(message, list, key, &field);
    return found ? otlp_string_value(field.bytes) : (struct view){0};
}

START_TEST(the_first_attribute_of_a_name_counts)
{
    struct view message = PB_JOIN(pb_attribute(1, "a", "1"), pb_attribute(1, "b", "2"),
                                  pb_attribute(1, "b", "3"), pb_attribute(9, "c", "4"));
    ck_assert(view_eq(attribute(message, 1, VIEW("b")), VIEW("2")));
    ck_assert(view_eq(attribute(message, 9, VIEW("c")), VIEW("4")));
    ck_assert_ptr_null(attribute(message, 1, VIEW("c")).data);
}
END_TEST

START_TEST(an_empty_string_is_there_and_a_number_is_no_string)
{
    struct view number = PB_MESSAGE(1, PB_TEXT(1, "n"), PB_MESSAGE(2, pb_varint(3, 7)));
    struct view message = PB_JOIN(pb_attribute(1, "e", ""), number, PB_MESSAGE(1, PB_TEXT(1, "v")));
    struct view empty = attribute(message, 1, VIEW("e"));
    ck_assert(empty.data && empty.size == 0);
    ck_assert_ptr_null(attribute(message, 1, VIEW("n")).data);
    ck_assert_ptr_null(attribute(message, 1, VIEW("v")).data);
}
END_TEST

START_TEST(repeated_keys_and_values_are_merged_as_protobuf_says)
{
    struct view last_key =
        PB_MESSAGE(1, PB_TEXT(1, "x"), PB_TEXT(1, "y"), PB_MESSAGE(2, PB_TEXT(1, "one")),
                   PB_MESSAGE(2, PB_TEXT(1, "two")));
    ck_assert_ptr_null(attribute(last_key, 1, VIEW("x")).data);
    ck_assert(view_eq(attribute(last_key, 1, VIEW("y")), VIEW("two")));
    struct view kept =
        PB_MESSAGE(1, PB_TEXT(1, "y"), PB_MESSAGE(2, PB_TEXT(1, "one")), PB_EMPTY(2));
    ck_assert(view_eq(attribute(kept, 1, VIEW("y")), VIEW("one")));
    struct view number = PB_MESSAGE(1, PB_TEXT(1, "y"), PB_MESSAGE(2, PB_TEXT(1, "one")),
                                    PB_MESSAGE(2, pb_varint(3, 1)));
    ck_assert_ptr_null(attribute(number, 1, VIEW("y")).data);
}
END_TEST

START_TEST(two_resources_in_one_entry_are_both_asked)
{
    struct view entry =
        PB_JOIN(PB_MESSAGE(1, pb_attribute(1, "a", "1")), PB_TEXT(3, "url"),
                PB_MESSAGE(1, pb_attribute(1, "b", "2"), pb_attribute(1, "a", "3")));
    ck_assert(view_eq(otlp_resource_attribute(entry, VIEW("a")), VIEW("1")));
    ck_assert(view_eq(otlp_resource_attribute(entry, VIEW("b")), VIEW("2")));
    ck_assert_ptr_null(otlp_resource_attribute(entry, VIEW("c")).data);
}
END_TEST

static void check_written(const uint8_t *from, const uint8_t *to, struct view key, int64_t number)
{
    struct proto_scan scan = proto_scan_begin(view_between(from, to));
    struct proto_field field;
    ck_assert(proto_scan_next(&scan, &field) && field.number == 9 && field.end == to);
    Opentelemetry__Proto__Common__V1__KeyValue *read =
        opentelemetry__proto__common__v1__key_value__unpack(NULL, field.bytes.size,
                                                            field.bytes.data);
    ck_assert_ptr_nonnull(read);
    ck_assert(view_eq(view_of(read->key), key));
    if (read->value->value_case == OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_INT_VALUE)
        ck_assert_int_eq(read->value->int_value, number);
    else
        ck_assert_uint_eq(strlen(read->value->string_value), (size_t)number);
    opentelemetry__proto__common__v1__key_value__free_unpacked(read, NULL);
}

START_TEST(written_attributes_are_read_by_protobuf_c_and_fit_their_room)
{
    static const char text[] =
        "0123456789012345678901234567890123456789012345678901234567890123"
        "01234567890123456789012345678901234567890123456789012345678901234567";
    uint8_t out[512];
    for (size_t n = 0; n < sizeof text; n++) {
        struct view value = {(const uint8_t *)text, n};
        uint8_t *end = otlp_string_attribute_put(out, 9, VIEW("key"), value);
        ck_assert_uint_le((size_t)(end - out), otlp_string_attribute_size(VIEW("key"), value));
        check_written(out, end, VIEW("key"), (int64_t)n);
    }
    const int64_t numbers[] = {0, 1, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 5; i++) {
        uint8_t *end = otlp_int_attribute_put(out, 9, VIEW("key"), numbers[i]);
        ck_assert_uint_le((size_t)(end - out), otlp_int_attribute_size(VIEW("key"), numbers[i]));
        check_written(out, end, VIEW("key"), numbers[i]);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_first_attribute_of_a_name_counts,
        an_empty_string_is_there_and_a_number_is_no_string,
        repeated_keys_and_values_are_merged_as_protobuf_says,
        two_resources_in_one_entry_are_both_asked,
        written_attributes_are_read_by_protobuf_c_and_fit_their_room,
        NULL,
    };
    return suite_run("otlp_attribute", tests);
}
