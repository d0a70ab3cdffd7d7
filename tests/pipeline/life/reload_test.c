#include "pipeline/life/runtime.h"

#include "lib/net/auth.h"
#include "pipeline/life/rows.h"
#include "pipeline/life/runtime_state.h"
#include "tests/support/captured.h"
#include "tests/support/scripted.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct component anchor = {
    .type = "anchor", .text = "cannot be changed", .kind = COMPONENT_EXTENSION, .fixed = true};

/* An authenticator that accepts one word, and a receiver that uses one. */
struct word {
    char *word;
    struct authenticator by;
};

static const struct key word_keys[] = {
    KEY_STRING(struct word, word, "word", "", 0, "what is let in"),
    KEY_END,
};

static enum auth_result word_look(void *self, const char *value)
{
    return strcmp(((struct word *)self)->word, value) == 0 ? AUTH_GRANTED : AUTH_DENIED;
}

static const struct authenticator *word_authenticator(void *instance)
{
    struct word *self = instance;
    self->by = (struct authenticator){.self = self, .header = "X", .look = word_look};
    return &self->by;
}

static const struct component word = {
    .type = "word",
    .text = "lets a word in",
    .kind = COMPONENT_EXTENSION,
    .size = sizeof(struct word),
    .keys = word_keys,
    .authenticator = word_authenticator,
};

struct server {
    struct auth_settings auth;
};

static const struct key push_keys[] = {AUTH_SERVER_KEY(struct server, auth), KEY_END};

static const struct component server = {
    .type = "server",
    .text = "asks an authenticator",
    .kind = COMPONENT_RECEIVER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP),
    .size = sizeof(struct server),
    .keys = push_keys,
};

static _Atomic unsigned seen; /* items that passed a counter */

static enum verdict count_items(void *instance, struct batch *batch, struct outlet *next)
{
    (void)instance;
    seen += batch->items;
    return outlet_push(next, batch);
}

static const struct component counter = {.type = "counter",
                                         .text = "counts what passes",
                                         .kind = COMPONENT_PROCESSOR,
                                         .signals = SIGNALS_ALL,
                                         .consume = count_items};

const struct component *const component_table[] = {&scripted_source,
                                                   &scripted_guest,
                                                   &scripted_holder,
                                                   &scripted_sink,
                                                   &counter,
                                                   &anchor,
                                                   &word,
                                                   &server,
                                                   NULL};

enum { MAX_SETTINGS = 64 };

static struct settings *read_before[MAX_SETTINGS];
static size_t read_count;
static struct runtime *runtime;
static char faults[4096], report[4096];

static struct settings *load(const char *yaml, struct problems *problems)
{
    char *text;
    ck_assert_int_gt(asprintf(&text, "yaml:%s", yaml), 0);
    struct settings_source source = {SETTINGS_FILE, text};
    struct settings *settings = settings_load(&source, 1, problems);
    free(text);
    return settings;
}

static void keep_faults(struct problems *problems)
{
    faults[0] = '\0';
    for (size_t i = 0; i < problems->count; i++)
        snprintf(faults + strlen(faults), sizeof faults - strlen(faults), "%s\n",
                 problems->lines[i]);
    problems_release(problems);
}

static void begin(const char *yaml)
{
    struct problems problems = {0};
    read_count = 0;
    read_before[read_count++] = load(yaml, &problems);
    runtime = runtime_plan(read_before[0], &clock_system, &problems);
    ck_assert(runtime && runtime_start(runtime, &problems));
    keep_faults(&problems);
}

static enum reload_result reload(const char *yaml)
{
    struct problems problems = {0};
    struct settings *settings = load(yaml, &problems);
    ck_assert_ptr_nonnull(settings);
    enum reload_result result = runtime_reload(runtime, settings, &problems);
    ck_assert((result == RELOAD_FAILED) == (problems.count > 0));
    keep_faults(&problems);
    if (result == RELOAD_DONE) {
        settings_free(read_before[read_count - 1]);
        read_before[read_count - 1] = settings;
    } else {
        settings_free(settings);
    }
    ck_assert(runtime_ready(runtime));
    return result;
}

static uint64_t end(void)
{
    struct bytes out;
    bytes_init(&out, sizeof report - 1, NULL);
    uint64_t lost = runtime_stop(runtime, NULL, &out);
    snprintf(report, sizeof report, "%.*s", (int)out.size, (const char *)out.data);
    bytes_release(&out);
    runtime_free(runtime);
    settings_free(read_before[0]);
    return lost;
}

static enum verdict offer_by(const struct env *env, unsigned spans)
{
    struct answer answer;
    answer_init(&answer);
    source_offer_by(env, some_spans(0, spans, &runtime->budget), &answer);
    return answer_wait(&answer).verdict;
}

static void offer(unsigned spans)
{
    ck_assert_int_eq(offer_by(source_env("source"), spans), VERDICT_OK);
}

static const struct instance *instance(enum component_kind kind, const char *id)
{
    return graph_find(&runtime->graph, kind, id);
}

