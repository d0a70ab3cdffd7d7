#include "lib/wire/otlp/otlp.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static struct arena arena;
static struct splice splice;
static const char *reason;

static uint32_t drop(struct view request)
{
    arena_init(&arena, 1 << 20);
    splice_begin(&splice, request, &arena);
    return otlp_traces_drop_invalid(request, &splice, &reason);
}

static bool leaves(struct view want)
{
    uint8_t *out = malloc(splice_size(&splice) + 1);
    splice_write(&splice, out);
    bool same = view_eq((struct view){out, splice_size(&splice)}, want);
    free(out);
    arena_release(&arena);
    return same;
}

static struct view request_of(struct view spans)
{
    return PB_MESSAGE(1, PB_MESSAGE(1, pb_attribute(1, "service.name", "s")),
                      PB_MESSAGE(2, PB_EMPTY(1), spans, PB_TEXT(3, "url")), PB_TEXT(99, "unknown"));
}

START_TEST(good_spans_are_not_touched)
{
    struct view link = PB_MESSAGE(13, pb_fill(1, 16, 1), pb_fill(2, 8, 1));
    struct view good =
        PB_JOIN(PB_SPAN(pb_fill(4, 8, 3), link), PB_SPAN(PB_EMPTY(4)), PB_SPAN(PB_EMPTY(13)));
    ck_assert_uint_eq(drop(request_of(good)), 0);
    ck_assert_ptr_null(reason);
    ck_assert(!splice_any(&splice));
    arena_release(&arena);
}
END_TEST

START_TEST(each_fault_of_an_id_costs_its_span_only)
{
    struct view good = PB_SPAN(PB_TEXT(5, "good"));
    const struct {
        struct view bad;
        const char *reason;
    } cases[] = {
        {PB_MESSAGE(2, pb_fill(2, 8, 1)), "the trace id is missing"},
        {PB_MESSAGE(2, pb_fill(1, 16, 1)), "the span id is missing"},
        {PB_MESSAGE(2, pb_fill(1, 16, 0), pb_fill(2, 8, 1)), "the trace id is all zero"},
        {PB_MESSAGE(2, pb_fill(1, 16, 1), pb_fill(2, 8, 0)), "the span id is all zero"},
        {PB_MESSAGE(2, pb_fill(1, 15, 1), pb_fill(2, 8, 1)), "the trace id is not 16 bytes long"},
        {PB_MESSAGE(2, pb_fill(1, 16, 1), pb_fill(2, 9, 1)), "the span id is not 8 bytes long"},
        {PB_SPAN(pb_fill(4, 7, 1)), "the parent span id is not 8 bytes long"},
        {PB_SPAN(PB_MESSAGE(13, pb_fill(1, 8, 1))),
         "the trace id of a span link is not 16 bytes long"},
        {PB_SPAN(PB_MESSAGE(13, pb_fill(2, 16, 1))),
         "the span id of a span link is not 8 bytes long"},
        {PB_MESSAGE(2, pb_fill(1, 3, 1), pb_fill(1, 16, 1), pb_fill(2, 8, 1)),
         "the trace id is not 16 bytes long"},
        {PB_EMPTY(2), "the trace id is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_uint_eq(drop(request_of(PB_JOIN(good, cases[i].bad, good))), 1);
        ck_assert_str_eq(reason, cases[i].reason);
        ck_assert(leaves(request_of(PB_JOIN(good, good))));
    }
}
END_TEST

START_TEST(scopes_and_resources_that_lose_all_spans_go_too)
{
    struct view good = request_of(PB_SPAN(PB_TEXT(5, "good")));
    struct view bad = request_of(PB_JOIN(PB_EMPTY(2), PB_EMPTY(2)));
    ck_assert_uint_eq(drop(PB_JOIN(bad, good, bad)), 4);
    ck_assert(leaves(good));
    ck_assert_uint_eq(drop(bad), 2);
    ck_assert(leaves((struct view){0}));
    /* Drops one of two scopes. */
    struct view kept = PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "good")));
    ck_assert_uint_eq(drop(PB_MESSAGE(1, PB_MESSAGE(2, PB_EMPTY(2)), kept)), 1);
    ck_assert(leaves(PB_MESSAGE(1, kept)));
}
END_TEST

START_TEST(what_was_empty_before_stays)
{
    struct view request = PB_JOIN(PB_EMPTY(1), PB_MESSAGE(1, PB_EMPTY(2)));
    ck_assert_uint_eq(drop(request), 0);
    ck_assert(leaves(request));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        good_spans_are_not_touched,
        each_fault_of_an_id_costs_its_span_only,
        scopes_and_resources_that_lose_all_spans_go_too,
        what_was_empty_before_stays,
        NULL,
    };
    return suite_run("otlp_invalid", tests);
}
