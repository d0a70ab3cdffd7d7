#include "processors/correlation/known/process.h"

#include "lib/base/bytes.h"
#include "lib/base/clock.h"
#include "lib/wire/otlp/otlp_attribute.h"
#include "processors/correlation/known/services.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define S    NS_PER_S
#define HOUR (3600 * S)

struct fixture {
    struct budget budget;
    struct services services;
    struct service *shop;
};

static void open_fixture(struct fixture *fixture)
{
    budget_init(&fixture->budget, SIZE_MAX);
    services_init(&fixture->services, 10, HOUR, &fixture->budget);
    fixture->shop = services_see(&fixture->services, VIEW(""), VIEW("shop"), 1);
}

static void close_fixture(struct fixture *fixture)
{
    services_release(&fixture->services);
    ck_assert_uint_eq(budget_used(&fixture->budget), 0);
}

/* Seen with a ResourceSpans that has one attribute, a number. */
static struct process *see_number(struct fixture *fixture, const char *key, int64_t value)
{
    uint8_t resource[64], entry[80];
    uint8_t *end = otlp_int_attribute_put(resource, 1, view_of(key), value);
    struct view bytes = view_between(resource, end);
    end = proto_bytes_put(proto_len_put(entry, 1, bytes.size), bytes);
    return process_see(fixture->shop, process_hash(bytes), view_between(entry, end), 1,
                       &fixture->budget);
}

/* Seen with a ResourceSpans that has one attribute; key NULL: none. */
static struct process *see(struct fixture *fixture, const char *key, const char *value,
                           uint64_t mono)
{
    uint8_t resource[512], entry[600], *end = resource;
    if (key)
        end = otlp_string_attribute_put(resource, 1, view_of(key), view_of(value));
    struct view bytes = view_between(resource, end);
    end = proto_bytes_put(proto_len_put(entry, 1, bytes.size), bytes);
    return process_see(fixture->shop, process_hash(bytes), view_between(entry, end), mono,
                       &fixture->budget);
}

START_TEST(a_process_is_the_same_by_its_resource)
{
    struct fixture fixture;
    open_fixture(&fixture);
    struct process *a = see(&fixture, "host", "a", 5), *b = see(&fixture, "host", "b", 6);
    ck_assert_ptr_ne(a, b);
    ck_assert_ptr_eq(see(&fixture, "host", "a", 7), a);
    ck_assert_uint_eq(a->first_seen, 5);
    ck_assert_ptr_eq(fixture.shop->processes, a);
    ck_assert_uint_eq(fixture.shop->process_count, 2);
    ck_assert_ptr_eq(a->service, fixture.shop);
    close_fixture(&fixture);
}
END_TEST

START_TEST(resources_of_other_lengths_or_orders_have_other_hashes)
{
    ck_assert_uint_ne(process_hash(VIEW("")), process_hash(VIEW("\0")));
    ck_assert_uint_ne(process_hash(VIEW("abcdefgh")), process_hash(VIEW("abcdefgh\0")));
    ck_assert_uint_ne(process_hash(VIEW("abcdefghABCDEFGH")),
                      process_hash(VIEW("ABCDEFGHabcdefgh")));
    ck_assert_uint_ne(process_hash(VIEW("abcdefghi")), process_hash(VIEW("abcdefghj")));
    ck_assert_uint_eq(process_hash(VIEW("abcdefghi")), process_hash(VIEW("abcdefghi")));
}
END_TEST

START_TEST(an_instance_id_or_a_pid_tells_processes_apart)
{
    struct fixture fixture;
    open_fixture(&fixture);
    ck_assert(see(&fixture, "service.instance.id", "a", 1)->identified);
    ck_assert(!see(&fixture, "service.instance.id", "", 1)->identified);
    ck_assert(see(&fixture, "process.pid", "17", 1)->identified);
    ck_assert(see_number(&fixture, "process.pid", 17)->identified); /* as SDKs write it */
    ck_assert(see_number(&fixture, "process.pid", 0)->identified);
    ck_assert(!see(&fixture, "host.name", "a", 1)->identified);
    ck_assert(!see(&fixture, NULL, NULL, 1)->identified);
    close_fixture(&fixture);
}
END_TEST

