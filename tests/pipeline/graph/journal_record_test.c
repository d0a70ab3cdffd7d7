#include "pipeline/graph/journal_record.h"

#include "lib/wire/codec/compress.h"
#include "pipeline/client_info.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct buffer *payload_of(const char *text)
{
    struct buffer *buffer = buffer_new(strlen(text), NULL, false);
    memcpy(buffer->data, text, strlen(text));
    return buffer;
}

static void written(const struct batch *batch, const char *receiver, struct bytes *record)
{
    bytes_init(record, 1 << 20, NULL);
    ck_assert(journal_record_begin(batch, receiver, record));
    ck_assert_int_eq(bytes_append_view(record, buffer_view(batch->payload)), BYTES_OK);
}

/* Writes a record and reads it back. */
static struct batch *again(struct batch *batch)
{
    struct bytes record;
    struct view receiver;
    const char *reason;
    written(batch, "otlp/2", &record);
    struct batch *read = journal_record_read(bytes_view(&record), NULL, &receiver, &reason);
    ck_assert_msg(read != NULL, "%s", reason);
    ck_assert(view_eq(receiver, VIEW("otlp/2")));
    ck_assert_int_eq(read->signal, batch->signal);
    ck_assert_int_eq(read->encoding, batch->encoding);
    ck_assert_uint_eq(read->items, batch->items);
    ck_assert_uint_eq(read->recorded, batch->recorded);
    ck_assert(view_eq(buffer_view(read->payload), buffer_view(batch->payload)));
    bytes_release(&record);
    batch_unref(batch);
    return read;
}

START_TEST(an_otlp_request_comes_back_with_its_senders_metadata)
{
    bool failed = false;
    struct batch *batch = batch_new(SIGNAL_LOGS, BATCH_OTLP, payload_of("logs"), 3, NULL);
    batch_set_metadata(batch, metadata_new(VIEW("tenant"), VIEW(""), &failed));
    batch->recorded = UINT64_C(1767225600000000001); /* when it was accepted */
    batch = again(batch);
    ck_assert_str_eq(batch->metadata->tenant, "tenant");
    ck_assert_str_eq(batch->metadata->authorization, "");
    ck_assert_ptr_null(batch->series);
    batch_unref(batch);
}
END_TEST

START_TEST(a_request_comes_back_with_what_is_known_of_its_client)
{
    static const char headers[] = "x-a\0one\0x-b\0";
    struct view given = {(const uint8_t *)headers, sizeof headers};
    struct batch *batch = batch_new(SIGNAL_LOGS, BATCH_OTLP, payload_of("logs"), 3, NULL);
    batch_set_client(batch, client_info_new("192.0.2.1", given));
    batch = again(batch);
    struct request_context context = batch_context(batch);
    ck_assert_str_eq(context.address, "192.0.2.1");
    ck_assert(view_eq(context.headers, given));
    ck_assert_ptr_null(context.tenant);
    batch_unref(batch);
}
END_TEST

START_TEST(an_empty_request_comes_back)
{
    batch_unref(again(batch_new(SIGNAL_TRACES, BATCH_OTLP, payload_of(""), 0, NULL)));
}
END_TEST

START_TEST(a_pprof_comes_back_with_its_series_and_origin)
{
    struct series_label labels[] = {{VIEW("__name__"), VIEW("app")}, {VIEW("region"), VIEW("")}};
    struct profile_origin *origin = calloc(1, sizeof *origin);
    *origin = (struct profile_origin){.by_ingest = true,
                                      .from_ns = 5,
                                      .until_ns = UINT64_MAX,
                                      .sample_type_config = strdup("{}"),
                                      .spy_name = strdup("gospy")};
    struct batch *batch = batch_new(SIGNAL_PROFILES, BATCH_PPROF, payload_of("pprof"), 1, NULL);
    batch_set_series(batch, series_new(labels, 2));
    batch_set_profile(batch, origin);
    batch = again(batch);
    ck_assert_uint_eq(batch->series->count, 2);
    ck_assert(view_eq(series_get(batch->series, VIEW("__name__")), VIEW("app")));
    ck_assert(batch->profile->by_ingest);
    ck_assert_uint_eq(batch->profile->from_ns, 5);
    ck_assert_uint_eq(batch->profile->until_ns, UINT64_MAX);
    ck_assert_str_eq(batch->profile->sample_type_config, "{}");
    ck_assert_str_eq(batch->profile->spy_name, "gospy");
    ck_assert_ptr_null(batch->metadata);
    batch_unref(batch);
}
END_TEST