static struct outcome down(const struct batch *batch, unsigned nth)
{
    (void)batch;
    (void)nth;
    return outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "down");
}

static uint64_t delivered_by(unsigned slot)
{
    struct sink *sink = sink_at(slot);
    pthread_mutex_lock(&sink->lock);
    uint64_t delivered = sink->delivered;
    pthread_mutex_unlock(&sink->lock);
    return delivered;
}

#define ONE(processors, sink)                                                                      \
    "receivers: {source: }\nprocessors: {holder: , holder/2: }\nexporters: {sink: {" sink "}}\n"   \
    "service:\n  shutdown_timeout: 2s\n"                                                           \
    "  pipelines:\n    traces: {receivers: [source], processors: [" processors                     \
    "], exporters: [sink]}\n"

START_TEST(the_same_settings_change_nothing)
{
    begin(ONE("holder", ""));
    const struct instance *before = instance(COMPONENT_PROCESSOR, "holder");
    ck_assert_int_eq(reload(ONE("holder", "")), RELOAD_SAME);
    ck_assert_ptr_eq(instance(COMPONENT_PROCESSOR, "holder"), before);
    ck_assert_uint_eq(end(), 0);
}
END_TEST

START_TEST(what_is_the_same_stays_open)
{
    begin(ONE("holder", ""));
    const struct env *source = source_env("source");
    const struct instance *holder = instance(COMPONENT_PROCESSOR, "holder");
    ck_assert_int_eq(reload(ONE("holder", "slot: 1")), RELOAD_DONE);
    ck_assert_ptr_eq(source_env("source"), source);
    ck_assert_ptr_eq(instance(COMPONENT_PROCESSOR, "holder"), holder);
    offer(3);
    sink_wait_delivered(sink_at(1), 3);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 0);
}
END_TEST

START_TEST(what_is_wrong_is_told_and_the_old_goes_on)
{
    begin(ONE("holder", ""));
    ck_assert_int_eq(reload("receivers: {source: {labl: x}}\nexporters: {sunk: }\n"
                            "service: {pipelines: {traces: {receivers: [source], exporters: "
                            "[sink]}}}\n"),
                     RELOAD_FAILED);
    ck_assert_ptr_nonnull(strstr(faults, "1: receivers.source.labl: unknown key"));
    ck_assert_ptr_nonnull(strstr(faults, "2: exporters.sunk: unknown type"));
    offer(2);
    sink_wait_delivered(sink_at(0), 2);
    ck_assert_uint_eq(end(), 0);
}
END_TEST

START_TEST(a_refused_configuration_is_counted_and_remembered_until_one_is_taken)
{
    struct problems problems = {0};
    begin(ONE("holder", ""));
    ck_assert_uint_eq(runtime_refused_reload(runtime).at, 0);
    problems_add(&problems, NULL, NULL, "c.yaml:1: expected http://u:p@host");
    ck_assert_int_eq(runtime_reload(runtime, NULL, &problems), RELOAD_FAILED);
    problems_release(&problems);
    struct runtime_refusal refused = runtime_refused_reload(runtime);
    ck_assert_uint_ne(refused.at, 0);
    ck_assert_str_eq(refused.error, "c.yaml:1: expected http://redacted@host");
    ck_assert_int_eq(reload(ONE("holder", "")), RELOAD_SAME);
    ck_assert_uint_eq(runtime_refused_reload(runtime).at, 0);
    ck_assert_uint_eq(end(), 0);
}
END_TEST

#define GUEST(label, slot)                                                                         \
    "receivers: {source: , guest: {label: " label "}}\nprocessors: {holder: }\n"                   \
    "exporters: {sink: {slot: " slot "}}\n"                                                        \
    "service:\n  shutdown_timeout: 2s\n"                                                           \
    "  pipelines:\n    traces: {receivers: [source, guest], processors: [holder], exporters: "     \
    "[sink]}\n"

START_TEST(what_cannot_be_opened_leaves_the_old_in_force)
{
    begin(GUEST("a", "0"));
    const struct env *guest = source_env("guest");
    ck_assert_int_eq(reload(GUEST("refuse", "1")), RELOAD_FAILED);
    ck_assert_ptr_nonnull(strstr(faults, "receivers.guest.label: told to refuse"));
    ck_assert_ptr_eq(source_env("guest"), guest);
    ck_assert(!guest->yields);
    ck_assert_int_eq(offer_by(guest, 2), VERDICT_OK);
    offer(2);
    sink_wait_delivered(sink_at(0), 4);
    ck_assert_int_eq(reload(GUEST("b", "2")), RELOAD_DONE);
    offer(5);
    sink_wait_delivered(sink_at(2), 5);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(1)->delivered, 0);
}
END_TEST