START_TEST(the_language_is_the_services)
{
    static const char *const known[] = {"nodejs", "python", "go", "java", "ruby", "dotnet", "rust"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct fixture fixture;
        open_fixture(&fixture);
        see(&fixture, "telemetry.sdk.language", "cobol", 1);
        ck_assert_ptr_null(fixture.shop->language);
        see(&fixture, "telemetry.sdk.language", known[i], 1);
        ck_assert_str_eq(fixture.shop->language, known[i]);
        ck_assert_int_eq(fixture.shop->from_node, i == 0);
        close_fixture(&fixture);
    }
}
END_TEST

static struct process *see_nth(struct fixture *fixture, unsigned n)
{
    char name[16];
    snprintf(name, sizeof name, "p-%u", n);
    return see(fixture, "service.instance.id", name, n + 1);
}

/* Any address will do for "it has spans waiting". */
static struct segment *something(struct fixture *fixture)
{
    return (struct segment *)(void *)fixture;
}

START_TEST(past_the_ceiling_the_one_seen_longest_ago_without_spans_gives_way)
{
    struct fixture fixture;
    open_fixture(&fixture);
    struct process *oldest = see_nth(&fixture, 0), *second = see_nth(&fixture, 1);
    for (unsigned i = 2; i < PROCESSES_MAX; i++)
        see_nth(&fixture, i);
    oldest->oldest = something(&fixture);
    second->matches = 9;
    struct process *next = see_nth(&fixture, PROCESSES_MAX);
    ck_assert_ptr_eq(next, second);
    ck_assert_uint_eq(next->matches, 0);
    ck_assert_uint_eq(next->first_seen, PROCESSES_MAX + 1);
    ck_assert(next->identified && !next->shared);
    ck_assert_ptr_eq(see_nth(&fixture, PROCESSES_MAX), next);
    ck_assert_ptr_eq(see_nth(&fixture, 0), oldest);
    ck_assert_uint_eq(fixture.shop->process_count, PROCESSES_MAX);
    oldest->oldest = NULL;
    close_fixture(&fixture);
}
END_TEST

START_TEST(where_all_have_spans_waiting_one_stands_for_all_others_and_is_never_trusted)
{
    struct fixture fixture;
    open_fixture(&fixture);
    for (unsigned i = 0; i < PROCESSES_MAX; i++)
        see_nth(&fixture, i)->oldest = something(&fixture);
    struct process *shared = see_nth(&fixture, PROCESSES_MAX);
    ck_assert(shared->shared && !shared->identified);
    ck_assert_ptr_eq(see_nth(&fixture, PROCESSES_MAX + 1), shared);
    ck_assert_ptr_ne(see_nth(&fixture, 3), shared);
    shared->matches = 100;
    ck_assert(!process_is_bound(shared, 5, HOUR));
    ck_assert_uint_eq(fixture.shop->process_count, PROCESSES_MAX);
    for (struct process *each = fixture.shop->processes; each; each = each->next)
        each->oldest = NULL;
    close_fixture(&fixture);
}
END_TEST

/* A window of the timeline, ending at `end` s, of 10 s; returns its sequence. */
static uint32_t window(struct fixture *fixture, uint64_t end, uint64_t labels)
{
    struct timeline *timeline = service_timeline(fixture->shop, KIND_PROCESS_CPU, &fixture->budget);
    const struct timeline_window window = {(end - 10) * S, end * S, 10 * S, labels, end * 7, false};
    bool again;
    struct sequence *sequence = timeline_place(timeline, &window, end * S, HOUR, &again);
    timeline_take(timeline, sequence, &window, end * S, HOUR);
    return sequence->serial;
}

static void match(struct fixture *fixture, struct process *process, uint32_t serial, unsigned times,
                  uint64_t mono)
{
    while (times-- > 0)
        process_note_match(process, fixture->shop->timelines[KIND_PROCESS_CPU], serial, mono);
}

