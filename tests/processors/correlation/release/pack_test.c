/*
 * Segments compressed while the hold is more than half full: whatever happens meanwhile, each span
 * must leave once, byte for byte, in order.
 */
#include "processors/correlation/release/pack.h"

#include "lib/wire/codec/zstd_block.h"
#include "tests/processors/correlation/rig.h"

#include <pthread.h>

enum { IN_ONE = 20, TEXT = 900 };

/* Called while a segment is being compressed, or (while_read) while a span that leaves is edited;
 * without the lock. NULL: nothing happens. */
static _Thread_local void (*meanwhile)(void *ctx), (*while_read)(void *ctx);
static _Thread_local void *meanwhile_ctx;

void __real_edit_span(struct splice *splice, const struct otlp_span *span, const struct edit *edit,
                      const struct edit_policy *policy);
void __wrap_edit_span(struct splice *splice, const struct otlp_span *span, const struct edit *edit,
                      const struct edit_policy *policy);

void __wrap_edit_span(struct splice *splice, const struct otlp_span *span, const struct edit *edit,
                      const struct edit_policy *policy)
{
    void (*hook)(void *ctx) = while_read;
    while_read = NULL;
    if (hook)
        hook(meanwhile_ctx);
    __real_edit_span(splice, span, edit, policy);
}

struct view __real_zstd_block_pack(struct zstd_block *block, struct view in);
struct view __wrap_zstd_block_pack(struct zstd_block *block, struct view in);

struct view __wrap_zstd_block_pack(struct zstd_block *block, struct view in)
{
    void (*hook)(void *ctx) = meanwhile;
    meanwhile = NULL;
    if (hook)
        hook(meanwhile_ctx);
    return __real_zstd_block_pack(block, in);
}

/* The text of a span with this id; noise: not compressible. */
static void write_text(char out[TEXT + 1], uint64_t id, bool noise)
{
    uint64_t random = id * UINT64_C(0x9e3779b97f4a7c15) + 1;
    snprintf(out, TEXT, "span %016llx ", (unsigned long long)id);
    for (size_t i = strlen(out); i < TEXT; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        out[i] = (char)(noise ? 1 + random % 255 : 'a' + i % 7);
    }
    out[TEXT] = '\0';
}

static void put_span(struct bytes *out, uint64_t id, bool noise)
{
    char text[TEXT + 1];
    struct bytes body;
    bytes_init(&body, SIZE_MAX, NULL);
    rig_id(&body, 2, id);
    rig_number(&body, 7, WIRE_I64, RIG_START);
    rig_number(&body, 8, WIRE_I64, RIG_START + S);
    write_text(text, id, noise);
    rig_attribute(&body, 9, "text", text);
    rig_field(out, 2, bytes_view(&body));
    bytes_release(&body);
}

/* Roots first, first + 1, ... of "shop" in one request. */
static void send(struct rig *rig, uint64_t first, size_t count, bool noise)
{
    struct bytes request, resource, scope, entry;
    bytes_init(&request, SIZE_MAX, NULL);
    bytes_init(&resource, SIZE_MAX, NULL);
    bytes_init(&scope, SIZE_MAX, NULL);
    bytes_init(&entry, SIZE_MAX, NULL);
    rig_attribute(&resource, 1, "service.name", "shop");
    for (uint64_t id = first; id < first + count; id++)
        put_span(&scope, id, noise);
    rig_field(&entry, 1, bytes_view(&resource));
    rig_field(&entry, 2, bytes_view(&scope));
    rig_field(&request, 1, bytes_view(&entry));
    bytes_release(&resource);
    bytes_release(&scope);
    bytes_release(&entry);
    ck_assert_int_eq(rig_consume(rig, SIGNAL_TRACES, BATCH_OTLP, &request, (uint32_t)count),
                     VERDICT_OK);
}

/* Requests from id first on, far enough apart that their segments are not merged. Returns the id
 * after the last. */
static uint64_t fill(struct rig *rig, uint64_t first, size_t requests, bool noise)
{
    for (size_t i = 0; i < requests; i++, first += IN_ONE) {
        send(rig, first, IN_ONE, noise);
        fake_clock_advance(&rig->clock, 101 * NS_PER_MS);
    }
    return first;
}

static void ck_text(uint64_t id, struct view body, bool noise)
{
    char text[TEXT + 1];
    write_text(text, id, noise);
    ck_assert_msg(memmem(body.data, body.size, text, TEXT) != NULL,
                  "span %llu does not say what it said", (unsigned long long)id);
}

/* Reads what left into rig->out, and checks each span's text. */
static void collect(struct rig *rig, bool noise)
{
    for (size_t i = 0; i < rig->traces.count; i++) {
        struct otlp_walk walk;
        struct otlp_span span;
        otlp_walk_begin(&walk, SIGNAL_TRACES, buffer_view(rig->traces.batches[i]->payload));
        for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;)
            if (step == OTLP_ITEM) {
                otlp_span_read(walk.item.bytes, &span);
                ck_text(span_id_load(span.span_id.data), walk.item.bytes, noise);
            }
    }
    rig_collect(rig);
}

