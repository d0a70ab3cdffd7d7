#include "pipeline/batch.h"

#include "lib/base/clock.h"
#include "pipeline/addressees.h"
#include "pipeline/client_info.h"
#include "pipeline/gathering.h"

#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static unsigned settled_count;
static struct outcome settled_worst;

static void settled(void *ctx, const struct outcome *worst)
{
    (void)ctx;
    settled_count++;
    settled_worst = *worst;
}

static struct metadata *metadata(const char *name, const char *authorization)
{
    bool failed;
    struct view credentials = authorization ? view_of(authorization) : (struct view){0};
    struct metadata *metadata = metadata_new(view_of(name), credentials, &failed);
    ck_assert(!failed);
    return metadata;
}

static struct metadata *tenant(const char *name)
{
    return metadata(name, NULL);
}

static struct profile_origin *origin(void)
{
    struct profile_origin *profile = calloc(1, sizeof *profile);
    profile->by_ingest = true;
    profile->from_ns = 7;
    profile->spy_name = strdup("pyspy");
    return profile;
}

START_TEST(a_copy_with_another_payload_shares_the_rest)
{
    struct receipt *receipt = receipt_new(settled, NULL);
    struct batch *batch = some_spans(0, 2, NULL);
    batch_add_receipt(batch, receipt);
    batch_set_metadata(batch, tenant("a"));
    batch_set_profile(batch, origin());
    batch->admitted = true;
    struct batch *copy = batch_with_payload(batch, buffer_new(3, NULL, true), 1);
    batch_unref(batch);
    receipt_unref(receipt);
    ck_assert_uint_eq(settled_count, 0);
    ck_assert_uint_eq(copy->items, 1);
    ck_assert_uint_eq(copy->payload->size, 3);
    ck_assert(copy->admitted);
    ck_assert_str_eq(copy->metadata->tenant, "a");
    ck_assert_str_eq(copy->profile->spy_name, "pyspy");
    ck_assert_uint_eq(copy->profile->from_ns, 7);
    batch_unref(copy);
    ck_assert_uint_eq(settled_count, 1);
    ck_assert_int_eq(settled_worst.verdict, VERDICT_OK);
}
END_TEST

START_TEST(a_merged_batch_settles_the_receipts_of_all_its_parts)
{
    enum { PARTS = 9 };
    struct batch *merged = some_spans(0, 1, NULL);
    for (unsigned i = 0; i < PARTS; i++) {
        struct receipt *receipt = receipt_new(settled, NULL);
        struct batch *part = some_spans(i, 1, NULL);
        ck_assert(batch_add_receipt(part, receipt));
        ck_assert(batch_add_receipts(merged, part));
        receipt_unref(receipt);
        batch_unref(part);
    }
    ck_assert_uint_eq(merged->receipt_count, PARTS);
    ck_assert_uint_eq(settled_count, 0);
    batch_unref(merged);
    ck_assert_uint_eq(settled_count, PARTS);
}
END_TEST

START_TEST(only_equal_signal_and_metadata_merge)
{
    struct batch *a = some_spans(0, 1, NULL), *b = some_spans(1, 1, NULL);
    ck_assert(batch_mergeable(a, b));
    batch_set_metadata(a, tenant("a"));
    ck_assert(!batch_mergeable(a, b));
    batch_set_metadata(b, tenant("a"));
    ck_assert(batch_mergeable(a, b));
    batch_set_metadata(b, tenant("b"));
    ck_assert(!batch_mergeable(a, b));
    batch_set_metadata(b, tenant("a"));
    b->signal = SIGNAL_LOGS;
    ck_assert(!batch_mergeable(a, b));
    b->signal = SIGNAL_TRACES;
    b->encoding = BATCH_OPAQUE;
    ck_assert(!batch_mergeable(a, b));
    batch_unref(a);
    batch_unref(b);
}
END_TEST

