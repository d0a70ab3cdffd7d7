#include "lib/base/refusal.h"
#include "lib/settings/fill.h"
#include "lib/wire/otlp/otlp.h"
#include "pipeline/client_info.h"
#include "pipeline/component.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/fake_clock.h"
#include "tests/support/proto_build.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

extern const struct component processor_batch;

static struct fake_clock fake;
static struct budget budget;
static struct meter meter;
static struct env env;
static struct collecting_sink sink;
static void *batcher;
static struct problems problems;
static unsigned settled_count;
static struct outcome settled_worst;

static bool fill(const char *yaml)
{
    char *text;
    ck_assert_int_gt(asprintf(&text, "yaml:%s", yaml), 0);
    struct settings_source source = {SETTINGS_FILE, text};
    struct settings *settings = settings_load(&source, 1, &problems);
    ck_assert_ptr_nonnull(settings);
    free(text);
    const struct node *root = settings_root(settings);
    batcher = calloc(1, processor_batch.size);
    bool fine =
        keys_fill(processor_batch.keys, root, root, "processors.batch", batcher, &problems) &&
        keys_check(processor_batch.check, batcher, root, root, "processors.batch", &problems);
    settings_free(settings);
    return fine;
}

static void given(const char *yaml)
{
    char error[128];
    ck_assert(fill(yaml));
    fake_clock_init(&fake);
    budget_init(&budget, 1 << 30);
    meter_init(&meter, "batch");
    collecting_sink_init(&sink);
    env = (struct env){.id = "batch", .clock = &fake.clock, .budget = &budget, .meter = &meter};
    ck_assert(processor_batch.open(batcher, &env, error, sizeof error));
}

static void finish(void)
{
    processor_batch.close(batcher);
    keys_release(processor_batch.keys, batcher);
    free(batcher);
    collecting_sink_clear(&sink);
    ck_assert_uint_eq(budget_used(&budget), 0);
}

static void settled(void *ctx, const struct outcome *worst)
{
    (void)ctx;
    settled_count++;
    settled_worst = *worst;
}

static void consume(struct batch *batch)
{
    struct receipt *receipt = receipt_new(settled, NULL);
    batch_add_receipt(batch, receipt);
    receipt_unref(receipt);
    ck_assert_int_eq(processor_batch.consume(batcher, batch, &sink.outlet), VERDICT_OK);
    batch_unref(batch);
}

static uint64_t tick(uint64_t ns)
{
    fake_clock_advance(&fake, ns);
    return processor_batch.tick(batcher, fake.mono);
}

static struct batch *of_tenant(struct batch *batch, const char *tenant)
{
    bool failed;
    batch_set_metadata(batch, metadata_new(view_of(tenant), (struct view){0}, &failed));
    return batch;
}

static struct batch *with_headers(struct batch *batch, const char *headers, size_t size)
{
    struct view bytes = {(const uint8_t *)headers, size};
    batch_set_client(batch, client_info_new("192.0.2.1", bytes));
    return batch;
}

#define WITH(batch, headers) with_headers(batch, headers, sizeof(headers))

START_TEST(requests_with_other_headers_of_the_keys_are_not_merged)
{
    given("metadata_keys: [X-Tenant]");
    consume(WITH(some_spans(0, 1, &budget), "x-tenant\0acme\0other\0a"));
    consume(WITH(some_spans(1, 1, &budget), "X-TENANT\0evil"));
    consume(WITH(some_spans(2, 1, &budget), "X-Tenant\0acme\0other\0b"));
    consume(WITH(some_spans(3, 1, &budget), "x-tenant\0acme\0x-tenant\0evil"));
    consume(some_spans(4, 1, &budget));
    consume(WITH(some_spans(5, 1, &budget), "other\0a"));
    ck_assert_uint_eq(tick(200 * NS_PER_MS), TIME_NEVER);
    ck_assert_uint_eq(sink.count, 4);
    for (size_t i = 0; i < sink.count; i++) {
        const struct request_context context = batch_context(sink.batches[i]);
        bool acme = some_batch_has(sink.batches[i], 0), none = some_batch_has(sink.batches[i], 4);
        ck_assert_int_eq(some_batch_has(sink.batches[i], 2), acme);
        ck_assert_int_eq(some_batch_has(sink.batches[i], 5), none);
        ck_assert_uint_eq(sink.batches[i]->items, acme || none ? 2 : 1);
        ck_assert_ptr_null(context.address);
        if (acme)
            ck_assert(
                view_eq(context.headers, (struct view){(const uint8_t *)"x-tenant\0acme", 14}));
        if (none)
            ck_assert_uint_eq(context.headers.size, 0);
    }
    finish();
    ck_assert(!client_info_wanted());
}
END_TEST

