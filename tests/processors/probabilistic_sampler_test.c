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

SUITE_MAIN("probabilistic_sampler", the_trace_id_decides, a_share_of_a_share,
           what_cannot_be_judged_is_dropped_or_kept, a_linked_trace_is_kept)
