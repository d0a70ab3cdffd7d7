#include "lib/wire/http/base64.h"

#include "tests/support/suite.h"

static void expect(const char *text, const char *decoded)
{
    struct bytes out;
    bytes_init(&out, 100, NULL);
    ck_assert_int_eq(base64_decode(view_of(text), &out), BASE64_OK);
    ck_assert_msg(view_eq(bytes_view(&out), view_of(decoded)), "%s", text);
    bytes_release(&out);
}

START_TEST(padded_and_unpadded)
{
    expect("", "");
    expect("Zg==", "f");
    expect("Zg", "f");
    expect("Zm8=", "fo");
    expect("Zm8", "fo");
    expect("Zm9v", "foo");
    expect("Zm9vYmFy", "foobar");
}
END_TEST

START_TEST(both_alphabets)
{
    expect("+/+/", "\xfb\xff\xbf");
    expect("-_-_", "\xfb\xff\xbf");
}
END_TEST

START_TEST(bad_text_is_refused)
{
    static const char *const bad[] = {"Z", "Zm9vY", "Zm 9", "Zm9v\n", "Zg=", "Zm8==", "=", "===="};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bytes out;
        bytes_init(&out, 100, NULL);
        ck_assert_msg(base64_decode(view_of(bad[i]), &out) == BASE64_BAD, "%s", bad[i]);
        ck_assert_uint_eq(out.size, 0);
        bytes_release(&out);
    }
}
END_TEST

START_TEST(without_room_nothing_is_written)
{
    struct bytes out;
    bytes_init(&out, 3, NULL);
    ck_assert_int_eq(base64_decode(VIEW("Zm9vYmFyZm9vYmFy"), &out), BASE64_FULL);
    ck_assert_uint_eq(out.size, 0);
    bytes_release(&out);
}
END_TEST

START_TEST(what_is_encoded_is_padded_and_decodes_back)
{
    static const char *const want[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="};
    for (size_t n = 0; n < 5; n++) {
        struct bytes out, back;
        bytes_init(&out, 64, NULL);
        bytes_init(&back, 64, NULL);
        ck_assert(base64_encode((struct view){(const uint8_t *)"foob", n}, &out));
        ck_assert(view_eq(bytes_view(&out), view_of(want[n])));
        ck_assert_int_eq(base64_decode(bytes_view(&out), &back), BASE64_OK);
        ck_assert_uint_eq(back.size, n);
        bytes_release(&out);
        bytes_release(&back);
    }
}
END_TEST

SUITE_MAIN("base64", padded_and_unpadded, both_alphabets, bad_text_is_refused,
           without_room_nothing_is_written, what_is_encoded_is_padded_and_decodes_back)