START_TEST(a_metadata_key_may_be_named_once)
{
    ck_assert(!fill("metadata_keys: [x-tenant, X-Tenant]"));
    ck_assert_ptr_nonnull(strstr(problems.lines[0], "twice"));
    keys_release(processor_batch.keys, batcher);
    free(batcher);
    problems_release(&problems);
}
END_TEST

START_TEST(small_requests_leave_as_one_when_the_time_is_up)
{
    given("timeout: 200ms");
    for (unsigned i = 0; i < 10; i++)
        consume(some_spans(10 * i, 10, &budget));
    uint64_t due = fake.mono + 200 * NS_PER_MS;
    ck_assert_uint_eq(tick(199 * NS_PER_MS), due);
    ck_assert_uint_eq(sink.count, 0);
    ck_assert_uint_eq(tick(NS_PER_MS), TIME_NEVER);
    ck_assert_uint_eq(sink.count, 1);
    ck_assert_uint_eq(sink.batches[0]->items, 100);
    struct buffer *whole = buffer_flat(sink.batches[0]->payload);
    ck_assert_uint_eq(otlp_count(SIGNAL_TRACES, buffer_view(whole)), 100);
    buffer_unref(whole);
    for (unsigned i = 0; i < 100; i++)
        ck_assert(some_batch_has(sink.batches[0], i));
    ck_assert_uint_eq(settled_count, 0);
    collecting_sink_clear(&sink);
    ck_assert_uint_eq(settled_count, 10);
    finish();
}
END_TEST

START_TEST(what_was_accepted_is_merged_also_where_the_budget_is_used_up)
{
    given("timeout: 200ms");
    for (unsigned i = 0; i < 3; i++)
        consume(some_spans(10 * i, 10, &budget));
    budget.limit = budget_used(&budget);
    ck_assert_uint_eq(tick(200 * NS_PER_MS), TIME_NEVER);
    ck_assert_uint_eq(sink.count, 1);
    ck_assert_uint_eq(collecting_sink_items(&sink), 30);
    finish();
}
END_TEST

START_TEST(enough_items_leave_at_once)
{
    given("send_batch_size: 30");
    consume(some_spans(0, 10, &budget));
    consume(some_spans(10, 19, &budget));
    ck_assert_uint_eq(sink.count, 0);
    consume(some_spans(29, 1, &budget));
    ck_assert_uint_eq(sink.count, 1);
    ck_assert_uint_eq(sink.batches[0]->items, 30);
    finish();
}
END_TEST

START_TEST(a_batch_stays_below_what_a_grpc_server_takes)
{
    given("send_batch_size: 1000000");
    unsigned each = 40000;
    for (unsigned i = 0; i < 5; i++)
        consume(some_spans(each * i, each, &budget));
    ck_assert_uint_gt(sink.count, 0);
    tick(NS_PER_S);
    ck_assert_uint_eq(collecting_sink_items(&sink), 5 * each);
    for (size_t i = 0; i < sink.count; i++)
        ck_assert_uint_le(sink.batches[i]->payload->size, 4000000);
    finish();
}
END_TEST