START_TEST(a_process_is_bound_to_the_sequence_that_has_its_samples)
{
    struct fixture fixture;
    open_fixture(&fixture);
    struct process *named = see(&fixture, "process.pid", "1", 1);
    struct process *nameless = see(&fixture, "host", "a", 1);
    uint32_t serial = window(&fixture, 100, 1);
    match(&fixture, named, serial, 1, 100 * S);
    ck_assert(!process_is_bound(named, 100 * S, HOUR));
    match(&fixture, named, serial, 1, 100 * S);
    ck_assert(process_is_bound(named, 100 * S, HOUR));
    ck_assert_uint_eq(named->sequence, serial);
    match(&fixture, nameless, serial, 7, 100 * S);
    ck_assert(!process_is_bound(nameless, 100 * S, HOUR));
    match(&fixture, nameless, serial, 1, 100 * S);
    ck_assert(process_is_bound(nameless, 100 * S, HOUR));
    match(&fixture, nameless, 12345, 1, 100 * S); /* a sequence that is gone proves nothing */
    ck_assert(process_is_bound(nameless, 100 * S, HOUR));
    close_fixture(&fixture);
}
END_TEST

START_TEST(samples_in_two_sequences_at_once_unbind_it_for_remember)
{
    struct fixture fixture;
    open_fixture(&fixture);
    struct process *process = see(&fixture, "host", "a", 1);
    uint32_t a = window(&fixture, 100, 1), b = window(&fixture, 102, 1);
    ck_assert_uint_ne(a, b);
    match(&fixture, process, a, 20, 100 * S);
    match(&fixture, process, b, 20, 102 * S);
    ck_assert(!process_is_bound(process, 102 * S, HOUR));
    ck_assert(!process_is_bound(process, 102 * S + HOUR, HOUR));
    ck_assert(process_is_bound(process, 103 * S + HOUR, HOUR));
    close_fixture(&fixture);
}
END_TEST

START_TEST(a_sequence_that_takes_over_is_followed)
{
    struct fixture fixture;
    open_fixture(&fixture);
    struct process *process = see(&fixture, "host", "a", 1);
    uint32_t a = window(&fixture, 100, 1), b = window(&fixture, 133, 2);
    ck_assert_uint_ne(a, b);
    match(&fixture, process, a, 20, 100 * S);
    match(&fixture, process, b, 7, 133 * S);
    ck_assert(!process_is_bound(process, 133 * S, HOUR));
    match(&fixture, process, b, 1, 133 * S);
    ck_assert(process_is_bound(process, 133 * S, HOUR));
    close_fixture(&fixture);
}
END_TEST

START_TEST(a_sequence_that_two_processes_have_samples_in_is_contested)
{
    struct fixture fixture;
    open_fixture(&fixture);
    struct process *x = see(&fixture, "host", "x", 1), *y = see(&fixture, "host", "y", 1);
    uint32_t serial = window(&fixture, 100, 1);
    const struct sequence *sequence =
        timeline_find(fixture.shop->timelines[KIND_PROCESS_CPU], serial);
    match(&fixture, x, serial, 3, 100 * S);
    ck_assert_uint_eq(sequence->owner, x->resource);
    ck_assert_uint_eq(sequence->contested, 0);
    match(&fixture, y, serial, 1, 101 * S);
    ck_assert_uint_eq(sequence->contested, 101 * S);
    close_fixture(&fixture);
}
END_TEST

SUITE_MAIN("process", a_process_is_the_same_by_its_resource,
           resources_of_other_lengths_or_orders_have_other_hashes,
           an_instance_id_or_a_pid_tells_processes_apart, the_language_is_the_services,
           past_the_ceiling_the_one_seen_longest_ago_without_spans_gives_way,
           where_all_have_spans_waiting_one_stands_for_all_others_and_is_never_trusted,
           a_process_is_bound_to_the_sequence_that_has_its_samples,
           samples_in_two_sequences_at_once_unbind_it_for_remember,
           a_sequence_that_takes_over_is_followed,
           a_sequence_that_two_processes_have_samples_in_is_contested)