START_TEST(a_body_for_ingest_comes_back_with_its_query)
{
    struct opaque_request *opaque = calloc(1, sizeof *opaque);
    opaque->query = strdup("name=app&format=jfr");
    struct batch *batch = batch_new(SIGNAL_PROFILES, BATCH_OPAQUE, payload_of("jfr"), 1, NULL);
    batch_set_opaque(batch, opaque);
    batch = again(batch);
    ck_assert_str_eq(batch->opaque->query, "name=app&format=jfr");
    ck_assert_ptr_null(batch->opaque->content_type);
    batch_unref(batch);
}
END_TEST

#define FORM "--z\r\nContent-Disposition: form-data; name=\"jfr\"; filename=\"jfr\"\r\n\r\n"

/* 5 MiB when inflated; the limit may have been higher before. */
START_TEST(a_recording_tells_again_what_it_takes_inflated)
{
    static uint8_t zeros[5 << 20];
    struct bytes body, record;
    struct budget budget;
    struct view receiver;
    const char *reason;
    struct opaque_request *opaque = calloc(1, sizeof *opaque);
    bytes_init(&body, SIZE_MAX, NULL);
    bytes_append_view(&body, VIEW(FORM));
    ck_assert(deflate_append(ENCODING_GZIP, (struct view){zeros, sizeof zeros}, &body));
    bytes_append_view(&body, VIEW("\r\n--z--\r\n"));
    opaque->query = strdup("name=app&format=jfr");
    opaque->content_type = strdup("multipart/form-data; boundary=z");
    struct batch *batch =
        batch_new(SIGNAL_PROFILES, BATCH_OPAQUE, buffer_from_bytes(&body), 1, NULL);
    batch_set_opaque(batch, opaque);
    ck_assert_uint_gt(batch_work(batch), sizeof zeros + batch->payload->size);
    written(batch, "pyroscope", &record);
    for (size_t mib = 3; mib <= 6; mib += 3) {
        budget_init(&budget, mib << 20);
        struct batch *read = journal_record_read(bytes_view(&record), &budget, &receiver, &reason);
        ck_assert_uint_eq(batch_work(read), mib == 6 ? batch_work(batch) : read->payload->size);
        batch_unref(read);
        ck_assert_uint_eq(budget_used(&budget), 0);
        ck_assert_uint_eq(budget.pledge_holds, 0);
    }
    bytes_release(&record);
    batch_unref(batch);
}
END_TEST

START_TEST(bytes_that_are_no_record_are_refused)
{
    struct view receiver;
    const char *reason = NULL;
    ck_assert_ptr_null(journal_record_read(VIEW("\x0a\xff"), NULL, &receiver, &reason));
    ck_assert_ptr_null(journal_record_read(VIEW(""), NULL, &receiver, &reason));
    ck_assert_ptr_null(journal_record_read(VIEW("\x10\x09\x7a\x00"), NULL, &receiver, &reason));
    ck_assert_str_eq(reason, "this version does not know its format");
}
END_TEST

SUITE_MAIN("journal record", an_otlp_request_comes_back_with_its_senders_metadata,
           a_request_comes_back_with_what_is_known_of_its_client, an_empty_request_comes_back,
           a_pprof_comes_back_with_its_series_and_origin,
           a_body_for_ingest_comes_back_with_its_query,
           a_recording_tells_again_what_it_takes_inflated, bytes_that_are_no_record_are_refused)
