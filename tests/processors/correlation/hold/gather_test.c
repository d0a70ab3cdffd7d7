/* Requests with one span or a few: whether merged or not, each span leaves as it would alone. */
#include "processors/correlation/hold/gather.h"

#include "tests/processors/correlation/rig.h"

/* Counts the segments in the hold; the lists must agree in both directions. */
static size_t segments(struct rig *rig)
{
    const struct hold *hold = &rig_self(rig)->hold;
    size_t count = 0, back = 0;
    size_t bytes = 0;
    uint64_t spans = 0;
    for (const struct segment *each = hold->oldest; each; each = each->newer) {
        count++;
        bytes += each->charged;
        spans += each->live;
    }
    for (const struct segment *each = hold->newest; each; each = each->older)
        back++;
    ck_assert_uint_eq(back, count);
    ck_assert_uint_eq(bytes, hold->bytes);
    ck_assert_uint_eq(spans, hold->spans);
    return count;
}

/* Local roots first, first + 1, ..., each in its own request. */
static void roots(struct rig *rig, uint64_t first, size_t count)
{
    for (uint64_t id = first; id < first + count; id++)
        rig_root(rig, id, rig_now(rig), rig_now(rig));
}

static void ck_in_order(struct rig *rig, size_t from, uint64_t first, size_t count)
{
    rig_collect(rig);
    ck_assert_uint_eq(rig->count, from + count);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(rig->out[from + i].id, first + i);
}

START_TEST(requests_of_one_span_share_what_stands_beside_it)
{
    struct rig rig;
    rig_open(&rig, "{}");
    roots(&rig, 1, 1);
    size_t one = rig_self(&rig)->hold.bytes;
    roots(&rig, 2, 10 * GATHER_EACH - 1);
    ck_assert_uint_eq(segments(&rig), 10);
    ck_assert_uint_lt(rig_self(&rig)->hold.bytes,
                      10 * GATHER_EACH * (one - sizeof(struct segment) * 9 / 10));
    rig_close(&rig);
}
END_TEST

START_TEST(each_span_is_decided_for_itself)
{
    struct rig rig;
    enum { N = 2 * GATHER_EACH + 5 };
    rig_open(&rig, "{}");
    rig_warm(&rig);
    roots(&rig, 1, N);
    ck_assert_uint_eq(segments(&rig), 2 + 5);
    rig_advance(&rig, 5 * S);
    rig_window(&rig, 1, GATHER_EACH, N);
    for (uint64_t id = 1; id <= N; id++)
        if (id == 1 || id == GATHER_EACH || id == N)
            ck_assert(rig_linked(&rig, id));
        else
            ck_assert(rig_waits(&rig, id));
    rig_advance(&rig, 5 * S);
    rig_window(&rig, 2, GATHER_EACH + 1, 0);
    ck_assert(rig_linked(&rig, 2) && rig_linked(&rig, GATHER_EACH + 1) && rig_waits(&rig, 3));
    rig_advance(&rig, 30 * S);
    ck_assert(rig_bare(&rig, 3) && rig_bare(&rig, N - 1));
    rig_collect(&rig);
    ck_assert_uint_eq(rig.count, N);
    ck_assert_uint_eq(segments(&rig), 0);
    rig_close(&rig);
}
END_TEST

START_TEST(spans_leave_in_the_order_in_which_they_came)
{
    struct rig rig;
    enum { N = 3 * GATHER_EACH + 7 };
    rig_open(&rig, "{}");
    rig_warm(&rig);
    roots(&rig, 1, N);
    rig_advance(&rig, 60 * S);
    ck_in_order(&rig, 0, 1, N);
    ck_assert_uint_eq(rig.batches, 1);
    rig_close(&rig);
}
END_TEST

/* A segment is not moved once one of its spans has left. */
START_TEST(spans_beside_one_that_left_are_not_moved)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    RIG_SPANS(&rig, {.id = 1, .start = RIG_WARM, .end = RIG_WARM},
              {.id = 2, .start = RIG_WARM, .end = RIG_WARM});
    rig_window(&rig, 2, 0, 0);
    ck_assert(rig_linked(&rig, 2) && rig_waits(&rig, 1));
    roots(&rig, 3, GATHER_EACH - 1);
    ck_assert_uint_eq(segments(&rig), 2);
    rig_advance(&rig, 80 * S);
    ck_assert(rig_bare(&rig, 1));
    rig_collect(&rig);
    ck_assert_uint_eq(rig.count, GATHER_EACH + 1);
    rig_close(&rig);
}
END_TEST

