#include "pipeline/delivery/delivery.h"

#include "lib/base/clock.h"
#include "lib/settings/fill.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static const struct key keys[] = {
    KEY_GROUP(struct delivery, queue, struct queue_settings, "sending_queue", queue_keys, "-"),
    KEY_GROUP(struct delivery, retry, struct retry_settings, "retry_on_failure", retry_keys, "-"),
    KEY_END,
};

static struct delivery delivery;

static void check(const void *config, struct key_report *report)
{
    delivery_check(config, report);
}

/* Returns the first problem of a section, or NULL. The caller frees it. */
static char *read_section(const char *yaml)
{
    struct problems problems = {0};
    char *text, *sentence = NULL;
    ck_assert_int_gt(asprintf(&text, "yaml:%s", yaml), 0);
    struct settings_source source = {SETTINGS_FILE, text};
    struct settings *settings = settings_load(&source, 1, &problems);
    const struct node *root = settings ? settings_root(settings) : NULL;
    memset(&delivery, 0, sizeof delivery);
    if (root && keys_fill(keys, root, root, "exporters.x", &delivery, &problems))
        keys_check(check, &delivery, root, root, "exporters.x", &problems);
    if (problems.count)
        sentence = strdup(problems.lines[0]);
    keys_release(keys, &delivery);
    settings_free(settings);
    problems_release(&problems);
    free(text);
    return sentence;
}

static void refused(const char *yaml, const char *words)
{
    char *sentence = read_section(yaml);
    ck_assert_msg(sentence && strstr(sentence, words), "%s: %s", yaml,
                  sentence ? sentence : "accepted");
    free(sentence);
}

START_TEST(the_defaults_are_the_collectors)
{
    ck_assert_ptr_null(read_section("sending_queue: "));
    ck_assert(delivery.queue.enabled);
    ck_assert_int_eq(delivery.queue.num_consumers, 10);
    ck_assert_int_eq(delivery.queue.queue_size, 1000);
    ck_assert_int_eq(delivery.queue.on_full, QUEUE_REFUSE);
    ck_assert(!delivery.queue.wait_for_result);
    ck_assert(delivery.retry.enabled);
    ck_assert_uint_eq(delivery.retry.initial_interval, 5 * NS_PER_S);
    ck_assert_double_eq(delivery.retry.randomization_factor, 0.5);
    ck_assert_double_eq(delivery.retry.multiplier, 1.5);
    ck_assert_uint_eq(delivery.retry.max_interval, 30 * NS_PER_S);
    /* The Collector gives up after five minutes; here acknowledged data are kept. */
    ck_assert_uint_eq(delivery.retry.max_elapsed_time, 0);
}
END_TEST

START_TEST(a_branch_may_rather_lose_than_refuse)
{
    ck_assert_ptr_null(read_section("sending_queue: {on_full: drop_oldest}"));
    ck_assert_int_eq(delivery.queue.on_full, QUEUE_DROP_OLDEST);
}
END_TEST

START_TEST(what_the_collector_refuses_is_refused)
{
    refused("sending_queue: {queue_size: 0}", "queue_size");
    refused("sending_queue: {num_consumers: 0}", "num_consumers");
    refused("sending_queue: {sizer: spans}", "sizer");
    refused("sending_queue: {sizer: items, batch: {}}", "less than or equal to queue_size");
    refused("sending_queue: {sizer: bytes, batch: {min_size: 1001}}",
            "less than or equal to queue_size");
    refused("retry_on_failure: {randomization_factor: 1.5}", "randomization_factor");
    refused("retry_on_failure: {initial_interval: -1s}", "initial_interval");
    refused("retry_on_failure: {max_elapsed_time: 4s, max_interval: 1s}",
            "must not be less than initial_interval");
    refused("retry_on_failure: {enabled: false, max_elapsed_time: 10s}",
            "must not be less than max_interval");
}
END_TEST

START_TEST(zero_elapsed_time_is_for_ever)
{
    ck_assert_ptr_null(read_section("retry_on_failure: {max_elapsed_time: 0s}"));
    ck_assert_uint_eq(delivery.retry.max_elapsed_time, 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_defaults_are_the_collectors,
        a_branch_may_rather_lose_than_refuse,
        what_the_collector_refuses_is_refused,
        zero_elapsed_time_is_for_ever,
        NULL,
    };
    return suite_run("delivery", tests);
}