/* Counts packed segments in the hold, whose sizes must agree. */
static size_t count_packed(struct rig *rig)
{
    const struct hold *hold = &rig_self(rig)->hold;
    size_t bytes = 0, packed = 0;
    for (const struct segment *each = hold->oldest; each; each = each->newer) {
        bytes += each->charged;
        packed += each->packed > 0;
        ck_assert_uint_lt(each->packed, each->size);
    }
    ck_assert_uint_eq(bytes, hold->bytes);
    return packed;
}

/* Checks that first up to before behind left, in order. */
static void ck_in_order(struct rig *rig, uint64_t first, uint64_t behind)
{
    ck_assert_uint_eq(rig->count, behind - first);
    for (size_t i = 0; i < rig->count; i++)
        ck_assert_uint_eq(rig->out[i].id, first + i);
}

START_TEST(spans_come_out_of_the_compressed_hold_byte_for_byte_once_and_in_order)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1, remap: {}}");
    uint64_t end = fill(&rig, 1, 200, false);
    ck_assert_uint_gt(count_packed(&rig), 50);
    ck_assert_uint_eq(rig.traces.count, 0);
    rig_advance(&rig, 90 * S);
    collect(&rig, false);
    ck_in_order(&rig, 1, end);
    rig_close(&rig);
}
END_TEST

START_TEST(the_hold_takes_several_times_as_many_spans_as_its_memory)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    uint64_t each = IN_ONE * (TEXT + sizeof(struct held));
    fill(&rig, 1, 2 * (1 << 20) / each, false);
    ck_assert_uint_eq(rig.traces.count, 0);
    ck_assert_uint_le(rig_self(&rig)->hold.bytes, (1 << 20) * 3 / 4);
    ck_assert_uint_lt(budget_used(&rig.budget), 2 << 20);
    rig_close(&rig);
}
END_TEST

START_TEST(while_the_hold_is_half_empty_nothing_is_compressed)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    while (rig_self(&rig)->hold.bytes <= (1 << 19) - 2 * IN_ONE * (TEXT + 200))
        fill(&rig, 1 + rig_self(&rig)->hold.spans, 1, false);
    ck_assert_uint_eq(count_packed(&rig), 0);
    rig_close(&rig);
}
END_TEST

START_TEST(what_cannot_be_compressed_stays_as_it_is)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1, remap: {}}");
    uint64_t end = fill(&rig, 1, 40, true);
    ck_assert_uint_gt(rig_self(&rig)->hold.bytes, 1 << 19);
    ck_assert_uint_eq(count_packed(&rig), 0);
    rig_advance(&rig, 90 * S);
    collect(&rig, true);
    ck_in_order(&rig, 1, end);
    rig_close(&rig);
}
END_TEST

START_TEST(a_sample_links_a_span_whose_segment_is_compressed)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    fill(&rig, 1, 200, false);
    ck_assert_uint_gt(count_packed(&rig), 50);
    rig_window(&rig, 7, 1200, 2);
    collect(&rig, false);
    ck_assert(rig_linked(&rig, 2) && rig_linked(&rig, 7) && rig_linked(&rig, 1200));
    ck_assert_uint_eq(rig.count, 3);
    count_packed(&rig);
    rig_close(&rig);
}
END_TEST

/* Samples for span 3, and for all of the next segment. */
static void link_some(void *ctx)
{
    rig_window(ctx, 3, 0, 0);
}

static void link_segment(void *ctx)
{
    for (uint64_t id = 1; id <= IN_ONE; id += 3)
        rig_window(ctx, id, id + 1, id + 2);
}

START_TEST(a_span_may_leave_while_its_segment_is_compressed)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    meanwhile = link_some;
    meanwhile_ctx = &rig;
    uint64_t end = fill(&rig, 1, 200, false);
    ck_assert_ptr_null(meanwhile);
    collect(&rig, false);
    ck_assert(rig_linked(&rig, 3));
    ck_assert_uint_eq(rig.count, 1);
    ck_assert_uint_gt(count_packed(&rig), 50);
    rig_advance(&rig, 90 * S);
    collect(&rig, false);
    ck_assert_uint_eq(rig.count, end - 1);
    rig_close(&rig);
}
END_TEST

START_TEST(all_spans_may_leave_while_their_segment_is_compressed)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    meanwhile = link_segment;
    meanwhile_ctx = &rig;
    uint64_t end = fill(&rig, 1, 200, false);
    collect(&rig, false);
    ck_assert_uint_ge(rig.count, IN_ONE);
    for (uint64_t id = 1; id <= IN_ONE; id++)
        ck_assert(rig_linked(&rig, id));
    count_packed(&rig);
    rig_advance(&rig, 90 * S);
    collect(&rig, false);
    ck_assert_uint_eq(rig.count, end - 1);
    rig_close(&rig);
}
END_TEST

