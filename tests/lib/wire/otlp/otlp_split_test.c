#include "lib/wire/otlp/otlp.h"

#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

static struct budget budget;
static struct buffer *front, *rest;

static bool split(enum signal signal, struct view request, uint32_t max_items, size_t max_bytes)
{
    budget_init(&budget, 1);
    return otlp_split(signal, request, max_items, max_bytes, &budget, &front, &rest);
}

/* Whether the last split gave these two; releases them. */
static bool gave(struct view want_front, struct view want_rest)
{
    bool same = view_eq(buffer_view(front), want_front) && view_eq(buffer_view(rest), want_rest);
    buffer_unref(front);
    buffer_unref(rest);
    ck_assert_uint_eq(budget_used(&budget), 0);
    return same;
}

static struct view scope_of(struct view items)
{
    return PB_MESSAGE(2, PB_MESSAGE(1, PB_TEXT(1, "lib")), items, PB_TEXT(3, "s"),
                      PB_TEXT(88, "u"));
}

static struct view resource_of(struct view scopes)
{
    return PB_MESSAGE(1, PB_MESSAGE(1, pb_attribute(1, "k", "v")), scopes, PB_TEXT(3, "r"));
}

START_TEST(both_sides_keep_resource_scope_and_unknown_fields)
{
    struct view a = PB_SPAN(PB_TEXT(5, "a")), b = PB_SPAN(PB_TEXT(5, "b")),
                c = PB_SPAN(PB_TEXT(5, "c"));
    struct view top = PB_TEXT(77, "top");
    ck_assert(split(SIGNAL_TRACES, PB_JOIN(resource_of(scope_of(PB_JOIN(a, b, c))), top), 1, 0));
    ck_assert(gave(PB_JOIN(resource_of(scope_of(a)), top),
                   PB_JOIN(resource_of(scope_of(PB_JOIN(b, c))), top)));
}
END_TEST

START_TEST(a_cut_between_scopes_and_resources_leaves_no_empty_ones)
{
    struct view a = scope_of(PB_SPAN(PB_TEXT(5, "a"))), b = scope_of(PB_SPAN(PB_TEXT(5, "b")));
    ck_assert(split(SIGNAL_TRACES, resource_of(PB_JOIN(a, b)), 1, 0));
    ck_assert(gave(resource_of(a), resource_of(b)));
    ck_assert(split(SIGNAL_TRACES, PB_JOIN(resource_of(a), resource_of(b)), 1, 0));
    ck_assert(gave(resource_of(a), resource_of(b)));
}
END_TEST

START_TEST(what_fits_or_has_one_item_is_not_split)
{
    struct view one = resource_of(scope_of(PB_SPAN(PB_TEXT(5, "a"))));
    ck_assert(!split(SIGNAL_TRACES, one, 1, 1));
    ck_assert(!split(SIGNAL_TRACES, PB_JOIN(one, one), 2, 0));
    ck_assert(!split(SIGNAL_TRACES, PB_JOIN(one, one), 0, 2 * one.size));
    ck_assert(!split(SIGNAL_TRACES, (struct view){0}, 1, 1));
    ck_assert(!front && !rest);
}
END_TEST

START_TEST(a_profiles_request_repeats_its_dictionary)
{
    struct view dictionary = PB_MESSAGE(2, PB_EMPTY(5), PB_TEXT(5, "cpu"));
    struct view a = PB_MESSAGE(2, pb_fixed64(3, 1)), b = PB_MESSAGE(2, pb_fixed64(3, 2));
    struct view request = PB_JOIN(resource_of(scope_of(PB_JOIN(a, b))), dictionary);
    ck_assert(split(SIGNAL_PROFILES, request, 1, 0));
    ck_assert(gave(PB_JOIN(resource_of(scope_of(a)), dictionary),
                   PB_JOIN(resource_of(scope_of(b)), dictionary)));
}
END_TEST

START_TEST(metrics_are_cut_between_metrics_by_their_points)
{
    struct view three = PB_MESSAGE(2, PB_MESSAGE(5, PB_EMPTY(1), PB_EMPTY(1), PB_EMPTY(1)));
    struct view one = PB_MESSAGE(2, PB_MESSAGE(7, PB_EMPTY(1)));
    ck_assert(split(SIGNAL_METRICS, resource_of(scope_of(PB_JOIN(one, one, three, one))), 4, 0));
    ck_assert(
        gave(resource_of(scope_of(PB_JOIN(one, one))), resource_of(scope_of(PB_JOIN(three, one)))));
    /* A metric above the limit is a front by itself. */
    ck_assert(split(SIGNAL_METRICS, resource_of(scope_of(PB_JOIN(three, one))), 2, 0));
    ck_assert(gave(resource_of(scope_of(three)), resource_of(scope_of(one))));
}
END_TEST

/* Splits a random request completely: every piece is within the limits, and together they are the
 * whole. */
static void split_out(enum signal signal, struct view request, uint32_t max_items, size_t max_bytes)
{
    uint32_t total = otlp_count(signal, request), seen = 0;
    struct buffer *whole = NULL;
    struct proto_fault fault;
    uint32_t items;
    while (otlp_split(signal, request, max_items, max_bytes, NULL, &front, &rest)) {
        ck_assert(otlp_check(signal, buffer_view(front), &items, &fault));
        seen += items;
        struct buffer *none, *more;
        /* A front above a limit has only one item. */
        if (items > max_items || front->size > max_bytes)
            ck_assert(
                !otlp_split(signal, buffer_view(front), max_items, max_bytes, NULL, &none, &more));
        buffer_unref(front);
        buffer_unref(whole);
        whole = rest;
        request = buffer_view(whole);
        ck_assert(otlp_check(signal, request, &items, &fault));
    }
    ck_assert_uint_eq(seen + otlp_count(signal, request), total);
    buffer_unref(whole);
}

START_TEST(random_requests_split_without_loss)
{
    for (unsigned seed = 0; seed < 400; seed++) {
        struct random random = random_seeded(seed);
        enum signal signal = (enum signal)(seed % SIGNAL_COUNT);
        struct bytes message;
        bytes_init(&message, SIZE_MAX / 2, NULL);
        proto_random(&random, otlp_shape(signal), RANDOM_UNKNOWN | RANDOM_PADDED | RANDOM_GROUPS, 5,
                     &message);
        split_out(signal, bytes_view(&message), 1 + random_below(&random, 4),
                  1 + random_below(&random, 4000));
        bytes_release(&message);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        both_sides_keep_resource_scope_and_unknown_fields,
        a_cut_between_scopes_and_resources_leaves_no_empty_ones,
        what_fits_or_has_one_item_is_not_split,
        a_profiles_request_repeats_its_dictionary,
        metrics_are_cut_between_metrics_by_their_points,
        random_requests_split_without_loss,
        NULL,
    };
    return suite_run("otlp_split", tests);
}