START_TEST(in_slow_traffic_requests_stay_apart)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    for (uint64_t id = 1; id <= GATHER_EACH + 1; id++) {
        roots(&rig, id, 1);
        rig_advance(&rig, GATHER_WITHIN + 1);
    }
    ck_assert_uint_eq(segments(&rig), GATHER_EACH + 1);
    rig_close(&rig);
}
END_TEST

START_TEST(a_span_waits_its_hold_and_at_most_a_moment_more)
{
    struct rig rig;
    rig_open(&rig, "{hold: 5s}");
    rig_warm(&rig);
    uint64_t came = rig_now(&rig);
    roots(&rig, 1, 1);
    rig_advance(&rig, GATHER_WITHIN);
    roots(&rig, 2, 1);
    rig_advance(&rig, 1);
    roots(&rig, 3, 1);
    ck_assert_uint_eq(segments(&rig), 2);
    rig_until(&rig, came + GATHER_WITHIN + 5 * S - 1);
    ck_assert(rig_waits(&rig, 1) && rig_waits(&rig, 2) && rig_waits(&rig, 3));
    rig_advance(&rig, 1);
    ck_assert(rig_bare(&rig, 1) && rig_bare(&rig, 2) && rig_waits(&rig, 3));
    rig_advance(&rig, 1);
    ck_assert(rig_bare(&rig, 3));
    rig_close(&rig);
}
END_TEST

/* The headers that a span left with: its resource's language and its scope's schema. */
struct headers {
    char language[16], schema[16];
};

static struct headers headers_of(struct rig *rig, uint64_t id)
{
    struct headers headers = {0};
    for (size_t i = 0; i < rig->traces.count; i++) {
        struct otlp_walk walk;
        otlp_walk_begin(&walk, SIGNAL_TRACES, buffer_view(rig->traces.batches[i]->payload));
        for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
            struct otlp_span span;
            struct proto_field schema;
            if (step != OTLP_ITEM)
                continue;
            otlp_span_read(walk.item.bytes, &span);
            if (span_id_load(span.span_id.data) != id)
                continue;
            struct view language =
                otlp_resource_attribute(walk.resource_entry.bytes, VIEW("telemetry.sdk.language"));
            ck_assert(proto_find(walk.scope_entry.bytes, 3, WIRE_LEN, &schema));
            snprintf(headers.language, sizeof headers.language, "%.*s", VIEW_ARG(language));
            snprintf(headers.schema, sizeof headers.schema, "%.*s", VIEW_ARG(schema.bytes));
        }
    }
    return headers;
}

/* A root of "shop" in a request with these resource and scopes; id + 1000 in scope b. */
static void put_headed(struct rig *rig, uint64_t id, const char *language, const char *a,
                       const char *b)
{
    struct bytes request, resource, entry;
    bytes_init(&request, SIZE_MAX, NULL);
    bytes_init(&resource, SIZE_MAX, NULL);
    bytes_init(&entry, SIZE_MAX, NULL);
    rig_attribute(&resource, 1, "service.name", "shop");
    rig_attribute(&resource, 1, "telemetry.sdk.language", language);
    rig_field(&entry, 1, bytes_view(&resource));
    for (uint32_t i = 0; i < (b ? 2 : 1); i++) {
        struct bytes scope;
        bytes_init(&scope, SIZE_MAX, NULL);
        rig_put_span(&scope, &(struct rig_span){.id = id + 1000 * i, .end = S});
        rig_field(&scope, 3, view_of(i ? b : a));
        rig_field(&entry, 2, bytes_view(&scope));
        bytes_release(&scope);
    }
    rig_field(&request, 1, bytes_view(&entry));
    bytes_release(&entry);
    bytes_release(&resource);
    rig_consume(rig, SIGNAL_TRACES, BATCH_OTLP, &request, b ? 2 : 1);
}