START_TEST(larger_batches_are_split_and_nothing_is_lost)
{
    struct outcome bad = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "bad");
    given("{send_batch_size: 10, send_batch_max_size: 16}");
    consume(some_spans(0, 9, &budget));
    consume(some_spans(9, 41, &budget));
    ck_assert_uint_eq(collecting_sink_items(&sink), 50);
    ck_assert_uint_eq(sink.count, 4);
    for (size_t i = 0; i < sink.count; i++) {
        ck_assert_uint_le(sink.batches[i]->items, 16);
        ck_assert_uint_eq(sink.batches[i]->receipt_count, 2);
    }
    for (unsigned i = 0; i < 50; i++) {
        unsigned copies = 0;
        for (size_t b = 0; b < sink.count; b++)
            copies += some_batch_has(sink.batches[b], i);
        ck_assert_uint_eq(copies, 1);
    }
    receipt_note(sink.batches[3]->receipts[0], &bad);
    collecting_sink_clear(&sink);
    ck_assert_uint_eq(settled_count, 2);
    finish();
}
END_TEST

/* Without an end in a test's time, if each part took a copy of the rest. */
START_TEST(a_large_request_is_split_into_very_many)
{
    enum { POINTS = 1 << 20, MOST = 10 };
    struct view points = PB_MESSAGE(1, pb_fixed64(3, 1));
    for (int i = 1; i < POINTS; i *= 2)
        points = PB_JOIN(points, points);
    struct view gauge = PB_MESSAGE(2, PB_TEXT(1, "m"), PB_MESSAGE(5, points));
    struct view request = PB_MESSAGE(1, PB_MESSAGE(2, gauge));
    given("{send_batch_size: 10, send_batch_max_size: 10}");
    struct buffer *payload = buffer_new(request.size, &budget, true);
    memcpy(payload->data, request.data, request.size);
    consume(batch_new(SIGNAL_METRICS, BATCH_OTLP, payload, POINTS, NULL));
    while (collecting_sink_items(&sink) < POINTS) /* each time for a while */
        tick(0);
    ck_assert_uint_eq(sink.count, (POINTS + MOST - 1) / MOST);
    ck_assert_uint_eq(collecting_sink_items(&sink), POINTS);
    for (size_t i = 0; i < sink.count; i++)
        ck_assert_uint_le(sink.batches[i]->items, MOST);
    finish();
}
END_TEST

static uint32_t most_taken, most_items;

/* Takes no more items than that at once, and so many in all. */
static enum verdict take_some(void *self, struct batch *batch, struct outlet *next)
{
    struct collecting_sink *into = self;
    if (batch->items > most_taken || collecting_sink_items(into) + batch->items > most_items) {
        refusal_set("the memory limit is reached", CAUSE_MEMORY);
        return VERDICT_RETRY;
    }
    return outlet_push(next, batch);
}

START_TEST(without_memory_parts_get_smaller_until_some_passes)
{
    given("{send_batch_size: 1000}");
    struct component starved = *sink.instance.component;
    struct collecting_sink behind;
    collecting_sink_init(&behind);
    starved.consume = take_some;
    struct instance instance = sink.instance;
    instance.component = &starved;
    instance.self = &behind;
    sink.outlet.processor = &instance;
    sink.outlet.next = &behind.outlet;
    most_taken = 2;
    most_items = 500;
    consume(some_spans(0, 1000, &budget));
    for (int i = 0; i < 1000 && collecting_sink_items(&behind) < 500; i++)
        tick(6 * NS_PER_S); /* what it has is under way, and waited for so long */
    ck_assert_uint_eq(collecting_sink_items(&behind), 500);
    most_taken = most_items = 1000;
    tick(6 * NS_PER_S);
    ck_assert_uint_eq(collecting_sink_items(&behind), 1000);
    for (unsigned i = 0; i < 1000; i++) {
        unsigned copies = 0;
        for (size_t b = 0; b < behind.count; b++)
            copies += some_batch_has(behind.batches[b], i);
        ck_assert_uint_eq(copies, 1);
    }
    collecting_sink_clear(&behind);
    finish();
}
END_TEST