START_TEST(clients_of_a_receiver_that_leaves_are_served_by_the_new_pipelines)
{
    begin(GUEST("a", "0"));
    const struct env *before = source_env("guest");
    ck_assert_int_eq(reload(GUEST("b", "1")), RELOAD_DONE);
    const struct env *now = source_env("guest");
    ck_assert_ptr_ne(now, before);
    ck_assert_int_eq(offer_by(before, 1), VERDICT_OK);
    ck_assert_int_eq(offer_by(now, 2), VERDICT_OK);
    sink_wait_delivered(sink_at(1), 3);
    ck_assert_int_eq(reload(GUEST("c", "2")), RELOAD_DONE);
    ck_assert_int_eq(offer_by(before, 4), VERDICT_OK);
    ck_assert_int_eq(offer_by(now, 8), VERDICT_OK);
    sink_wait_delivered(sink_at(2), 12);
    ck_assert_uint_eq(end(), 0);
}
END_TEST

START_TEST(a_removed_receiver_serves_its_clients_by_the_pipelines_it_had)
{
    begin(GUEST("a", "0"));
    const struct env *guest = source_env("guest");
    ck_assert_int_eq(reload(ONE("holder", "slot: 1")), RELOAD_DONE);
    ck_assert_int_eq(offer_by(guest, 2), VERDICT_OK);
    sink_wait_delivered(sink_at(1), 2);
    ck_assert_int_eq(reload("receivers: {source: }\nexporters: {sink: }\n"
                            "service: {pipelines: {traces/2: {receivers: [source], exporters: "
                            "[sink]}}}\n"),
                     RELOAD_DONE);
    ck_assert_int_eq(offer_by(guest, 2), VERDICT_RETRY);
    ck_assert_uint_eq(end(), 0);
}
END_TEST

/* A client of a receiver waits for a backend that is stuck, and the receiver is removed. */
static void remove_while_sending(struct answer *answer)
{
    begin(GUEST("a", "0, sending_queue: {enabled: false}"));
    answer_init(answer);
    sink_gate(sink_at(0), true);
    source_offer_by(source_env("guest"), some_spans(0, 2, NULL), answer);
    sink_wait_begun(sink_at(0), 1);
    ck_assert_int_eq(reload("receivers: {source: }\nexporters: {sink: {sending_queue: {enabled: "
                            "false}}}\n"
                            "service: {shutdown_timeout: 1ms, pipelines: {traces: {receivers: "
                            "[source], exporters: [sink]}}}\n"),
                     RELOAD_DONE);
}

START_TEST(a_receiver_is_there_until_its_last_client_is_answered)
{
    struct answer answer;
    remove_while_sending(&answer);
    while (source_env("guest"))
        sched_yield();
    sink_gate(sink_at(0), false);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
    ck_assert_uint_eq(end(), 0);
}
END_TEST

START_TEST(an_answer_that_comes_with_the_stop_finds_its_receiver)
{
    struct answer answer;
    remove_while_sending(&answer);
    ck_assert_uint_eq(end(), 0);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_RETRY);
}
END_TEST

START_TEST(the_queue_goes_to_the_exporter_of_the_same_id)
{
    begin(ONE("", "sending_queue: {num_consumers: 1}"));
    sink_gate(sink_at(0), true);
    for (unsigned i = 0; i < 5; i++)
        offer(2);
    sink_wait_begun(sink_at(0), 1);
    ck_assert_int_eq(reload(ONE("", "slot: 1, sending_queue: {queue_size: 1}")), RELOAD_DONE);
    sink_wait_delivered(sink_at(1), 8);
    sink_gate(sink_at(0), false);
    sink_wait_delivered(sink_at(0), 2);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(0)->delivered + sink_at(1)->delivered, 10);
}
END_TEST

START_TEST(what_is_to_be_tried_again_goes_to_the_exporter_that_took_the_place)
{
    begin(ONE("", "sending_queue: {num_consumers: 1}"));
    sink_at(0)->script = down;
    sink_gate(sink_at(0), true);
    offer(2);
    sink_wait_begun(sink_at(0), 1);
    ck_assert_int_eq(reload(ONE("", "slot: 1")), RELOAD_DONE);
    ck_assert_int_eq(reload(ONE("", "slot: 2")), RELOAD_DONE);
    sink_gate(sink_at(0), false);
    sink_wait_delivered(sink_at(2), 2);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(0)->delivered + sink_at(1)->delivered, 0);
}
END_TEST

START_TEST(what_waits_for_a_retry_is_tried_at_once_by_the_new_exporter)
{
    begin(ONE("", "retry_on_failure: {initial_interval: 100s, max_interval: 100s}"));
    sink_at(0)->script = down;
    offer(3);
    sink_wait_count(sink_at(0), 1);
    ck_assert_int_eq(reload(ONE("", "slot: 1")), RELOAD_DONE);
    sink_wait_delivered(sink_at(1), 3);
    ck_assert_uint_eq(end(), 0);
}
END_TEST

static void await_retired_receivers(void)
{
    struct retired *retired = &runtime->retired;
    pthread_mutex_lock(&retired->lock);
    while (!retired->first->left)
        pthread_cond_wait(&retired->changed, &retired->lock);
    pthread_mutex_unlock(&retired->lock);
}

