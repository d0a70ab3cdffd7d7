/* Spans that cannot be decided keep their mark. */
#include "tests/processors/correlation/rig.h"

static void span(struct rig *rig, uint64_t id, uint64_t start, uint64_t end)
{
    char mark[17] = "";
    struct rig_span row = {.id = id, .start = start, .end = end, .attributes = {mark}};
    span_id_format(id, mark);
    rig_spans(rig, &row, 1);
}

static void go_on(struct rig *rig, uint64_t until, uint64_t id)
{
    while (rig_now(rig) < until) {
        rig_advance(rig, 10 * S);
        rig_window(rig, id, 0, 0);
    }
}

static bool is_as_it_came(struct rig *rig, uint64_t id)
{
    return rig_linked(rig, id); /* its mark has the id */
}

/* More ids than an index of 1 MiB can hold. */
static void overflow(struct rig *rig)
{
    uint64_t first = UINT64_C(1) << 40;
    for (int i = 0; i < 40; i++, first += 2000)
        RIG_PROFILE(rig, .time = rig_now(rig) - 10 * S, .duration = 10 * S, .first = first,
                    .first_count = 2000);
}

START_TEST(where_ids_had_to_leave_the_index_a_span_from_before_keeps_its_mark)
{
    struct rig rig;
    rig_open(&rig, "{index_max_mib: 1}");
    rig_warm(&rig);
    rig_advance(&rig, 10 * S);
    overflow(&rig);
    ck_assert_uint_gt(rig_self(&rig)->index.table.evicted, 10000);
    rig_advance(&rig, 5 * S);
    span(&rig, 1, RIG_WARM + 5 * S, RIG_WARM + 14 * S);  /* before */
    span(&rig, 2, RIG_WARM + 12 * S, RIG_WARM + 14 * S); /* after */
    go_on(&rig, RIG_WARM + 55 * S, 0);
    ck_assert(is_as_it_came(&rig, 1));
    ck_assert(rig_bare(&rig, 2));
    ck_assert(rig_explains(&rig, "forwarded unchanged 1 (samples may be forgotten 1)"));
    rig_close(&rig);
}
END_TEST

START_TEST(a_span_that_waits_while_ids_leave_the_index_is_linked_by_its_sample)
{
    struct rig rig;
    rig_open(&rig, "{index_max_mib: 1}");
    rig_warm(&rig);
    span(&rig, 1, RIG_WARM - S, RIG_WARM);
    span(&rig, 2, RIG_WARM - S, RIG_WARM);
    rig_advance(&rig, 10 * S);
    overflow(&rig);
    rig_window(&rig, 1, 0, 0);
    ck_assert(rig_linked(&rig, 1));
    rig_advance(&rig, 60 * S);
    ck_assert(rig_bare(&rig, 2)); /* none of its samples arrived before it */
    rig_close(&rig);
}
END_TEST

START_TEST(a_span_longer_than_remember_keeps_its_mark)
{
    struct rig rig;
    rig_open(&rig, "{remember: 1m}");
    rig_warm(&rig);
    uint64_t start = RIG_WARM;
    go_on(&rig, start + 10 * S, 1); /* sampled at its start */
    go_on(&rig, start + 90 * S, 5);
    span(&rig, 1, start + S, start + 89 * S);
    span(&rig, 2, start + 60 * S, start + 89 * S);
    span(&rig, 5, start + S, start + 89 * S); /* sampled all the time */
    ck_assert(rig_linked(&rig, 5));
    go_on(&rig, start + 130 * S, 5);
    ck_assert(is_as_it_came(&rig, 1));
    ck_assert(rig_bare(&rig, 2));
    ck_assert(rig_explains(&rig, "samples may be forgotten 1"));
    rig_close(&rig);
}
END_TEST

START_TEST(a_span_from_before_the_start_by_a_clock_that_is_behind_is_judged)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 2 * S);
    /* 4 s behind: this one began 2 s after spanlink did. */
    span(&rig, 1, (uint64_t)-2 * S, (uint64_t)-S);
    span(&rig, 2, (uint64_t)-2 * S, (uint64_t)-S);
    span(&rig, 3, (uint64_t)-9 * S, (uint64_t)-S); /* truly before */
    rig_advance(&rig, 10 * S);
    RIG_PROFILE(&rig, .time = 3 * S, .duration = 9 * S, .ids = {1});
    ck_assert(rig_linked(&rig, 1));
    go_on(&rig, 100 * S, 0);
    ck_assert(rig_bare(&rig, 2));
    ck_assert(is_as_it_came(&rig, 3));
    ck_assert(rig_explains(&rig, "forwarded unchanged 1 (started before spanlink or a reload 1)"));
    rig_close(&rig);
}
END_TEST

START_TEST(a_span_without_times_is_judged_by_its_arrival)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    span(&rig, 1, UINT64_MAX, UINT64_MAX);
    span(&rig, 2, UINT64_MAX, UINT64_MAX);
    ck_assert(rig_waits(&rig, 1));
    go_on(&rig, RIG_WARM + 10 * S, 1);
    rig_advance(&rig, 10 * S);
    rig_collect(&rig);
    ck_assert(rig_linked(&rig, 1) && rig_bare(&rig, 2));
    rig_close(&rig);
}
END_TEST

START_TEST(what_cannot_be_read_keeps_marks_where_profiles_would_remove_them)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    struct buffer *payload = buffer_new(3, NULL, true);
    memcpy(payload->data, "xyz", 3);
    struct batch *batch = batch_new(SIGNAL_PROFILES, BATCH_OPAQUE, payload, 1, NULL);
    struct opaque_request *request = calloc(1, sizeof *request);
    request->query = strdup("name=shop&format=folded");
    batch_set_opaque(batch, request);
    rig_upload(&rig, batch);
    span(&rig, 1, RIG_WARM - S, RIG_WARM);
    span(&rig, 2, RIG_WARM - S, RIG_WARM);
    go_on(&rig, RIG_WARM + 20 * S, 2);
    rig_advance(&rig, 20 * S);
    ck_assert(rig_linked(&rig, 2));
    ck_assert(is_as_it_came(&rig, 1));
    ck_assert(rig_explains(&rig, "span ids of profiles cannot be read 1"));
    rig_close(&rig);
}
END_TEST

SUITE_MAIN("correlation decide", where_ids_had_to_leave_the_index_a_span_from_before_keeps_its_mark,
           a_span_that_waits_while_ids_leave_the_index_is_linked_by_its_sample,
           a_span_longer_than_remember_keeps_its_mark,
           a_span_from_before_the_start_by_a_clock_that_is_behind_is_judged,
           a_span_without_times_is_judged_by_its_arrival,
           what_cannot_be_read_keeps_marks_where_profiles_would_remove_them)