START_TEST(a_group_is_a_small_part_of_the_memory_limit)
{
    given("timeout: 200ms");
    budget.limit = 32 * 1000;
    struct batch *batch = some_spans(0, 10, &budget);
    size_t fit = 1000 / batch->payload->size;
    ck_assert_uint_gt(fit, 0);
    consume(batch);
    for (size_t i = 1; i < fit; i++)
        consume(some_spans(0, 10, &budget));
    ck_assert_uint_eq(sink.count, 0);
    consume(some_spans(0, 10, &budget));
    ck_assert_uint_eq(sink.count, 1);
    tick(NS_PER_S);
    ck_assert_uint_eq(collecting_sink_items(&sink), 10 * (fit + 1));
    finish();
}
END_TEST

START_TEST(timeout_zero_passes_requests_through_split)
{
    given("{timeout: 0s, send_batch_max_size: 10000}");
    consume(some_spans(0, 3, &budget));
    ck_assert_uint_eq(sink.count, 1);
    ck_assert_uint_eq(sink.batches[0]->items, 3);
    finish();
}
END_TEST

START_TEST(tenants_are_never_mixed)
{
    given("timeout: 200ms");
    consume(of_tenant(some_spans(0, 1, &budget), "a"));
    consume(of_tenant(some_spans(1, 1, &budget), "b"));
    consume(of_tenant(some_spans(2, 1, &budget), "a"));
    consume(some_spans(3, 1, &budget));
    tick(NS_PER_S);
    ck_assert_uint_eq(sink.count, 3);
    for (size_t i = 0; i < sink.count; i++) {
        const struct metadata *metadata = sink.batches[i]->metadata;
        ck_assert(some_batch_has(sink.batches[i], 1) ==
                  (metadata && strcmp(metadata->tenant, "b") == 0));
        ck_assert(some_batch_has(sink.batches[i], 3) == !metadata);
    }
    finish();
}
END_TEST

START_TEST(pipelines_are_never_mixed)
{
    struct collecting_sink other;
    given("timeout: 200ms");
    collecting_sink_init(&other);
    struct batch *batch = some_spans(0, 1, &budget);
    processor_batch.consume(batcher, batch, &other.outlet);
    batch_unref(batch);
    consume(some_spans(1, 1, &budget));
    tick(NS_PER_S);
    ck_assert_uint_eq(sink.count, 1);
    ck_assert_uint_eq(other.count, 1);
    ck_assert(some_batch_has(other.batches[0], 0));
    collecting_sink_clear(&other);
    finish();
}
END_TEST

START_TEST(profiles_and_other_encodings_pass_untouched_at_once)
{
    given("timeout: 200ms");
    struct batch *pprof = some_spans(0, 1, &budget), *profiles = some_spans(0, 1, &budget);
    pprof->encoding = BATCH_PPROF;
    pprof->signal = profiles->signal = SIGNAL_PROFILES;
    ck_assert_int_eq(processor_batch.consume(batcher, pprof, &sink.outlet), VERDICT_OK);
    ck_assert_int_eq(processor_batch.consume(batcher, profiles, &sink.outlet), VERDICT_OK);
    ck_assert_uint_eq(sink.count, 2);
    ck_assert_ptr_eq(sink.batches[0], pprof);
    sink.verdict = VERDICT_RETRY;
    ck_assert_int_eq(processor_batch.consume(batcher, profiles, &sink.outlet), VERDICT_RETRY);
    batch_unref(pprof);
    batch_unref(profiles);
    finish();
}
END_TEST

START_TEST(what_a_full_queue_refuses_is_kept_and_offered_again)
{
    given("timeout: 200ms");
    sink.verdict = VERDICT_RETRY;
    consume(some_spans(0, 5, &budget));
    tick(NS_PER_S);
    ck_assert_uint_eq(sink.pushes, 1);
    ck_assert_uint_gt(budget_used(&budget), 0);
    ck_assert_uint_eq(settled_count, 0);
    tick(NS_PER_S);
    ck_assert_uint_eq(sink.pushes, 2);
    sink.verdict = VERDICT_OK;
    tick(NS_PER_S);
    ck_assert_uint_eq(collecting_sink_items(&sink), 5);
    ck_assert(!sink.batches[0]->admitted);
    finish();
}
END_TEST