/* The removed exporter stops without hurry: another one takes over its requests. */
START_TEST(a_client_that_waits_is_answered_by_the_exporter_that_took_the_place)
{
    struct answer answer;
    begin(ONE("", "sending_queue: {enabled: false}"));
    sink_at(0)->script = down;
    sink_gate(sink_at(0), true);
    answer_init(&answer);
    source_offer_by(source_env("source"), some_spans(0, 2, NULL), &answer);
    sink_wait_begun(sink_at(0), 1);
    ck_assert_int_eq(reload(ONE("", "slot: 1, sending_queue: {enabled: false}")), RELOAD_DONE);
    await_retired_receivers();
    sink_gate(sink_at(0), false);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(1)->delivered, 2);
}
END_TEST

#define BLOCKING "sending_queue: {block_on_overflow: true, num_consumers: 1, queue_size: 1}"

/* A client waits for room in the queue of a backend that is stuck. */
static void begin_full(const char *yaml, struct answer *answer)
{
    begin(yaml);
    sink_gate(sink_at(0), true);
    offer(1);
    sink_wait_begun(sink_at(0), 1);
    answer_init(answer);
    source_offer_by(source_env("source"), some_spans(0, 2, &runtime->budget), answer);
    ck_assert_uint_eq(answer->count, 0);
}

START_TEST(what_waits_for_room_goes_to_the_exporter_that_took_the_place)
{
    struct answer answer;
    begin_full(ONE("", BLOCKING), &answer);
    ck_assert_int_eq(reload(ONE("holder", "slot: 1")), RELOAD_DONE);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
    sink_wait_delivered(sink_at(1), 2);
    sink_gate(sink_at(0), false);
    sink_wait_delivered(sink_at(0), 1);
    ck_assert_uint_eq(end(), 0);
}
END_TEST

START_TEST(what_waits_for_room_goes_through_the_pipelines_that_exist_then)
{
    static const char before[] =
        "receivers: {source: }\nexporters: {sink: {" BLOCKING "}, sink/2: {slot: 1}}\n"
        "service: {pipelines: {traces: {receivers: [source], exporters: "
        "[sink]}, metrics: {receivers: [source], exporters: [sink]}}}\n";
    static const char then[] =
        "receivers: {source: }\nexporters: {sink: {" BLOCKING "}, sink/2: {slot: 1}}\n"
        "service: {pipelines: {traces: {receivers: [source], exporters: "
        "[sink/2]}, metrics: {receivers: [source], exporters: [sink]}}}\n";
    struct answer answer;
    begin_full(before, &answer);
    ck_assert_int_eq(reload(then), RELOAD_DONE);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
    sink_wait_delivered(sink_at(1), 2);
    sink_gate(sink_at(0), false);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 1);
}
END_TEST

START_TEST(what_waits_for_room_may_wait_on_after_a_reload)
{
    struct answer answer;
    begin_full(ONE("", BLOCKING), &answer);
    ck_assert_int_eq(reload(ONE("holder", BLOCKING)), RELOAD_DONE);
    ck_assert_uint_eq(answer.count, 0);
    sink_gate(sink_at(0), false);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 3);
}
END_TEST

START_TEST(what_waits_for_room_is_to_be_sent_again_where_no_pipeline_is_left)
{
    struct answer answer;
    begin_full(ONE("", BLOCKING), &answer);
    ck_assert_int_eq(reload("receivers: {source: }\nexporters: {sink: }\n"
                            "service: {pipelines: {logs: {receivers: [source], exporters: "
                            "[sink]}}}\n"),
                     RELOAD_DONE);
    struct outcome outcome = answer_wait(&answer);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_str_eq(outcome.text, "no pipeline uses this receiver any more");
    sink_gate(sink_at(0), false);
    ck_assert_uint_eq(end(), 0);
}
END_TEST

#define TWO                                                                                        \
    "receivers: {source: }\nexporters: {sink: , sink/2: {slot: 1, sending_queue: "                 \
    "{num_consumers: 1}}}\n"                                                                       \
    "service:\n  shutdown_timeout: 20s\n"                                                          \
    "  pipelines:\n    traces: {receivers: [source], exporters: [sink, sink/2]}\n"

START_TEST(a_removed_exporter_delivers_what_it_has)
{
    begin(TWO);
    sink_gate(sink_at(1), true);
    for (unsigned i = 0; i < 4; i++)
        offer(2);
    sink_wait_begun(sink_at(1), 1);
    ck_assert_int_eq(reload(ONE("", "")), RELOAD_DONE);
    offer(1);
    sink_gate(sink_at(1), false);
    sink_wait_delivered(sink_at(1), 8);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 9);
    ck_assert_uint_eq(sink_at(1)->delivered, 8);
}
END_TEST

/* The sum of spanlink_dropped_items; *series: of how many points. */
static double dropped(unsigned *series)
{
    struct metrics metrics;
    size_t count;
    double sum = 0;
    *series = 0;
    metrics_init(&metrics, METRIC_NORMAL);
    runtime_figures(runtime, &metrics);
    const struct metrics_point *points = metrics_sorted(&metrics, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(points[i].row->name, "spanlink_dropped_items") == 0) {
            sum += points[i].value;
            ++*series;
        }
    metrics_release(&metrics);
    return sum;
}

