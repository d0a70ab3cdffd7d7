#include "lib/wire/http/multipart.h"

#include "tests/support/suite.h"

#include <stdlib.h>

#define TYPE VIEW("multipart/form-data; boundary=XX")

static void expect_part(struct multipart *multipart, const char *name, const char *filename,
                        const char *content)
{
    struct multipart_part part;
    ck_assert(multipart_next(multipart, &part));
    ck_assert(view_eq(part.name, view_of(name)));
    ck_assert_int_eq(part.filename.data == NULL, filename == NULL);
    ck_assert(view_eq(part.filename, view_of(filename)));
    ck_assert_msg(view_eq(part.content, view_of(content)), "%.*s", VIEW_ARG(part.content));
}

static void expect_end(struct multipart *multipart, bool bad)
{
    struct multipart_part part;
    ck_assert(!multipart_next(multipart, &part));
    ck_assert_int_eq(multipart->bad, bad);
    ck_assert(!multipart_next(multipart, &part));
}

START_TEST(parts_as_go_writes_them)
{
    struct multipart multipart;
    ck_assert(multipart_begin(
        &multipart, TYPE,
        VIEW("--XX\r\nContent-Disposition: form-data; name=\"profile\"; "
             "filename=\"profile.pprof\"\r\nContent-Type: application/octet-stream\r\n\r\n"
             "bytes\r\nwith lines\r\n--XX\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n"
             "text\r\n--XX--\r\n")));
    expect_part(&multipart, "profile", "profile.pprof", "bytes\r\nwith lines");
    expect_part(&multipart, "note", NULL, "text");
    expect_end(&multipart, false);
}
END_TEST

START_TEST(spelling_of_headers_and_parameters_is_free)
{
    struct multipart multipart;
    ck_assert(multipart_begin(
        &multipart, VIEW("Multipart/Form-Data ; charset=x; BOUNDARY=\"X X\" "),
        VIEW("--X X \t\r\ncontent-DISPOSITION:form-data;filename = f.bin ;NAME=jfr\r\n\r\n"
             "1\r\n--X X\r\nContent-Disposition: form-data; name=\"a;b\\\"c\"; size=1\r\n\r\n"
             "2\r\n--X X--")));
    expect_part(&multipart, "jfr", "f.bin", "1");
    expect_part(&multipart, "a;b\\\"c", NULL, "2");
    expect_end(&multipart, false);
}
END_TEST

START_TEST(preamble_and_epilogue_are_passed_over)
{
    struct multipart multipart;
    ck_assert(multipart_begin(&multipart, TYPE,
                              VIEW("a preamble --XX\r\n--XXY is none\r\n--XX\r\n\r\nbody\r\n"
                                   "--XX--\r\nan epilogue\r\n--XX\r\n")));
    expect_part(&multipart, NULL, NULL, "body");
    expect_end(&multipart, false);
}
END_TEST

START_TEST(text_like_a_delimiter_stays_content)
{
    struct multipart multipart;
    ck_assert(multipart_begin(&multipart, TYPE,
                              VIEW("--XX\r\n\r\na\r\n--XXX\r\nb --XX\r\nc\n--XX\n\r\n--XX--")));
    expect_part(&multipart, NULL, NULL, "a\r\n--XXX\r\nb --XX\r\nc\n--XX\n");
    expect_end(&multipart, false);
}
END_TEST

START_TEST(empty_content)
{
    struct multipart multipart;
    ck_assert(multipart_begin(&multipart, TYPE, VIEW("--XX\r\n\r\n--XX\r\n\r\n\r\n--XX--")));
    expect_part(&multipart, NULL, NULL, "");
    expect_part(&multipart, NULL, NULL, "");
    expect_end(&multipart, false);
}
END_TEST

START_TEST(bare_line_feeds_throughout)
{
    struct multipart multipart;
    ck_assert(multipart_begin(&multipart, TYPE,
                              VIEW("--XX\nContent-Disposition: form-data; name=p\n\none\r\n--XX\n"
                                   "\ntwo\n--XX--\n")));
    expect_part(&multipart, "p", NULL, "one\r");
    expect_part(&multipart, NULL, NULL, "two");
    expect_end(&multipart, false);
}
END_TEST

START_TEST(no_parts_at_all)
{
    struct multipart multipart;
    ck_assert(multipart_begin(&multipart, TYPE, VIEW("--XX--\r\n")));
    expect_end(&multipart, false);
}
END_TEST

START_TEST(other_content_types_and_boundaries_are_refused)
{
    static const char *const refused[] = {
        "",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"\"",
        "multipart/form-data; boundary=\"open",
        "multipart/form-data; boundary",
        "multipart/mixed; boundary=XX",
        "application/x-protobuf",
        "multipart/form-data; boundary="
        "01234567890123456789012345678901234567890123456789012345678901234567890"};
    struct multipart multipart;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        ck_assert_msg(!multipart_begin(&multipart, view_of(refused[i]), VIEW("--XX--")), "%s",
                      refused[i]);
    ck_assert(!multipart_begin(&multipart, (struct view){0}, (struct view){0}));
    ck_assert(multipart_begin(
        &multipart,
        VIEW("multipart/form-data; "
             "boundary=0123456789012345678901234567890123456789012345678901234567890123456789"),
        VIEW("")));
}
END_TEST

START_TEST(a_body_cut_off_anywhere_is_bad)
{
    struct view body =
        VIEW("--XX\r\nContent-Disposition: form-data; name=\"p\"\r\n\r\nabc\r\n--XX--");
    for (size_t size = 0; size < body.size; size++) {
        struct multipart multipart;
        struct multipart_part part;
        uint8_t *exact = malloc(size + 1);
        ck_assert_ptr_nonnull(exact);
        memcpy(exact, body.data, size);
        ck_assert(multipart_begin(&multipart, TYPE, (struct view){exact, size}));
        while (multipart_next(&multipart, &part))
            ;
        ck_assert_msg(multipart.bad, "%zu bytes", size);
        free(exact);
    }
}
END_TEST

START_TEST(broken_part_headers_are_bad)
{
    static const char *const bad[] = {
        "--XX\r\nno colon\r\n\r\n1\r\n--XX--", "--XX\r\n: no name\r\n\r\n1\r\n--XX--",
        "--XX\r\nContent-Disposition: form-data; name=\"open\r\n\r\n1\r\n--XX--",
        "--XX\r\nContent-Disposition: form-data; name\r\n\r\n1\r\n--XX--",
        "--XX\r\nContent-Disposition: form-data; name=\"a\"b\r\n\r\n1\r\n--XX--"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct multipart multipart;
        ck_assert(multipart_begin(&multipart, TYPE, view_of(bad[i])));
        expect_end(&multipart, true);
    }
}
END_TEST

SUITE_MAIN("multipart", parts_as_go_writes_them, spelling_of_headers_and_parameters_is_free,
           preamble_and_epilogue_are_passed_over, text_like_a_delimiter_stays_content,
           empty_content, bare_line_feeds_throughout, no_parts_at_all,
           other_content_types_and_boundaries_are_refused, a_body_cut_off_anywhere_is_bad,
           broken_part_headers_are_bad)