/* Compresses some. */
static void go_on(void *ctx)
{
    struct rig *rig = ctx;
    fake_clock_advance(&rig->clock, 101 * NS_PER_MS);
    send(rig, 1 << 20, IN_ONE, false);
    ck_assert_uint_gt(count_packed(rig), 0);
}

START_TEST(a_segment_whose_spans_are_being_read_is_left_alone)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    for (uint64_t id = 1; rig_self(&rig)->hold.bytes < 800 << 10; id += IN_ONE)
        send(&rig, id, IN_ONE, false);
    while_read = go_on;
    meanwhile_ctx = &rig;
    rig_window(&rig, 2, 3, 4);
    ck_assert_ptr_null(while_read);
    ck_assert_uint_eq(rig_self(&rig)->hold.oldest->packed, 0);
    collect(&rig, false);
    ck_assert(rig_linked(&rig, 2) && rig_linked(&rig, 3) && rig_linked(&rig, 4));
    rig_close(&rig);
}
END_TEST

START_TEST(the_oldest_leave_the_compressed_hold_when_it_is_full)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1, hold_max_spans: 3000, remap: {}}");
    uint64_t end = fill(&rig, 1, 400, false);
    collect(&rig, false);
    ck_in_order(&rig, 1, end - 3000);
    count_packed(&rig);
    rig_close(&rig);
}
END_TEST

START_TEST(segments_that_may_be_gathered_still_are_left_alone)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    for (uint64_t id = 1; rig_self(&rig)->hold.bytes < 800 << 10; id += IN_ONE)
        send(&rig, id, IN_ONE, false);
    ck_assert_uint_eq(count_packed(&rig), 0);
    fake_clock_advance(&rig.clock, 101 * NS_PER_MS);
    send(&rig, 1 << 20, IN_ONE, false);
    ck_assert_uint_gt(count_packed(&rig), 0);
    rig_close(&rig);
}
END_TEST

enum { THREADS = 3, REQUESTS = 150 };

struct sender {
    struct rig *rig;
    uint64_t first;
};

static void *send_many(void *ctx)
{
    const struct sender *sender = ctx;
    for (uint64_t i = 0; i < REQUESTS; i++) {
        uint64_t first = sender->first + i * IN_ONE;
        send(sender->rig, first, IN_ONE, false);
        fake_clock_advance(&sender->rig->clock, 40 * NS_PER_MS);
        /* Recent spans, and older ones. */
        if (i % 2)
            RIG_PROFILE(sender->rig, .duration = S,
                        .ids = {first, first - IN_ONE, sender->first + i * IN_ONE / 2});
        if (i % 8 == 0)
            processor_correlation.tick(sender->rig->self, sender->rig->clock.mono);
    }
    return NULL;
}

START_TEST(threads_that_hold_link_and_compress_lose_and_spoil_nothing)
{
    struct rig rig;
    pthread_t threads[THREADS];
    struct sender senders[THREADS];
    rig_open(&rig, "{hold_max_mib: 1, hold: 100s}");
    for (size_t i = 0; i < THREADS; i++) {
        senders[i] = (struct sender){&rig, 1000 + i * REQUESTS * IN_ONE};
        pthread_create(&threads[i], NULL, send_many, &senders[i]);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_gt(count_packed(&rig), 0);
    rig_advance(&rig, 200 * S);
    collect(&rig, false);
    enum { ALL = THREADS * REQUESTS * IN_ONE };
    ck_assert_uint_eq(rig.count, ALL);
    bool *seen = calloc(ALL, sizeof *seen);
    for (size_t i = 0; i < ALL; i++) {
        ck_assert(!seen[rig.out[i].id - 1000]);
        seen[rig.out[i].id - 1000] = true;
    }
    free(seen);
    rig_close(&rig);
}
END_TEST

SUITE_MAIN("correlation pack",
           spans_come_out_of_the_compressed_hold_byte_for_byte_once_and_in_order,
           the_hold_takes_several_times_as_many_spans_as_its_memory,
           while_the_hold_is_half_empty_nothing_is_compressed,
           what_cannot_be_compressed_stays_as_it_is,
           a_sample_links_a_span_whose_segment_is_compressed,
           a_span_may_leave_while_its_segment_is_compressed,
           all_spans_may_leave_while_their_segment_is_compressed,
           a_segment_whose_spans_are_being_read_is_left_alone,
           the_oldest_leave_the_compressed_hold_when_it_is_full,
           segments_that_may_be_gathered_still_are_left_alone,
           threads_that_hold_link_and_compress_lose_and_spoil_nothing)