static const char *told(char out[512])
{
    struct bytes text;
    bytes_init(&text, 511, NULL);
    runtime_removed(runtime, &text);
    snprintf(out, 512, "%.*s", (int)text.size, text.size ? (const char *)text.data : "");
    bytes_release(&text);
    return out;
}

START_TEST(what_a_removed_exporter_loses_is_told_and_counted)
{
    char text[512];
    unsigned series;
    begin(TWO);
    sink_gate(sink_at(1), true);
    offer(2);
    offer(3);
    sink_wait_begun(sink_at(1), 1);
    ck_assert_str_eq(told(text), "");
    ck_assert_int_eq(reload(ONE("", "")), RELOAD_DONE);
    ck_assert_msg(strstr(told(text), "sink/2 was removed by a reload, and 5 spans that it accepted "
                                     "wait for its backend; they are dropped if not delivered"),
                  "%s", text);
    runtime->hurried = true;
    while (dropped(&series) < 5)
        sched_yield();
    ck_assert_uint_eq(series, 1);
    ck_assert_msg(strstr(told(text), "sink/2 was removed by a reload, and 5 spans that waited in "
                                     "it were dropped at "),
                  "%s", text);
    ck_assert_int_eq(reload(TWO), RELOAD_DONE);
    ck_assert_double_eq(dropped(&series), 5);
    ck_assert_uint_eq(series, 1);
    ck_assert_str_eq(told(text), "");
    ck_assert_uint_eq(end(), 5);
}
END_TEST

static struct outcome refused_then_down(const struct batch *batch, unsigned nth)
{
    return nth == 0   ? OUTCOME_OK
           : nth == 1 ? outcome_of(VERDICT_REJECT, CAUSE_INVALID, "bad")
                      : down(batch, nth);
}

static uint64_t sent_by(const char *id)
{
    return meter_get(instance(COMPONENT_EXPORTER, id)->meter, METER_SENT, SIGNAL_TRACES);
}

START_TEST(an_exporter_that_is_removed_and_comes_back_counts_on)
{
    char text[512];
    unsigned series;
    begin(TWO);
    sink_at(1)->script = refused_then_down;
    offer(4);
    sink_wait_count(sink_at(1), 1);
    offer(1);
    sink_wait_count(sink_at(1), 2);
    offer(2);
    sink_wait_count(sink_at(1), 3);
    while (dropped(&series) < 1)
        sched_yield();
    ck_assert_int_eq(reload(ONE("", "")), RELOAD_DONE);
    ck_assert_double_eq(dropped(&series), 1);
    while (!strstr(told(text), "down; they are dropped if not delivered until "))
        sched_yield(); /* until the third request has failed, too */
    ck_assert_msg(strstr(text, "sink/2 was removed by a reload, and 2 spans that it accepted "
                               "wait for its backend, which fails since "),
                  "%s", text);
    ck_assert_msg(
        strstr(text, "sink/2 was removed by a reload, and 1 span had been dropped before"), "%s",
        text);
    ck_assert_int_eq(reload(TWO), RELOAD_DONE);
    ck_assert_uint_eq(sent_by("sink/2"), 4);
    ck_assert_double_eq(dropped(&series), 1);
    ck_assert_uint_eq(series, 1);
    sink_at(1)->script = NULL;
    offer(3);
    while (sent_by("sink/2") < 9)
        sched_yield();
    ck_assert_uint_eq(end(), 1);
}
END_TEST

START_TEST(what_a_removed_exporter_cannot_deliver_in_time_is_counted_as_lost)
{
    begin(TWO);
    sink_gate(sink_at(1), true);
    offer(2);
    offer(3);
    sink_wait_begun(sink_at(1), 1);
    ck_assert_int_eq(reload("receivers: {source: }\nexporters: {sink: }\n"
                            "service: {shutdown_timeout: 50ms, pipelines: {traces: {receivers: "
                            "[source], exporters: [sink]}}}\n"),
                     RELOAD_DONE);
    ck_assert_uint_eq(end(), 5);
    ck_assert_str_eq(report, "sink/2: 5 spans acknowledged but not delivered, 5 shutdown\n");
}
END_TEST

/* Enough reloads for the exporter's thread to run between them: for tsan. */
START_TEST(reloads_find_the_exporter_of_an_earlier_one_still_at_work)
{
    begin(TWO);
    sink_gate(sink_at(1), true);
    for (unsigned i = 0; i < 4; i++)
        offer(2);
    sink_wait_begun(sink_at(1), 1);
    sink_wait_delivered(sink_at(0), 8);
    ck_assert_int_eq(reload(ONE("", "")), RELOAD_DONE);
    await_retired_receivers();
    for (unsigned i = 0; i < 16; i++)
        ck_assert_int_eq(reload(i % 2 ? ONE("holder", "slot: 2") : ONE("holder/2", "slot: 3")),
                         RELOAD_DONE);
    offer(1);
    sink_gate(sink_at(1), false);
    sink_wait_delivered(sink_at(1), 8);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(2)->delivered, 1);
}
END_TEST

