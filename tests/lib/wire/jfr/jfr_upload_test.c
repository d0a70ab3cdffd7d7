#include "lib/wire/jfr/jfr_upload.h"

#include "lib/wire/codec/compress.h"
#include "tests/support/forever.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#define QUERY "name=a&format=jfr"
#define TYPE  "multipart/form-data; boundary=z1"
#define HEAD  "--z1\r\nContent-Disposition: form-data; name=\"jfr\"; filename=\"jfr\"\r\n\r\n"
#define END   "\r\n--z1--\r\n"

enum { MIB = 1 << 20 };

static struct view stream(size_t size)
{
    struct bytes out;
    uint8_t *data = calloc(1, size);
    bytes_init(&out, SIZE_MAX, NULL);
    ck_assert(deflate_append(ENCODING_GZIP, (struct view){data, size}, &out));
    free(data);
    return forever(out);
}

static struct view upload(const struct view *parts, size_t count)
{
    struct bytes out;
    bytes_init(&out, SIZE_MAX, NULL);
    for (size_t i = 0; i < count; i++) {
        bytes_append_view(&out, i ? VIEW("\r\n" HEAD) : VIEW(HEAD));
        bytes_append_view(&out, parts[i]);
    }
    bytes_append_view(&out, VIEW(END));
    return forever(out);
}

static struct view upload_of(struct view part)
{
    return upload(&part, 1);
}

/* The declared size, and the result within exactly that size. */
static size_t plain(struct view body, struct bytes *out)
{
    size_t size = jfr_upload_plain_size(QUERY, TYPE, body);
    bytes_init(out, size, NULL);
    ck_assert(jfr_upload_inflate(QUERY, TYPE, body, out));
    return size;
}

START_TEST(the_plain_size_is_told_before_anything_is_inflated)
{
    struct bytes out;
    struct view part = stream(5 * MIB), two[] = {part, part}, body = upload_of(part);
    ck_assert_uint_eq(plain(body, &out), body.size - part.size + 5 * MIB);
    ck_assert_uint_eq(out.size, body.size - part.size + 5 * MIB);
    ck_assert_uint_eq(out.capacity, out.size);
    bytes_release(&out);
    body = upload(two, 2);
    ck_assert_uint_eq(plain(body, &out), body.size + 2 * (5 * MIB - part.size));
    ck_assert_uint_eq(out.size, body.size + 2 * (5 * MIB - part.size));
    bytes_release(&out);
}
END_TEST

START_TEST(what_the_server_takes_and_what_is_no_upload_stays)
{
    struct view body = upload_of(stream(5 * MIB));
    ck_assert_uint_eq(jfr_upload_plain_size(QUERY, TYPE, upload_of(stream(4 * MIB))), 0);
    ck_assert_uint_eq(jfr_upload_plain_size(QUERY, TYPE, upload_of(stream(65 * MIB))), 0);
    ck_assert_uint_eq(jfr_upload_plain_size(QUERY, TYPE, upload_of(VIEW("FLR"))), 0);
    ck_assert_uint_eq(jfr_upload_plain_size(QUERY, "text/plain", body), 0);
    ck_assert_uint_eq(jfr_upload_plain_size(QUERY, NULL, body), 0);
    ck_assert_uint_eq(jfr_upload_plain_size("name=a&format=lines", TYPE, body), 0);
    ck_assert_uint_gt(jfr_upload_plain_size(QUERY, TYPE, body), 0);
}
END_TEST

/* A stream with another size in its trailer. */
static struct view lying(size_t size, uint32_t told)
{
    struct view part = stream(size);
    uint8_t *at = (uint8_t *)(uintptr_t)part.data + part.size - 4;
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(told >> 8 * i);
    return part;
}

START_TEST(a_size_that_is_not_true_takes_no_more_than_it_says)
{
    struct bytes out;
    ck_assert_uint_gt(plain(upload_of(lying(20 * MIB, 5 * MIB)), &out), 5 * MIB);
    ck_assert_uint_eq(out.size, 0);
    ck_assert_uint_lt(out.capacity, 6 * MIB);
    bytes_release(&out);
    ck_assert_uint_gt(plain(upload_of(lying(5 * MIB, 5 * MIB + 1)), &out), 0);
    ck_assert_uint_eq(out.size, 0);
    bytes_release(&out);
    /* impossible for deflate */
    ck_assert_uint_eq(plain(upload_of(lying(4096, 60 * MIB)), &out), 0);
    ck_assert_uint_eq(plain(upload_of(lying(20 * MIB, 5)), &out), 0);
}
END_TEST

START_TEST(without_memory_nothing_is_made)
{
    struct budget budget;
    struct bytes out;
    struct view body = upload_of(stream(5 * MIB));
    budget_init(&budget, 4 * MIB);
    bytes_init(&out, jfr_upload_plain_size(QUERY, TYPE, body), &budget);
    ck_assert(!jfr_upload_inflate(QUERY, TYPE, body, &out));
    bytes_release(&out);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

SUITE_MAIN("jfr upload", the_plain_size_is_told_before_anything_is_inflated,
           what_the_server_takes_and_what_is_no_upload_stays,
           a_size_that_is_not_true_takes_no_more_than_it_says, without_memory_nothing_is_made)
