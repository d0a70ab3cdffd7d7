#include "lib/wire/proto/proto_scan.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

/* Scans to the end; returns the number of fields, or -1 for malformed bytes. */
static int count_fields(struct view message)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    int count = 0;
    while (proto_scan_next(&scan, &field))
        count++;
    return scan.bad ? -1 : count;
}

START_TEST(varints_read_back_as_written)
{
    static const uint64_t values[] = {
        0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        uint8_t text[10];
        uint64_t value;
        uint8_t *end = proto_varint_put(text, values[i]);
        ck_assert_uint_eq((size_t)(end - text), proto_varint_size(values[i]));
        ck_assert_ptr_eq(proto_varint(text, end, &value), end);
        ck_assert_uint_eq(value, values[i]);
        ck_assert_ptr_null(proto_varint(text, end - 1, &value));
    }
}
END_TEST

START_TEST(varints_past_64_bits_or_ten_bytes_are_refused)
{
    struct view eleven = PB_RAW(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00);
    struct view bit64 = PB_RAW(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02);
    struct view padded = PB_RAW(0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00);
    uint64_t value;
    ck_assert_ptr_null(proto_varint(eleven.data, eleven.data + eleven.size, &value));
    ck_assert_ptr_null(proto_varint(bit64.data, bit64.data + bit64.size, &value));
    ck_assert_ptr_nonnull(proto_varint(padded.data, padded.data + padded.size, &value));
    ck_assert_uint_eq(value, 1);
}
END_TEST

START_TEST(every_wire_type_is_read)
{
    struct view message =
        PB_JOIN(pb_varint(1, 300), pb_fixed64(2, 0x1122334455667788), PB_TEXT(3, "abc"),
                pb_fixed32(5, 0xdeadbeef), pb_group(6, pb_varint(7, 1)), PB_EMPTY(536870911));
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    ck_assert(proto_scan_next(&scan, &field) && field.number == 1 && field.value == 300);
    ck_assert(proto_scan_next(&scan, &field) && field.type == WIRE_I64);
    ck_assert_uint_eq(field.value, 0x1122334455667788);
    ck_assert(proto_scan_next(&scan, &field) && view_eq(field.bytes, VIEW("abc")));
    ck_assert(proto_scan_next(&scan, &field) && field.value == 0xdeadbeef);
    ck_assert(proto_scan_next(&scan, &field) && field.type == WIRE_START_GROUP);
    ck_assert(view_eq(field.bytes, pb_varint(7, 1)));
    ck_assert(proto_scan_next(&scan, &field) && field.number == 536870911);
    ck_assert_ptr_eq(field.end, message.data + message.size);
    ck_assert(!proto_scan_next(&scan, &field) && !scan.bad);
}
END_TEST

START_TEST(unusual_but_legal_encodings_are_read)
{
    /* Tag, length and value with overlong encodings. */
    ck_assert_int_eq(count_fields(PB_RAW(0x8a, 0x80, 0x00, 0x83, 0x00, 'a', 'b', 'c')), 1);
    ck_assert_int_eq(count_fields(PB_RAW(0x88, 0x00, 0x80, 0x80, 0x00)), 1);
    ck_assert_int_eq(count_fields((struct view){0}), 0);
}
END_TEST

START_TEST(malformed_bytes_are_refused)
{
    const struct view bad[] = {
        PB_RAW(0x0a),                                    /* no length */
        PB_RAW(0x0a, 0x02, 'a'),                         /* length past the end */
        PB_RAW(0x0a, 0x80),                              /* length cut off */
        PB_RAW(0x0a, 0xff, 0xff, 0xff, 0xff, 0x07, 'a'), /* 2 GiB */
        PB_RAW(0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 'a'), /* 2^63 */
        PB_RAW(0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 'a'), /* 2^64-1 */
        PB_RAW(0x00, 0x00),                         /* field number 0 */
        PB_RAW(0x02, 0x00),                         /* field number 0, LEN */
        PB_RAW(0x80, 0x80, 0x80, 0x80, 0x10, 0x00), /* field number 2^29 */
        PB_RAW(0x0e),
        PB_RAW(0x0f), /* wire types 6 and 7 */
        PB_RAW(0x08),
        PB_RAW(0x08, 0x80),                /* value missing, cut off */
        PB_RAW(0x09, 1, 2, 3, 4, 5, 6, 7), /* seven bytes of eight */
        PB_RAW(0x0d, 1, 2, 3),             /* three bytes of four */
        PB_RAW(0x0b),                      /* group without end */
        PB_RAW(0x0c),                      /* end without group */
        PB_RAW(0x0b, 0x14),                /* end of another group */
        PB_RAW(0x0b, 0x13, 0x0c, 0x14),    /* groups that cross */
        PB_RAW(0x0b, 0x12, 0x05, 0x0c),    /* length past the group */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(count_fields(bad[i]) == -1, "case %zu was read", i);
}
END_TEST

START_TEST(a_bad_scan_stands_still)
{
    struct view message = PB_JOIN(pb_varint(1, 1), PB_RAW(0x0a, 0x09));
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    ck_assert(proto_scan_next(&scan, &field));
    ck_assert(!proto_scan_next(&scan, &field) && scan.bad);
    ck_assert_ptr_eq(scan.at, message.data + 2);
    ck_assert(!proto_scan_next(&scan, &field) && scan.bad);
}
END_TEST

START_TEST(groups_nest_up_to_the_limit)
{
    struct view content = {0};
    for (unsigned i = 0; i < PROTO_MAX_DEPTH; i++) {
        ck_assert_uint_eq(proto_group_depth(content), i);
        content = pb_group(1 + i % 3, content);
    }
    ck_assert_int_eq(count_fields(content), 1);
    ck_assert_int_eq(count_fields(pb_group(1, content)), -1);
}
END_TEST

START_TEST(the_last_occurrence_of_a_field_is_found)
{
    struct view message = PB_JOIN(pb_varint(1, 1), PB_TEXT(2, "x"), pb_varint(1, 2));
    struct proto_field field;
    ck_assert(proto_find(message, 1, WIRE_VARINT, &field) && field.value == 2);
    ck_assert(!proto_find(message, 3, WIRE_VARINT, &field));
    ck_assert(!proto_find(message, 2, WIRE_VARINT, &field));
    ck_assert(!proto_find(PB_JOIN(message, PB_RAW(0x0a)), 1, WIRE_VARINT, &field));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        varints_read_back_as_written,
        varints_past_64_bits_or_ten_bytes_are_refused,
        every_wire_type_is_read,
        unusual_but_legal_encodings_are_read,
        malformed_bytes_are_refused,
        a_bad_scan_stands_still,
        groups_nest_up_to_the_limit,
        the_last_occurrence_of_a_field_is_found,
        NULL,
    };
    return suite_run("proto_scan", tests);
}