START_TEST(counters_go_on_and_losses_are_kept)
{
    begin(ONE("", "retry_on_failure: {enabled: false}"));
    sink_at(0)->script = down;
    offer(3);
    sink_wait_count(sink_at(0), 1);
    ck_assert_int_eq(reload(ONE("", "slot: 1")), RELOAD_DONE);
    offer(2);
    sink_wait_delivered(sink_at(1), 2);
    const struct meter *meter = instance(COMPONENT_EXPORTER, "sink")->meter;
    while (meter_get(meter, METER_DROPPED, SIGNAL_TRACES) < 3)
        sched_yield();
    ck_assert_uint_eq(end(), 3);
    ck_assert_str_eq(report, "sink: 3 spans acknowledged but not delivered, 3 unavailable\n");
}
END_TEST

START_TEST(a_removed_processor_hands_on_what_it_holds)
{
    holder_keeps(true);
    begin(ONE("holder, holder/2", "sending_queue: {queue_size: 1}"));
    for (unsigned i = 0; i < 9; i++)
        offer(1);
    ck_assert_int_eq(reload(ONE("", "slot: 1")), RELOAD_DONE);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(0)->delivered + sink_at(1)->delivered, 9);
}
END_TEST

START_TEST(what_a_processor_holds_goes_the_new_way_when_it_leaves)
{
    holder_keeps(true);
    begin(ONE("holder", ""));
    offer(4);
    const struct instance *holder = instance(COMPONENT_PROCESSOR, "holder");
    ck_assert_int_eq(reload(ONE("holder, holder/2", "slot: 1")), RELOAD_DONE);
    ck_assert_int_eq(reload(ONE("holder", "slot: 2")), RELOAD_DONE);
    ck_assert_ptr_eq(instance(COMPONENT_PROCESSOR, "holder"), holder);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(2)->delivered, 4);
}
END_TEST

#define AROUND(traces, logs)                                                                       \
    "receivers: {source: }\nprocessors: {holder: , counter: , counter/2: }\nexporters: {sink: }\n" \
    "service:\n  shutdown_timeout: 2s\n  pipelines:\n"                                             \
    "    traces: {receivers: [source], processors: [" traces "], exporters: [sink]}\n"             \
    "    logs: {receivers: [source], processors: [" logs "], exporters: [sink]}\n"

static void move_around(const char *before, const char *after, bool stays, unsigned passes)
{
    holder_keeps(true);
    captured_begin();
    seen = 0;
    begin(before);
    offer(4);
    const struct instance *holder = instance(COMPONENT_PROCESSOR, "holder");
    const struct instance *count = instance(COMPONENT_PROCESSOR, "counter");
    ck_assert_int_eq(reload(after), RELOAD_DONE);
    ck_assert_int_eq(instance(COMPONENT_PROCESSOR, "holder") == holder, stays);
    ck_assert_ptr_eq(instance(COMPONENT_PROCESSOR, "counter"), count);
    ck_assert_uint_eq(captured_with("processors.holder replaced because another processor moved "
                                    "past it"),
                      !stays);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(seen, passes);
    ck_assert_uint_eq(sink_at(0)->delivered, 4);
    sink_at(0)->delivered = 0;
}

START_TEST(what_is_held_passes_each_processor_once_when_the_order_changes)
{
    move_around(AROUND("holder, counter", "holder"), AROUND("counter, holder", "holder"), false, 4);
    move_around(AROUND("counter, holder", "holder"), AROUND("holder, counter", "holder"), false, 4);
    move_around(AROUND("counter, holder, counter/2", "holder"),
                AROUND("counter/2, holder, counter", "holder"), false, 8);
}
END_TEST

START_TEST(what_is_held_leaves_when_the_order_changes_in_another_pipeline)
{
    move_around(AROUND("holder, counter", "holder, counter"),
                AROUND("holder, counter", "counter, holder"), false, 4);
}
END_TEST

START_TEST(a_holder_stays_where_others_come_go_or_change_places_on_one_side)
{
    move_around(AROUND("holder, counter, counter/2", "holder"),
                AROUND("holder, counter/2, counter", "holder"), true, 8);
    move_around(AROUND("holder, counter", "holder"), AROUND("counter/2, holder, counter", "holder"),
                true, 4);
    move_around(AROUND("counter, counter/2, holder", "holder"), AROUND("counter, holder", "holder"),
                true, 8);
}
END_TEST

#define NEW_PIPELINE "{receivers: [source], processors: [holder], exporters: [sink/new]}"

static const char renamed[] = "receivers: {source: }\nprocessors: {holder: }\n"
                              "exporters: {sink/new: {slot: 1}}\n"
                              "service: {pipelines: {traces/new: " NEW_PIPELINE "}}\n";