START_TEST(spans_keep_their_resource_and_scopes)
{
    struct rig rig;
    static const char *const languages[] = {"go", "java"};
    rig_open(&rig, "{}");
    /* Both processes have as many requests as are merged at once. */
    for (uint64_t id = 0; id < 2 * GATHER_EACH; id++)
        put_headed(&rig, id + 1, languages[id % 2], id % 4 < 2 ? "x" : "y",
                   id % 8 < 4 ? NULL : "z");
    ck_assert_uint_eq(segments(&rig), 8);
    rig_advance(&rig, 60 * S);
    for (uint64_t id = 0; id < 2 * GATHER_EACH; id++) {
        struct headers headers = headers_of(&rig, id + 1);
        ck_assert_str_eq(headers.language, languages[id % 2]);
        ck_assert_str_eq(headers.schema, id % 4 < 2 ? "x" : "y");
        headers = headers_of(&rig, id + 1001);
        ck_assert_str_eq(headers.language, id % 8 < 4 ? "" : languages[id % 2]);
        ck_assert_str_eq(headers.schema, id % 8 < 4 ? "" : "z");
    }
    rig_close(&rig);
}
END_TEST

START_TEST(each_tenant_gets_its_own_spans)
{
    struct rig rig;
    rig_open(&rig, "{}");
    for (uint64_t id = 1; id <= GATHER_EACH; id++) {
        bool failed;
        metadata_unref(rig.metadata);
        rig.metadata = metadata_new(id % 2 ? VIEW("odd") : VIEW("even"), VIEW("key"), &failed);
        roots(&rig, id, 1);
    }
    ck_assert_uint_eq(segments(&rig), 2);
    rig_advance(&rig, 60 * S);
    ck_assert_uint_eq(rig.traces.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct batch *batch = rig.traces.batches[i];
        ck_assert_uint_eq(batch->items, GATHER_EACH / 2);
        ck_assert_str_eq(batch->metadata->tenant, i == 0 ? "odd" : "even");
        ck_assert_str_eq(batch->metadata->authorization, "key");
    }
    rig_collect(&rig);
    for (size_t i = 0; i < rig.count; i++)
        ck_assert_uint_eq(rig.out[i].id % 2, rig.out[i].batch == 0);
    rig_close(&rig);
}
END_TEST

START_TEST(spans_that_others_have_do_not_mix_with_those_that_nobody_has)
{
    struct rig rig;
    const uint64_t key = 7;
    rig_open(&rig, "{}");
    for (uint64_t id = 1; id <= GATHER_EACH; id++) {
        addressees_unref(rig.delivered_to);
        rig.delivered_to = addressees_new(&key, id % 2);
        roots(&rig, id, 1);
    }
    rig_advance(&rig, 60 * S);
    ck_assert_uint_eq(rig.traces.count, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(rig.traces.batches[i]->items, GATHER_EACH / 2);
        ck_assert_int_eq(addressees_has(rig.traces.batches[i]->delivered_to, key), i == 0);
    }
    rig_collect(&rig);
    for (size_t i = 0; i < rig.count; i++)
        ck_assert_uint_eq(rig.out[i].id % 2, rig.out[i].batch == 0);
    rig_close(&rig);
}
END_TEST

static void settle(void *ctx, const struct outcome *worst)
{
    *(bool *)ctx = worst->verdict == VERDICT_OK;
}

START_TEST(a_receipt_settles_with_the_spans_of_its_request_alone)
{
    struct rig rig;
    bool settled[GATHER_EACH + 1] = {0};
    rig_open(&rig, "{}");
    rig_warm(&rig);
    for (uint64_t id = 1; id <= GATHER_EACH; id++) {
        rig.receipt = receipt_new(settle, &settled[id]);
        roots(&rig, id, 1);
        receipt_unref(rig.receipt);
    }
    rig.receipt = NULL;
    rig_advance(&rig, 5 * S);
    rig_window(&rig, 7, 0, 0);
    ck_assert(rig_linked(&rig, 7));
    for (uint64_t id = 1; id <= GATHER_EACH; id++)
        ck_assert_int_eq(settled[id], id == 7);
    rig_advance(&rig, 60 * S);
    rig_collect(&rig);
    for (uint64_t id = 1; id <= GATHER_EACH; id++)
        ck_assert(settled[id]);
    rig_close(&rig);
}
END_TEST

START_TEST(past_hold_max_spans_the_oldest_leave_first)
{
    struct rig rig;
    enum { MAX = 50, N = 4 * GATHER_EACH };
    rig_open(&rig, "{hold_max_spans: 50}");
    for (uint64_t id = 1; id <= N; id++) {
        roots(&rig, id, 1);
        segments(&rig);
        ck_assert_uint_le(rig_self(&rig)->hold.spans, MAX);
    }
    ck_in_order(&rig, 0, 1, N - MAX);
    rig_close(&rig);
}
END_TEST