START_TEST(a_place_reserved_for_the_request_serves_its_batch)
{
    given("send_batch_size: 10");
    struct batch *first = some_spans(0, 5, &budget), *second = some_spans(5, 5, &budget);
    first->admitted = second->admitted = true;
    consume(first);
    consume(second);
    ck_assert_uint_eq(sink.count, 1);
    ck_assert(sink.batches[0]->admitted);
    finish();
}
END_TEST

START_TEST(close_hands_on_what_is_held)
{
    given("timeout: 1h");
    consume(some_spans(0, 5, &budget));
    processor_batch.close(batcher);
    ck_assert_uint_eq(collecting_sink_items(&sink), 5);
    finish();
}
END_TEST

START_TEST(what_nobody_takes_at_close_is_counted_and_noted)
{
    given("timeout: 1h");
    sink.verdict = VERDICT_RETRY;
    consume(some_spans(0, 5, &budget));
    processor_batch.close(batcher);
    ck_assert_uint_eq(meter_get(&meter, METER_DROPPED, SIGNAL_TRACES), 5);
    ck_assert_uint_eq(settled_count, 1);
    ck_assert_int_eq(settled_worst.verdict, VERDICT_RETRY);
    finish();
}
END_TEST

enum { THREADS = 4, EACH = 200 };

static void *consume_many(void *ctx)
{
    unsigned first = *(unsigned *)ctx;
    for (unsigned i = 0; i < EACH; i++) {
        struct batch *batch = some_spans(first + i, 1, &budget);
        processor_batch.consume(batcher, batch, &sink.outlet);
        batch_unref(batch);
    }
    return NULL;
}

START_TEST(threads_lose_nothing)
{
    pthread_t threads[THREADS];
    unsigned firsts[THREADS];
    given("{send_batch_size: 7, send_batch_max_size: 7}");
    for (unsigned i = 0; i < THREADS; i++) {
        firsts[i] = i * EACH;
        pthread_create(&threads[i], NULL, consume_many, &firsts[i]);
    }
    tick(NS_PER_S);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    processor_batch.close(batcher);
    ck_assert_uint_eq(collecting_sink_items(&sink), THREADS * EACH);
    finish();
}
END_TEST

START_TEST(the_largest_size_must_not_be_below_the_size)
{
    ck_assert(!fill("{send_batch_size: 100, send_batch_max_size: 50}"));
    ck_assert_ptr_nonnull(
        strstr(problems.lines[0], "must be greater than or equal to send_batch_size"));
    keys_release(processor_batch.keys, batcher);
    free(batcher);
    problems_release(&problems);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        small_requests_leave_as_one_when_the_time_is_up,
        what_was_accepted_is_merged_also_where_the_budget_is_used_up,
        enough_items_leave_at_once,
        a_batch_stays_below_what_a_grpc_server_takes,
        larger_batches_are_split_and_nothing_is_lost,
        a_large_request_is_split_into_very_many,
        without_memory_parts_get_smaller_until_some_passes,
        a_group_is_a_small_part_of_the_memory_limit,
        timeout_zero_passes_requests_through_split,
        tenants_are_never_mixed,
        requests_with_other_headers_of_the_keys_are_not_merged,
        a_metadata_key_may_be_named_once,
        pipelines_are_never_mixed,
        profiles_and_other_encodings_pass_untouched_at_once,
        what_a_full_queue_refuses_is_kept_and_offered_again,
        a_place_reserved_for_the_request_serves_its_batch,
        close_hands_on_what_is_held,
        what_nobody_takes_at_close_is_counted_and_noted,
        threads_lose_nothing,
        the_largest_size_must_not_be_below_the_size,
        NULL,
    };
    return suite_run("batch processor", tests);
}