START_TEST(what_a_processor_holds_goes_the_new_way_when_its_pipeline_is_renamed)
{
    holder_keeps(true);
    captured_begin();
    begin(ONE("holder", ""));
    offer(4);
    const struct instance *holder = instance(COMPONENT_PROCESSOR, "holder");
    ck_assert_int_eq(reload(renamed), RELOAD_DONE);
    ck_assert_ptr_eq(instance(COMPONENT_PROCESSOR, "holder"), holder);
    ck_assert_uint_eq(captured_with("processors.holder"), 0);
    offer(1);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(1)->delivered, 5);
}
END_TEST

START_TEST(a_processor_whose_pipeline_goes_hands_on_before)
{
    holder_keeps(true);
    captured_begin();
    begin(ONE("holder", ""));
    offer(4);
    ck_assert_int_eq(reload("receivers: {source: }\nprocessors: {holder: }\n"
                            "exporters: {sink/new: {slot: 1}}\n"
                            "service: {pipelines: {traces/new: " NEW_PIPELINE
                            ", logs: " NEW_PIPELINE
                            ", traces/newer: {receivers: [source], exporters: [sink/new]}}}\n"),
                     RELOAD_DONE);
    sink_wait_delivered(sink_at(0), 4);
    ck_assert_uint_eq(captured_with("receivers.source replaced because its signals changed, "
                                    "processors.holder replaced because it left a pipeline"),
                      1);
    offer(1);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(1)->delivered, 2);
}
END_TEST

#define RECEIVERS(word, extensions)                                                                \
    "receivers: {source: , server: {auth: {authenticator: word}}}\nexporters: {sink: }\n"          \
    "extensions: {word: {word: " word "}, word/2: {word: c}}\n"                                    \
    "service:\n  extensions: [" extensions "]\n"                                                   \
    "  pipelines: {traces: {receivers: [source, server], exporters: [sink]}}\n"

static enum auth_result check_says(const char *value)
{
    const struct authenticator *by =
        ((const struct server *)instance(COMPONENT_RECEIVER, "server")->self)->auth.by;
    return by->look(by->self, value);
}

START_TEST(a_receiver_asks_the_authenticator_that_is_in_force)
{
    begin(RECEIVERS("a", "word"));
    const struct env *source = source_env("source");
    const struct instance *before = instance(COMPONENT_RECEIVER, "server");
    ck_assert_int_eq(check_says("a"), AUTH_GRANTED);
    ck_assert_int_eq(reload(RECEIVERS("a", "word, word/2")), RELOAD_DONE);
    ck_assert_ptr_eq(instance(COMPONENT_RECEIVER, "server"), before);
    ck_assert_int_eq(reload(RECEIVERS("b", "word, word/2")), RELOAD_DONE);
    ck_assert_int_eq(check_says("a"), AUTH_DENIED);
    ck_assert_int_eq(check_says("b"), AUTH_GRANTED);
    ck_assert_ptr_eq(source_env("source"), source);
    ck_assert_uint_eq(end(), 0);
}
END_TEST

#define SIGNALS(logs)                                                                              \
    "receivers: {source: }\nexporters: {sink: }\n"                                                 \
    "service:\n  pipelines:\n    traces: {receivers: [source], exporters: [sink]}\n" logs

/* The signals that it serves are fixed when it opens. */
START_TEST(a_receiver_whose_signals_change_opens_anew)
{
    static const char with_logs[] = SIGNALS("    logs: {receivers: [source], exporters: [sink]}\n");
    begin(SIGNALS(""));
    const struct env *before = source_env("source");
    ck_assert_ptr_null(before->intakes[SIGNAL_LOGS]);
    ck_assert_int_eq(reload(with_logs), RELOAD_DONE);
    const struct env *both = source_env("source");
    ck_assert_ptr_ne(both, before);
    ck_assert_ptr_nonnull(both->intakes[SIGNAL_LOGS]);
    ck_assert_int_eq(reload(SIGNALS("")), RELOAD_DONE);
    ck_assert_ptr_ne(source_env("source"), both);
    ck_assert_ptr_null(source_env("source")->intakes[SIGNAL_LOGS]);
    offer(2);
    ck_assert_uint_eq(end(), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 2);
}
END_TEST

#define ANCHOR(extensions)                                                                         \
    "receivers: {source: }\nexporters: {sink: }\nextensions: {anchor: }\n"                         \
    "service:\n  extensions: [" extensions "]\n"                                                   \
    "  pipelines:\n    traces: {receivers: [source], exporters: [sink]}\n"

START_TEST(what_cannot_change_at_run_time_asks_for_a_restart)
{
    begin(ANCHOR(""));
    ck_assert_int_eq(reload(ANCHOR("anchor")), RELOAD_FAILED);
    ck_assert_str_eq(faults, "extensions.anchor: changing it needs a restart\n");
    ck_assert_uint_eq(end(), 0);
    begin(ANCHOR("anchor"));
    ck_assert_int_eq(reload(ANCHOR("")), RELOAD_FAILED);
    ck_assert_int_eq(reload(ANCHOR("anchor") "    logs: {receivers: [source], exporters: [sink]}"),
                     RELOAD_DONE);
    ck_assert_uint_eq(end(), 0);
}
END_TEST