/* A journal may replay requests of different hours at once. */
START_TEST(requests_of_one_time_merge_and_have_the_time_of_the_last)
{
    struct batch *a = some_spans(0, 1, NULL), *b = some_spans(1, 1, NULL);
    struct gathering gathering = {0};
    a->recorded = 1000 * NS_PER_S;
    b->recorded = a->recorded + 30 * NS_PER_S + 1;
    ck_assert(!batch_mergeable(a, b) && !batch_mergeable(b, a));
    b->recorded--;
    ck_assert(batch_mergeable(a, b) && batch_mergeable(b, a));
    ck_assert(gathering_add(&gathering, a) && gathering_add(&gathering, b));
    struct batch *merged = gathering_merge(&gathering, NULL);
    ck_assert_uint_eq(merged->recorded, b->recorded);
    batch_unref(merged);
    gathering_release(&gathering);
    batch_unref(a);
    batch_unref(b);
}
END_TEST

/* A client's own credentials decide where it may write. */
START_TEST(spans_of_different_credentials_never_merge)
{
    struct batch *a = some_spans(0, 1, NULL), *b = some_spans(1, 1, NULL);
    batch_set_metadata(a, metadata("t", "Bearer a"));
    batch_set_metadata(b, metadata("t", "Bearer b"));
    ck_assert(!batch_mergeable(a, b));
    batch_set_metadata(b, metadata("t", NULL));
    ck_assert(!batch_mergeable(a, b) && !batch_mergeable(b, a));
    batch_set_metadata(b, metadata("t", "Bearer a"));
    ck_assert(batch_mergeable(a, b));
    batch_unref(a);
    batch_unref(b);
}
END_TEST

START_TEST(a_split_batch_is_two_whole_ones_under_one_receipt)
{
    struct budget budget;
    struct batch *front, *rest;
    budget_init(&budget, 1 << 20);
    struct receipt *receipt = receipt_new(settled, NULL);
    struct batch *batch = some_spans(0, 5, &budget);
    batch_add_receipt(batch, receipt);
    receipt_unref(receipt);
    ck_assert(batch_split(batch, 2, 0, &front, &rest));
    batch_unref(batch);
    ck_assert_uint_eq(front->items, 2);
    ck_assert_uint_eq(rest->items, 3);
    ck_assert(some_batch_has(front, 1) && !some_batch_has(front, 2));
    ck_assert(some_batch_has(rest, 2) && some_batch_has(rest, 4));
    ck_assert_uint_eq(budget_used(&budget), front->payload->size + rest->payload->size);
    batch_unref(front);
    ck_assert_uint_eq(settled_count, 0);
    batch_unref(rest);
    ck_assert_uint_eq(settled_count, 1);
    ck_assert_uint_eq(budget_used(&budget), 0);
    batch = some_spans(0, 1, &budget);
    ck_assert(!batch_split(batch, 1, 1, &front, &rest));
    batch->encoding = BATCH_OPAQUE;
    ck_assert(!batch_split(batch, 1, 0, &front, &rest));
    batch_unref(batch);
}
END_TEST

START_TEST(no_metadata_is_no_object)
{
    bool failed = true;
    ck_assert_ptr_null(metadata_new((struct view){0}, (struct view){0}, &failed));
    ck_assert(!failed);
}
END_TEST

