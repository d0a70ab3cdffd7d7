/*
 * Segments compressed while the hold is more than half full: whatever happens meanwhile, each span
 * must leave once, byte for byte, in order.
 */
#include "processors/correlation/release/pack.h"

#include "lib/wire/codec/zstd_block.h"
#include "tests/processors/correlation/release/texts.h"

#include <pthread.h>

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

START_TEST(spans_come_out_of_the_compressed_hold_byte_for_byte_once_and_in_order)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1, remap: {}}");
    uint64_t end = texts_fill(&rig, 1, 200, false);
    ck_assert_uint_gt(texts_packed(&rig), 50);
    ck_assert_uint_eq(rig.traces.count, 0);
    rig_advance(&rig, 90 * S);
    texts_collect(&rig, false);
    texts_in_order(&rig, 1, end);
    rig_close(&rig);
}
END_TEST

START_TEST(the_hold_takes_several_times_as_many_spans_as_its_memory)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    uint64_t each = TEXTS_IN_ONE * (TEXTS_SIZE + sizeof(struct held));
    texts_fill(&rig, 1, 2 * (1 << 20) / each, false);
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
    while (rig_self(&rig)->hold.bytes <= (1 << 19) - 2 * TEXTS_IN_ONE * (TEXTS_SIZE + 200))
        texts_fill(&rig, 1 + rig_self(&rig)->hold.spans, 1, false);
    ck_assert_uint_eq(texts_packed(&rig), 0);
    rig_close(&rig);
}
END_TEST

START_TEST(what_cannot_be_compressed_stays_as_it_is)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1, remap: {}}");
    uint64_t end = texts_fill(&rig, 1, 40, true);
    ck_assert_uint_gt(rig_self(&rig)->hold.bytes, 1 << 19);
    ck_assert_uint_eq(texts_packed(&rig), 0);
    rig_advance(&rig, 90 * S);
    texts_collect(&rig, true);
    texts_in_order(&rig, 1, end);
    rig_close(&rig);
}
END_TEST

/* Since all of it is inflated to let one span go. */
START_TEST(a_very_large_segment_is_not_compressed)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 8, remap: {}}");
    for (uint64_t i = 0; i < 3; i++) {
        texts_send(&rig, 1 + i * 2500, 2500, false);
        fake_clock_advance(&rig.clock, 101 * NS_PER_MS);
    }
    ck_assert_uint_gt(rig_self(&rig)->hold.bytes, 4 << 20);
    ck_assert_uint_eq(texts_packed(&rig), 0);
    rig_close(&rig);
}
END_TEST

START_TEST(a_sample_links_a_span_whose_segment_is_compressed)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    texts_fill(&rig, 1, 200, false);
    ck_assert_uint_gt(texts_packed(&rig), 50);
    rig_window(&rig, 7, 1200, 2);
    texts_collect(&rig, false);
    ck_assert(rig_linked(&rig, 2) && rig_linked(&rig, 7) && rig_linked(&rig, 1200));
    ck_assert_uint_eq(rig.count, 3);
    texts_packed(&rig);
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
    for (uint64_t id = 1; id <= TEXTS_IN_ONE; id += 3)
        rig_window(ctx, id, id + 1, id + 2);
}

START_TEST(a_span_may_leave_while_its_segment_is_compressed)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    meanwhile = link_some;
    meanwhile_ctx = &rig;
    uint64_t end = texts_fill(&rig, 1, 200, false);
    ck_assert_ptr_null(meanwhile);
    texts_collect(&rig, false);
    ck_assert(rig_linked(&rig, 3));
    ck_assert_uint_eq(rig.count, 1);
    ck_assert_uint_gt(texts_packed(&rig), 50);
    rig_advance(&rig, 90 * S);
    texts_collect(&rig, false);
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
    uint64_t end = texts_fill(&rig, 1, 200, false);
    texts_collect(&rig, false);
    ck_assert_uint_ge(rig.count, TEXTS_IN_ONE);
    for (uint64_t id = 1; id <= TEXTS_IN_ONE; id++)
        ck_assert(rig_linked(&rig, id));
    texts_packed(&rig);
    rig_advance(&rig, 90 * S);
    texts_collect(&rig, false);
    ck_assert_uint_eq(rig.count, end - 1);
    rig_close(&rig);
}
END_TEST