enum { CLIENTS = 3, RELOADS = 20, SPANS = 2 };

static _Atomic bool enough;

struct client {
    pthread_t thread;
    uint64_t accepted, refused;
};

static void *run_client(void *ctx)
{
    struct client *client = ctx;
    while (!enough) {
        if (offer_by(source_env("source"), SPANS) == VERDICT_OK)
            client->accepted += SPANS;
        else
            client->refused += SPANS;
    }
    return NULL;
}

/* Clients send while the configuration changes between four versions. */
static void reload_under_load(const char *const *versions)
{
    struct client clients[CLIENTS] = {0};
    uint64_t accepted = 0, delivered = 0;
    begin(versions[0]);
    enough = false;
    for (size_t i = 0; i < CLIENTS; i++)
        pthread_create(&clients[i].thread, NULL, run_client, &clients[i]);
    for (size_t i = 1; i <= RELOADS; i++) {
        sink_wait_delivered(sink_at((i - 1) % 4), delivered_by((i - 1) % 4) + 1);
        ck_assert_int_eq(reload(versions[i % 4]), RELOAD_DONE);
    }
    enough = true;
    for (size_t i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        accepted += clients[i].accepted;
        ck_assert_uint_eq(clients[i].refused, 0);
    }
    ck_assert_uint_eq(end(), 0);
    for (unsigned i = 0; i < SINK_SLOTS; i++)
        delivered += sink_at(i)->delivered;
    ck_assert_uint_eq(delivered, accepted);
}

#define VERSIONS(queue)                                                                            \
    {                                                                                              \
        ONE("holder", queue), ONE("holder, holder/2", "slot: 1, " queue),                          \
            ONE("holder/2", "slot: 2, " queue),                                                    \
            "receivers: {source: }\nexporters: {sink/3: {slot: 3, " queue "}}\n"                   \
            "service: {pipelines: {traces: {receivers: [source], exporters: [sink/3]}}}\n"         \
    }

START_TEST(under_load_nothing_is_refused_lost_or_doubled)
{
    static const char *const versions[] = VERSIONS("sending_queue: {queue_size: 1000000}");
    reload_under_load(versions);
}
END_TEST

START_TEST(under_load_those_that_wait_for_room_are_not_refused_lost_or_doubled)
{
    static const char *const versions[] = VERSIONS(BLOCKING);
    reload_under_load(versions);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_same_settings_change_nothing,
        what_is_the_same_stays_open,
        what_is_wrong_is_told_and_the_old_goes_on,
        a_refused_configuration_is_counted_and_remembered_until_one_is_taken,
        what_cannot_be_opened_leaves_the_old_in_force,
        clients_of_a_receiver_that_leaves_are_served_by_the_new_pipelines,
        a_removed_receiver_serves_its_clients_by_the_pipelines_it_had,
        a_receiver_is_there_until_its_last_client_is_answered,
        an_answer_that_comes_with_the_stop_finds_its_receiver,
        the_queue_goes_to_the_exporter_of_the_same_id,
        what_is_to_be_tried_again_goes_to_the_exporter_that_took_the_place,
        what_waits_for_a_retry_is_tried_at_once_by_the_new_exporter,
        a_client_that_waits_is_answered_by_the_exporter_that_took_the_place,
        what_waits_for_room_goes_to_the_exporter_that_took_the_place,
        what_waits_for_room_goes_through_the_pipelines_that_exist_then,
        what_waits_for_room_may_wait_on_after_a_reload,
        what_waits_for_room_is_to_be_sent_again_where_no_pipeline_is_left,
        a_removed_exporter_delivers_what_it_has,
        what_a_removed_exporter_loses_is_told_and_counted,
        an_exporter_that_is_removed_and_comes_back_counts_on,
        what_a_removed_exporter_cannot_deliver_in_time_is_counted_as_lost,
        reloads_find_the_exporter_of_an_earlier_one_still_at_work,
        counters_go_on_and_losses_are_kept,
        a_removed_processor_hands_on_what_it_holds,
        what_a_processor_holds_goes_the_new_way_when_it_leaves,
        what_is_held_passes_each_processor_once_when_the_order_changes,
        what_is_held_leaves_when_the_order_changes_in_another_pipeline,
        a_holder_stays_where_others_come_go_or_change_places_on_one_side,
        what_a_processor_holds_goes_the_new_way_when_its_pipeline_is_renamed,
        a_processor_whose_pipeline_goes_hands_on_before,
        a_receiver_asks_the_authenticator_that_is_in_force,
        a_receiver_whose_signals_change_opens_anew,
        what_cannot_change_at_run_time_asks_for_a_restart,
        under_load_nothing_is_refused_lost_or_doubled,
        under_load_those_that_wait_for_room_are_not_refused_lost_or_doubled,
        NULL,
    };
    return suite_run("reload", tests);
}