START_TEST(a_batch_gives_its_bytes_back_to_the_budget)
{
    struct budget budget;
    budget_init(&budget, 1000);
    struct batch *batch = some_spans(0, 3, &budget);
    struct batch *copy = batch_with_payload(batch, buffer_ref(batch->payload), batch->items);
    ck_assert_uint_eq(budget_used(&budget), batch->payload->size);
    batch_unref(batch);
    ck_assert_uint_gt(budget_used(&budget), 0);
    batch_unref(copy);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(headers_that_a_batch_keeps_are_charged_once)
{
    struct budget budget;
    budget_init(&budget, 100000);
    char *long_text = calloc(1, 10001);
    memset(long_text, 'a', 10000);
    struct batch *batch = some_spans(0, 3, &budget);
    size_t payload = budget_used(&budget);
    batch_set_metadata(batch, tenant(long_text));
    ck_assert_uint_ge(budget_used(&budget), payload + 10000);
    ck_assert_uint_lt(budget_used(&budget), payload + 11000);
    batch_set_client(batch, client_info_new("", (struct view){(uint8_t *)long_text, 10000}));
    size_t all = budget_used(&budget);
    ck_assert_uint_ge(all, payload + 20000);
    struct batch *other = some_spans(0, 3, &budget);
    batch_set_metadata(other, metadata_ref(batch->metadata));
    batch_set_client(other, client_info_ref(batch->client));
    ck_assert_uint_eq(budget_used(&budget), all + payload);
    batch_unref(batch);
    ck_assert_uint_eq(budget_used(&budget), all);
    batch_unref(other);
    ck_assert_uint_eq(budget_used(&budget), 0);
    free(long_text);
}
END_TEST

static void count_delivered(void *ctx, uint64_t exporter)
{
    (void)ctx;
    (void)exporter;
}

START_TEST(all_that_is_made_of_an_exporters_batch_is_its_own)
{
    static const struct receipt_store store = {.delivered = count_delivered};
    struct receipt *receipt = receipt_new(settled, NULL);
    receipt_set_durable(receipt, &store);
    struct batch *batch = some_spans(0, 2, NULL), *front, *rest;
    batch_add_receipt(batch, receipt);
    struct batch *own = batch_for(batch, 5);
    ck_assert_ptr_eq(own, batch); /* nobody wants to know */
    batch_unref(own);
    batch_unref(batch);
    receipt_share_out(receipt, 2);
    batch = some_spans(0, 2, NULL);
    batch_add_receipt(batch, receipt);
    own = batch_for(batch, 5);
    ck_assert_uint_eq(batch->exporter, 0);
    ck_assert_uint_eq(own->exporter, 5);
    ck_assert_ptr_eq(own->payload, batch->payload);
    ck_assert(batch_split(own, 1, 0, &front, &rest));
    ck_assert_uint_eq(front->exporter, 5);
    ck_assert_uint_eq(rest->exporter, 5);
    batch_unref(front);
    batch_unref(rest);
    batch_unref(own);
    batch_unref(batch);
    receipt_unref(receipt);
    ck_assert_uint_eq(settled_count, 1);
}
END_TEST

START_TEST(what_others_have_merges_only_with_its_like)
{
    const uint64_t keys[] = {3, 4};
    struct batch *batches[4];
    for (size_t i = 0; i < 4; i++) {
        batches[i] = some_spans((unsigned)i, 1, NULL);
        batches[i]->delivered_to = addressees_new(keys, i < 3 ? i : 2);
    }
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(batch_mergeable(batches[i], batches[3]), i == 2);
    struct batch *copy = batch_with_payload(batches[2], buffer_new(3, NULL, true), 1);
    ck_assert(addressees_has(copy->delivered_to, 4));
    batch_unref(copy);
    for (size_t i = 0; i < 4; i++)
        batch_unref(batches[i]);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_copy_with_another_payload_shares_the_rest,
        a_merged_batch_settles_the_receipts_of_all_its_parts,
        only_equal_signal_and_metadata_merge,
        requests_of_one_time_merge_and_have_the_time_of_the_last,
        spans_of_different_credentials_never_merge,
        a_split_batch_is_two_whole_ones_under_one_receipt,
        no_metadata_is_no_object,
        a_batch_gives_its_bytes_back_to_the_budget,
        headers_that_a_batch_keeps_are_charged_once,
        all_that_is_made_of_an_exporters_batch_is_its_own,
        what_others_have_merges_only_with_its_like,
        NULL,
    };
    return suite_run("batch", tests);
}
