#include "lib/wire/proto/proto_write.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

static struct bytes out;
static struct proto_write writing;

static void begin(size_t max)
{
    bytes_release(&out);
    bytes_init(&out, max, NULL);
    writing = proto_write_begin(&out);
}

START_TEST(fields_are_written_as_protobuf_has_them)
{
    begin(1 << 20);
    proto_write_varint(&writing, 1, 0);
    proto_write_number(&writing, 2, 0);
    proto_write_number(&writing, 3, UINT64_MAX);
    proto_write_fixed64(&writing, 4, 0x0102030405060708);
    proto_write_bytes(&writing, 500, VIEW("text"));
    proto_write_bytes(&writing, 6, VIEW(""));
    size_t list = proto_write_open(&writing, 7);
    proto_write_packed(&writing, 1);
    proto_write_packed(&writing, 300);
    proto_write_close(&writing, list);
    proto_write_raw(&writing, pb_varint(8, 1));
    ck_assert_ptr_null(proto_write_fault(&writing));
    struct view want = PB_JOIN(pb_varint(1, 0), pb_varint(3, UINT64_MAX),
                               pb_fixed64(4, 0x0102030405060708), PB_TEXT(500, "text"), PB_EMPTY(6),
                               PB_MESSAGE(7, PB_RAW(1, 0xac, 2)), pb_varint(8, 1));
    ck_assert(view_eq(bytes_view(&out), want));
    bytes_release(&out);
}
END_TEST

START_TEST(messages_of_any_length_nest)
{
    static const size_t sizes[] = {0, 1, 120, 127, 128, 129, 16383, 16384, 2097152};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct view fill = pb_fill(9, sizes[i], 'x');
        begin(1 << 24);
        proto_write_raw(&writing, VIEW("\x08\x01"));
        size_t outer = proto_write_open(&writing, 2);
        size_t inner = proto_write_open(&writing, 3);
        proto_write_raw(&writing, fill);
        proto_write_close(&writing, inner);
        proto_write_varint(&writing, 4, 5);
        proto_write_close(&writing, outer);
        struct view want =
            PB_JOIN(pb_varint(1, 1), PB_MESSAGE(2, PB_MESSAGE(3, fill), pb_varint(4, 5)));
        ck_assert(view_eq(bytes_view(&out), want));
    }
    bytes_release(&out);
}
END_TEST

/* Writes one of each kind. */
static void write_all(void)
{
    size_t outer = proto_write_open(&writing, 2);
    proto_write_varint(&writing, 1, 1000);
    proto_write_fixed64(&writing, 4, 1);
    proto_write_raw(&writing, pb_fill(9, 130, 'x'));
    proto_write_close(&writing, outer);
    proto_write_bytes(&writing, 3, VIEW("text"));
}

START_TEST(the_first_failure_sticks)
{
    size_t max = 0;
    do {
        begin(max);
        write_all();
        ck_assert_uint_le(out.size, max);
        if (proto_write_fault(&writing))
            ck_assert_str_eq(proto_write_fault(&writing), "the result is too large");
        ck_assert_uint_lt(max, 1000);
        max++;
    } while (proto_write_fault(&writing));
    ck_assert_uint_eq(out.size, max - 1);
    struct budget budget;
    budget_init(&budget, 10);
    begin(1000);
    out.budget = &budget;
    write_all();
    ck_assert_ptr_nonnull(strstr(proto_write_fault(&writing), "no memory"));
    bytes_release(&out);
}
END_TEST

SUITE_MAIN("proto_write", fields_are_written_as_protobuf_has_them, messages_of_any_length_nest,
           the_first_failure_sticks)