START_TEST(past_hold_max_mib_the_oldest_leave_first)
{
    struct rig rig;
    enum { N = 12000 };
    rig_open(&rig, "{hold_max_mib: 1}");
    for (uint64_t id = 1; id <= N; id++) {
        roots(&rig, id, 1);
        ck_assert_uint_le(rig_self(&rig)->hold.bytes, 1 << 20);
    }
    rig_collect(&rig);
    ck_in_order(&rig, 0, 1, rig.count);
    ck_assert_uint_gt(rig.count, 0);
    ck_assert_uint_eq(rig.count + rig_self(&rig)->hold.spans, N);
    rig_close(&rig);
}
END_TEST

START_TEST(without_memory_to_gather_spans_wait_as_they_are)
{
    struct rig rig;
    rig_open(&rig, "{}");
    roots(&rig, 1, GATHER_EACH - 1);
    rig.budget.limit = budget_used(&rig.budget) + GATHER_SMALL;
    roots(&rig, GATHER_EACH, 1);
    ck_assert_uint_eq(segments(&rig), GATHER_EACH);
    ck_assert_uint_eq(rig_self(&rig)->hold.spans, GATHER_EACH);
    rig.budget.limit = SIZE_MAX;
    roots(&rig, GATHER_EACH + 1, GATHER_EACH);
    ck_assert_uint_eq(rig_self(&rig)->hold.spans, 2 * GATHER_EACH);
    rig_advance(&rig, 60 * S);
    ck_in_order(&rig, 0, 1, 2 * GATHER_EACH);
    rig_close(&rig);
}
END_TEST

START_TEST(large_requests_stay_apart)
{
    struct rig rig;
    struct rig_span spans[GATHER_EACH];
    rig_open(&rig, "{}");
    for (uint64_t i = 0; i < 2 * GATHER_EACH; i++) {
        for (size_t j = 0; j < GATHER_EACH; j++)
            spans[j] = (struct rig_span){.id = i * GATHER_EACH + j + 1, .end = S};
        rig_spans(&rig, spans, GATHER_EACH);
    }
    ck_assert_uint_eq(segments(&rig), 2 * GATHER_EACH);
    rig_close(&rig);
}
END_TEST

START_TEST(at_close_everything_leaves_judged_or_as_it_came)
{
    struct rig rig;
    enum { N = GATHER_EACH + 3 };
    rig_open(&rig, "{}");
    rig_warm(&rig);
    roots(&rig, 1, N);
    rig_advance(&rig, 5 * S);
    rig_window(&rig, 4, 0, 0);
    rig_stop(&rig);
    ck_assert(rig_linked(&rig, 4));
    rig_collect(&rig);
    ck_assert_uint_eq(rig.count, N);
    for (size_t i = 1; i < N; i++)
        ck_assert_uint_eq(rig.out[i].id, i < 4 ? i : i + 1);
    rig_close(&rig);
}
END_TEST

START_TEST(children_wait_for_their_root_in_another_request)
{
    struct rig rig;
    rig_open(&rig, "{children: inherit}");
    for (uint64_t id = 1; id <= GATHER_EACH; id++)
        RIG_SPANS(&rig, {.id = 1000 + id, .parent = id, .end = S});
    roots(&rig, 1, GATHER_EACH);
    ck_assert_uint_eq(segments(&rig), 2);
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 3, 0, 0);
    rig_advance(&rig, 2 * S);
    ck_assert(rig_linked_as(&rig, 1003, 3) && rig_linked(&rig, 3) && rig_waits(&rig, 1004));
    rig_advance(&rig, 60 * S);
    ck_assert(rig_bare(&rig, 1004) && rig_bare(&rig, 1001) && rig_bare(&rig, 4));
    rig_close(&rig);
}
END_TEST

SUITE_MAIN("correlation gather", requests_of_one_span_share_what_stands_beside_it,
           each_span_is_decided_for_itself, spans_leave_in_the_order_in_which_they_came,
           spans_beside_one_that_left_are_not_moved, in_slow_traffic_requests_stay_apart,
           a_span_waits_its_hold_and_at_most_a_moment_more, spans_keep_their_resource_and_scopes,
           each_tenant_gets_its_own_spans, a_receipt_settles_with_the_spans_of_its_request_alone,
           spans_that_others_have_do_not_mix_with_those_that_nobody_has,
           past_hold_max_spans_the_oldest_leave_first, past_hold_max_mib_the_oldest_leave_first,
           without_memory_to_gather_spans_wait_as_they_are, large_requests_stay_apart,
           at_close_everything_leaves_judged_or_as_it_came,
           children_wait_for_their_root_in_another_request)