/* Compresses some. */
static void go_on(void *ctx)
{
    struct rig *rig = ctx;
    fake_clock_advance(&rig->clock, 101 * NS_PER_MS);
    texts_send(rig, 1 << 20, TEXTS_IN_ONE, false);
    ck_assert_uint_gt(texts_packed(rig), 0);
}

START_TEST(a_segment_whose_spans_are_being_read_is_left_alone)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    for (uint64_t id = 1; rig_self(&rig)->hold.bytes < 800 << 10; id += TEXTS_IN_ONE)
        texts_send(&rig, id, TEXTS_IN_ONE, false);
    while_read = go_on;
    meanwhile_ctx = &rig;
    rig_window(&rig, 2, 3, 4);
    ck_assert_ptr_null(while_read);
    ck_assert_uint_eq(rig_self(&rig)->hold.oldest->packed, 0);
    texts_collect(&rig, false);
    ck_assert(rig_linked(&rig, 2) && rig_linked(&rig, 3) && rig_linked(&rig, 4));
    rig_close(&rig);
}
END_TEST

START_TEST(the_oldest_leave_the_compressed_hold_when_it_is_full)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1, hold_max_spans: 3000, remap: {}}");
    uint64_t end = texts_fill(&rig, 1, 400, false);
    texts_collect(&rig, false);
    texts_in_order(&rig, 1, end - 3000);
    texts_packed(&rig);
    rig_close(&rig);
}
END_TEST

START_TEST(segments_that_may_be_gathered_still_are_left_alone)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    for (uint64_t id = 1; rig_self(&rig)->hold.bytes < 800 << 10; id += TEXTS_IN_ONE)
        texts_send(&rig, id, TEXTS_IN_ONE, false);
    ck_assert_uint_eq(texts_packed(&rig), 0);
    fake_clock_advance(&rig.clock, 101 * NS_PER_MS);
    texts_send(&rig, 1 << 20, TEXTS_IN_ONE, false);
    ck_assert_uint_gt(texts_packed(&rig), 0);
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
        uint64_t first = sender->first + i * TEXTS_IN_ONE;
        texts_send(sender->rig, first, TEXTS_IN_ONE, false);
        fake_clock_advance(&sender->rig->clock, 40 * NS_PER_MS);
        /* Recent spans, and older ones. */
        if (i % 2)
            RIG_PROFILE(sender->rig, .duration = S,
                        .ids = {first, first - TEXTS_IN_ONE, sender->first + i * TEXTS_IN_ONE / 2});
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
        senders[i] = (struct sender){&rig, 1000 + i * REQUESTS * TEXTS_IN_ONE};
        pthread_create(&threads[i], NULL, send_many, &senders[i]);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_gt(texts_packed(&rig), 0);
    rig_advance(&rig, 200 * S);
    texts_collect(&rig, false);
    enum { ALL = THREADS * REQUESTS * TEXTS_IN_ONE };
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
           what_cannot_be_compressed_stays_as_it_is, a_very_large_segment_is_not_compressed,
           a_sample_links_a_span_whose_segment_is_compressed,
           a_span_may_leave_while_its_segment_is_compressed,
           all_spans_may_leave_while_their_segment_is_compressed,
           a_segment_whose_spans_are_being_read_is_left_alone,
           the_oldest_leave_the_compressed_hold_when_it_is_full,
           segments_that_may_be_gathered_still_are_left_alone,
           threads_that_hold_link_and_compress_lose_and_spoil_nothing)
