#include "processors/probabilistic_sampler/linked_traces.h"

#include "lib/base/clock.h"
#include "tests/support/processor_rig.h"
#include "tests/support/suite.h"

#define SPAN(trace, more) "{\"traceId\":\"" trace "\",\"spanId\":\"eee19b7ec3c1b174\"" more "}"
#define REQUEST(spans)    "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[" spans "]}]}]}"
#define LOW               "5b8efff798038103d200000000000001"
#define HIGH              "5b8efff798038103d2ffffffffffffff"

static void makes(const char *yaml, const char *json, const char *want, const char *unwanted)
{
    const char *made = rig_run("probabilistic_sampler", yaml, SIGNAL_TRACES, json);
    if (!strstr(made, want) || (unwanted && strstr(made, unwanted)))
        ck_abort_msg("%s, but not %s, in %s", want, unwanted, made);
    ck_assert_int_eq(rig_verdict(), VERDICT_OK);
}

START_TEST(the_trace_id_decides)
{
    makes("{mode: equalizing, sampling_percentage: 50}", REQUEST(SPAN(LOW, "") "," SPAN(HIGH, "")),
          HIGH, LOW);
    makes("{mode: equalizing, sampling_percentage: 50}", REQUEST(SPAN(HIGH, "")),
          "\"traceState\":\"ot=th:8\"", NULL);
    makes("{sampling_percentage: 100}", REQUEST(SPAN(LOW, "") "," SPAN(HIGH, "")), LOW, NULL);
}
END_TEST

START_TEST(a_share_of_a_share)
{
    makes("{mode: proportional, sampling_percentage: 50}",
          REQUEST(SPAN(HIGH, ",\"traceState\":\"a=b,ot=th:8;x:y\"")), "ot=th:c;x:y,a=b", NULL);
}
END_TEST

START_TEST(what_cannot_be_judged_is_dropped_or_kept)
{
    const char *json = REQUEST(SPAN(LOW, ",\"traceState\":\"ot=th:zz\""));
    ck_assert_str_eq(rig_run("probabilistic_sampler", "{mode: equalizing, sampling_percentage: 50}",
                             SIGNAL_TRACES, json),
                     "");
    makes("{mode: equalizing, sampling_percentage: 50, fail_closed: false}", json, LOW, NULL);
}
END_TEST

START_TEST(a_linked_trace_is_kept)
{
    makes("{mode: equalizing, sampling_percentage: 1, keep_linked: true}",
          REQUEST(SPAN(LOW, ",\"name\":\"child\"") "," SPAN(
              LOW, ",\"attributes\":[{\"key\":\"pyroscope.profile.id\",\"value\":{"
                   "\"stringValue\":\"eee19b7ec3c1b174\"}}]")),
          "child", NULL);
}
END_TEST

static uint8_t trace_id[16] = {7};

static const uint8_t *numbered(uint32_t n)
{
    memcpy(trace_id + 8, &n, sizeof n);
    return trace_id;
}

START_TEST(linked_traces_are_known_for_a_while)
{
    struct linked_traces traces;
    struct budget budget;
    budget_init(&budget, 8 << 20);
    linked_traces_init(&traces, &budget);
    const uint64_t now = 1000 * NS_PER_S;
    ck_assert(!linked_traces_has(&traces, numbered(1), now));
    ck_assert_uint_eq(budget_used(&budget), 0);
    linked_traces_add(&traces, numbered(1), now);
    ck_assert(linked_traces_has(&traces, numbered(1), now + LINKED_TRACES_NS));
    ck_assert(!linked_traces_has(&traces, numbered(2), now));
    ck_assert(!linked_traces_has(&traces, numbered(1), now + 3 * LINKED_TRACES_NS));
    linked_traces_release(&traces);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(so_many_linked_traces_are_known_at_least)
{
    struct linked_traces traces;
    linked_traces_init(&traces, NULL);
    for (uint32_t i = 0; i < 5 * LINKED_TRACES_MOST; i++) {
        linked_traces_add(&traces, numbered(i), 1);
        ck_assert(linked_traces_has(&traces, numbered(i), 1));
        if (i >= LINKED_TRACES_MOST)
            ck_assert(linked_traces_has(&traces, numbered(i - LINKED_TRACES_MOST + 1), 1));
        if (i >= 2 * LINKED_TRACES_MOST)
            ck_assert(!linked_traces_has(&traces, numbered(i - 2 * LINKED_TRACES_MOST), 1));
    }
    linked_traces_release(&traces);
}
END_TEST

START_TEST(without_memory_no_trace_is_known)
{
    struct linked_traces traces;
    struct budget budget;
    budget_init(&budget, 1 << 10);
    linked_traces_init(&traces, &budget);
    linked_traces_add(&traces, numbered(1), 1);
    ck_assert(!linked_traces_has(&traces, numbered(1), 1));
    linked_traces_release(&traces);
}
END_TEST

SUITE_MAIN("probabilistic_sampler", the_trace_id_decides, a_share_of_a_share,
           what_cannot_be_judged_is_dropped_or_kept, a_linked_trace_is_kept,
           linked_traces_are_known_for_a_while, so_many_linked_traces_are_known_at_least,
           without_memory_no_trace_is_known)
