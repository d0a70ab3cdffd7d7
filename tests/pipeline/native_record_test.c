#include "pipeline/native_record.h"

#include "pipeline/pprof_request.h"
#include "tests/support/pprof_build.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 1 << 20, HEADERS = 16 };

/* The headers that a batch's record has. */
struct kept {
    struct native_header headers[HEADERS];
    char names[HEADERS][NATIVE_NAME_SIZE];
    char values[HEADERS][64];
    size_t count;
};

static struct kept kept;

static bool keep(void *ctx, const char *name, struct view value)
{
    (void)ctx;
    ck_assert_uint_lt(kept.count, HEADERS);
    strcpy(kept.names[kept.count], name);
    ck_assert_uint_lt(value.size, sizeof kept.values[0]);
    snprintf(kept.values[kept.count], sizeof kept.values[0], "%.*s", VIEW_ARG(value));
    kept.headers[kept.count] =
        (struct native_header){kept.names[kept.count], view_of(kept.values[kept.count])};
    kept.count++;
    return true;
}

/* Writes a record and reads it back; the batch itself is released. */
static struct batch *again(struct batch *batch)
{
    struct outcome why;
    kept.count = 0;
    ck_assert(native_record_headers(batch, keep, NULL));
    struct batch *read =
        native_record_read(native_record_value(batch), kept.headers, kept.count, MAX, NULL, &why);
    ck_assert_msg(read != NULL, "%s", why.text);
    ck_assert_int_eq(read->encoding, batch->encoding);
    ck_assert(view_eq(buffer_view(read->payload), buffer_view(batch->payload)));
    return read;
}

static struct buffer *payload_of(struct view text)
{
    struct buffer *buffer = buffer_new(text.size, NULL, false);
    memcpy(buffer->data, text.data, text.size);
    return buffer;
}

START_TEST(a_pprof_comes_back_with_series_origin_and_tenant)
{
    static const char *const ids[] = {"00000000000000a1"};
    bool failed = false;
    struct bytes pprof = pprof_build_cpu(1, 2, ids, 1), raw;
    bytes_init(&raw, MAX, NULL);
    struct series_label labels[] = {{VIEW("__name__"), VIEW("shop")}, {VIEW("region"), VIEW("")}};
    struct profile_origin *origin = calloc(1, sizeof *origin);
    *origin = (struct profile_origin){.by_ingest = true,
                                      .from_ns = 5,
                                      .until_ns = UINT64_MAX,
                                      .sample_type_config = strdup("{}"),
                                      .spy_name = strdup("gospy")};
    ck_assert_int_eq(pprof_request_read(bytes_view(&pprof), &raw).verdict, VERDICT_OK);
    struct batch *batch =
        batch_new(SIGNAL_PROFILES, BATCH_PPROF, payload_of(bytes_view(&raw)), 1, NULL);
    batch_set_series(batch, series_new(labels, 2));
    batch_set_profile(batch, origin);
    batch_set_metadata(batch, metadata_new(VIEW("acme"), VIEW("Basic secret"), &failed));
    struct batch *read = again(batch);
    ck_assert_uint_eq(read->series->count, 2);
    ck_assert(view_eq(series_get(read->series, VIEW("__name__")), VIEW("shop")));
    ck_assert(read->profile->by_ingest);
    ck_assert_uint_eq(read->profile->from_ns, 5);
    ck_assert_uint_eq(read->profile->until_ns, UINT64_MAX);
    ck_assert_str_eq(read->profile->sample_type_config, "{}");
    ck_assert_str_eq(read->profile->spy_name, "gospy");
    ck_assert_str_eq(read->metadata->tenant, "acme");
    for (size_t i = 0; i < kept.count; i++) /* credentials stay out of the log */
        ck_assert(!view_eq(kept.headers[i].value, VIEW("Basic secret")));
    batch_unref(batch);
    batch_unref(read);
    bytes_release(&pprof);
    bytes_release(&raw);
}
END_TEST

START_TEST(a_body_of_ingest_comes_back_with_query_and_content_type)
{
    struct opaque_request *opaque = calloc(1, sizeof *opaque);
    opaque->query = strdup("name=shop.cpu&from=1&format=jfr");
    opaque->content_type = strdup("multipart/form-data; boundary=x");
    struct batch *batch =
        batch_new(SIGNAL_PROFILES, BATCH_OPAQUE, payload_of(VIEW("FLR\0...")), 1, NULL);
    batch_set_opaque(batch, opaque);
    struct batch *read = again(batch);
    ck_assert_str_eq(read->opaque->query, "name=shop.cpu&from=1&format=jfr");
    ck_assert_str_eq(read->opaque->content_type, "multipart/form-data; boundary=x");
    ck_assert_ptr_null(read->metadata);
    batch_unref(batch);
    batch_unref(read);
}
END_TEST

static struct outcome refused(struct view value, const char *encoding)
{
    struct outcome why;
    struct native_header header = {NATIVE_ENCODING, view_of(encoding)};
    ck_assert_ptr_null(native_record_read(value, &header, encoding != NULL, MAX, NULL, &why));
    return why;
}

START_TEST(what_cannot_be_read_is_rejected_with_the_reason)
{
    ck_assert_int_eq(refused(VIEW("x"), NULL).verdict, VERDICT_REJECT);
    ck_assert_ptr_nonnull(strstr(refused(VIEW("x"), NULL).text, "encoding: native"));
    ck_assert_ptr_nonnull(strstr(refused(VIEW("x"), "avro").text, "\"avro\""));
    ck_assert_ptr_nonnull(strstr(refused(VIEW("\xff\xff"), "pprof").text, "not a valid pprof"));
    ck_assert_int_eq(refused(VIEW("\xff\xff"), "otlp").verdict, VERDICT_REJECT);
}
END_TEST

START_TEST(parts_say_which_and_how_many)
{
    char text[48];
    struct native_part part = {2, 5, UINT64_C(0xfedcba9876543210)}, read;
    native_part_write(&part, text, sizeof text);
    ck_assert_str_eq(text, "2/5 fedcba9876543210");
    ck_assert(native_part_parse(view_of(text), &read));
    ck_assert_uint_eq(read.number, 2);
    ck_assert_uint_eq(read.count, 5);
    ck_assert_uint_eq(read.id, part.id);
    static const char *const bad[] = {"",      "1",      "0/2 1",    "3/2 1",
                                      "1/1 1", "1/2 1 ", "1/9999 1", "-1/2 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!native_part_parse(view_of(bad[i]), &read), "%s", bad[i]);
}
END_TEST

SUITE_MAIN("native_record", a_pprof_comes_back_with_series_origin_and_tenant,
           a_body_of_ingest_comes_back_with_query_and_content_type,
           what_cannot_be_read_is_rejected_with_the_reason, parts_say_which_and_how_many)
