#include "lib/wire/http/grpc_frame.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

static bool compressed;
static struct view message;

START_TEST(a_whole_frame_is_read)
{
    ck_assert(grpc_frame_read(PB_RAW(0, 0, 0, 0, 3, 'a', 'b', 'c'), &compressed, &message) ==
              GRPC_FRAME_OK);
    ck_assert(!compressed && view_eq(message, VIEW("abc")));
    ck_assert(grpc_frame_read(PB_RAW(1, 0, 0, 0, 0), &compressed, &message) == GRPC_FRAME_OK);
    ck_assert(compressed && message.size == 0);
}
END_TEST

START_TEST(short_and_bad_frames_are_told_apart)
{
    ck_assert(grpc_frame_read((struct view){0}, &compressed, &message) == GRPC_FRAME_SHORT);
    ck_assert(grpc_frame_read(PB_RAW(0, 0, 0, 0), &compressed, &message) == GRPC_FRAME_SHORT);
    ck_assert(grpc_frame_read(PB_RAW(0, 0, 0, 0, 2, 'a'), &compressed, &message) ==
              GRPC_FRAME_SHORT);
    ck_assert(grpc_frame_read(PB_RAW(0, 0xff, 0xff, 0xff, 0xff, 'a'), &compressed, &message) ==
              GRPC_FRAME_SHORT);
    ck_assert(grpc_frame_read(PB_RAW(2, 0, 0, 0, 0), &compressed, &message) == GRPC_FRAME_BAD);
    ck_assert(grpc_frame_read(PB_RAW(2), &compressed, &message) == GRPC_FRAME_BAD);
    ck_assert(grpc_frame_read(PB_RAW(0, 0, 0, 0, 1, 'a', 'b'), &compressed, &message) ==
              GRPC_FRAME_BAD);
}
END_TEST

START_TEST(prefixes_are_big_endian)
{
    uint8_t prefix[GRPC_PREFIX_SIZE];
    grpc_frame_prefix(prefix, true, 0x01020304);
    ck_assert(view_eq((struct view){prefix, 5}, PB_RAW(1, 1, 2, 3, 4)));
}
END_TEST

START_TEST(messages_are_percent_encoded_and_back)
{
    static const char text[] = "50% of \xc3\xa4\n~";
    char encoded[64], decoded[64];
    grpc_message_encode(text, encoded, sizeof encoded);
    ck_assert_str_eq(encoded, "50%25 of %C3%A4%0A~");
    grpc_message_decode(view_of(encoded), decoded, sizeof decoded);
    ck_assert_str_eq(decoded, text);
}
END_TEST

START_TEST(text_that_is_cut_holds_no_half_escape)
{
    char out[8];
    grpc_message_encode("abcde\n", out, sizeof out);
    ck_assert_str_eq(out, "abcde");
    grpc_message_encode("abcd\n", out, sizeof out);
    ck_assert_str_eq(out, "abcd%0A");
    grpc_message_encode("x", out, 1);
    ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(broken_escapes_stay_as_text)
{
    char out[32];
    grpc_message_decode(VIEW("100% %zz %4"), out, sizeof out);
    ck_assert_str_eq(out, "100% %zz %4");
    grpc_message_decode(VIEW("a%00b"), out, sizeof out);
    ck_assert_str_eq(out, "a b");
    grpc_message_decode(VIEW("abcdef"), out, 4);
    ck_assert_str_eq(out, "abc");
}
END_TEST

SUITE_MAIN("grpc_frame", a_whole_frame_is_read, short_and_bad_frames_are_told_apart,
           prefixes_are_big_endian, messages_are_percent_encoded_and_back,
           text_that_is_cut_holds_no_half_escape, broken_escapes_stay_as_text)
