#include "lib/wire/otlp/otlp_split.h"

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

static struct view metric_of(uint32_t kind, struct view points)
{
    return PB_MESSAGE(2, PB_TEXT(1, "name"), PB_TEXT(2, "what"),
                      PB_MESSAGE(kind, points, pb_varint(2, 1), pb_varint(3, 1), PB_TEXT(66, "d")),
                      PB_TEXT(3, "unit"), pb_attribute(12, "k", "v"), PB_TEXT(99, "u"));
}

static struct view point_of(const char *text)
{
    return PB_MESSAGE(1, pb_fixed64(3, 1), PB_MESSAGE(77, view_of(text)));
}

START_TEST(each_part_of_a_metric_repeats_what_surrounds_its_points)
{
    static const uint32_t kinds[] = {5, 7, 9, 10, 11};
    struct view a = point_of("a"), b = point_of("b"), c = point_of("c");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct view request = resource_of(scope_of(metric_of(kinds[i], PB_JOIN(a, b, c))));
        struct view part = resource_of(scope_of(metric_of(kinds[i], PB_JOIN(a, b))));
        struct view rest_part = resource_of(scope_of(metric_of(kinds[i], c)));
        ck_assert(split(SIGNAL_METRICS, request, 2, 0));
        ck_assert(gave(part, rest_part));
        ck_assert(split(SIGNAL_METRICS, request, 0, part.size));
        ck_assert(gave(part, rest_part));
        ck_assert(split(SIGNAL_METRICS, request, 0, request.size - 1));
        ck_assert(gave(part, rest_part));
        ck_assert(!split(SIGNAL_METRICS, rest_part, 1, 1));
    }
}
END_TEST

START_TEST(the_front_is_filled_from_several_metrics)
{
    struct view a = point_of("a"), b = point_of("b");
    struct view two = metric_of(5, PB_JOIN(a, b)), one = metric_of(7, a);
    ck_assert(split(SIGNAL_METRICS, resource_of(scope_of(PB_JOIN(one, two, one))), 2, 0));
    ck_assert(gave(resource_of(scope_of(PB_JOIN(one, metric_of(5, a)))),
                   resource_of(scope_of(PB_JOIN(metric_of(5, b), one)))));
    /* No point of the second fits: it stays whole. */
    ck_assert(split(SIGNAL_METRICS, resource_of(scope_of(PB_JOIN(one, two))), 1, 0));
    ck_assert(gave(resource_of(scope_of(one)), resource_of(scope_of(two))));
}
END_TEST

START_TEST(a_metric_whose_data_came_in_pieces_is_divided)
{
    struct view a = point_of("a"), b = point_of("b"), c = point_of("c");
    struct view name = PB_TEXT(1, "n"), monotonic = pb_varint(3, 1);
    struct view request = resource_of(scope_of(
        PB_MESSAGE(2, PB_MESSAGE(7, PB_JOIN(a, b)), name, PB_MESSAGE(7, PB_JOIN(monotonic, c)))));
    ck_assert(split(SIGNAL_METRICS, request, 1, 0));
    ck_assert(
        gave(resource_of(scope_of(PB_MESSAGE(2, PB_MESSAGE(7, a), name, PB_MESSAGE(7, monotonic)))),
             resource_of(scope_of(
                 PB_MESSAGE(2, PB_MESSAGE(7, b), name, PB_MESSAGE(7, PB_JOIN(monotonic, c)))))));
}
END_TEST

START_TEST(an_empty_metric_stays_with_what_precedes_it)
{
    struct view a = point_of("a"), empty = PB_MESSAGE(2, PB_TEXT(1, "n"), PB_EMPTY(5));
    struct view request = resource_of(scope_of(PB_JOIN(metric_of(5, a), empty, metric_of(5, a))));
    ck_assert(split(SIGNAL_METRICS, request, 1, 0));
    ck_assert(gave(resource_of(scope_of(PB_JOIN(metric_of(5, a), empty))),
                   resource_of(scope_of(metric_of(5, a)))));
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
        ck_assert_uint_le(items, max_items);
        /* A front above the limit of bytes has only one item. */
        if (front->size > max_bytes)
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

/* The splitter gives the parts that splitting the rest over and over does. */
static void split_both_ways(enum signal signal, struct view request, uint32_t max_items)
{
    struct otlp_splitter splitter;
    struct buffer *part, *again, *left, *whole = NULL;
    struct view view = request;
    otlp_split_begin(&splitter, signal, request);
    while ((part = otlp_split_next(&splitter, max_items, 0, NULL))) {
        ck_assert(otlp_split(signal, view, max_items, 0, NULL, &front, &rest));
        ck_assert(view_eq(buffer_view(part), buffer_view(front)));
        otlp_split_undo(&splitter);
        again = otlp_split_next(&splitter, max_items, 0, NULL);
        ck_assert(view_eq(buffer_view(again), buffer_view(front)));
        left = otlp_split_rest(&splitter, NULL);
        ck_assert(view_eq(buffer_view(left), buffer_view(rest)));
        buffer_unref(part);
        buffer_unref(again);
        buffer_unref(left);
        buffer_unref(front);
        buffer_unref(whole);
        whole = rest;
        view = buffer_view(whole);
    }
    ck_assert(!otlp_split(signal, view, max_items, 0, NULL, &front, &rest));
    otlp_split_end(&splitter);
    buffer_unref(whole);
}

START_TEST(parts_are_cut_off_one_after_another)
{
    for (unsigned seed = 0; seed < 400; seed++) {
        struct random random = random_seeded(seed);
        enum signal signal = (enum signal)(seed % SIGNAL_COUNT);
        struct bytes message;
        bytes_init(&message, SIZE_MAX / 2, NULL);
        proto_random(&random, otlp_shape(signal), RANDOM_UNKNOWN | RANDOM_GROUPS, 5, &message);
        split_both_ways(signal, bytes_view(&message), 1 + random_below(&random, 4));
        bytes_release(&message);
    }
}
END_TEST

START_TEST(a_part_can_be_taken_back_for_a_smaller_one)
{
    struct view a = point_of("a"), b = point_of("b"), c = point_of("c");
    struct view one = metric_of(7, c);
    struct view request = resource_of(scope_of(PB_JOIN(metric_of(5, PB_JOIN(a, b, c)), one)));
    struct otlp_splitter splitter;
    budget_init(&budget, 1);
    otlp_split_begin(&splitter, SIGNAL_METRICS, request);
    buffer_unref(otlp_split_next(&splitter, 1, 0, &budget));
    front = otlp_split_next(&splitter, 2, 0, &budget);
    ck_assert_uint_eq(budget_used(&budget), front->size); /* the rest is not written */
    buffer_unref(front);
    otlp_split_undo(&splitter);
    front = otlp_split_next(&splitter, 1, 0, &budget);
    rest = otlp_split_rest(&splitter, &budget);
    otlp_split_end(&splitter);
    ck_assert(gave(resource_of(scope_of(metric_of(5, b))),
                   resource_of(scope_of(PB_JOIN(metric_of(5, c), one)))));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        both_sides_keep_resource_scope_and_unknown_fields,
        a_cut_between_scopes_and_resources_leaves_no_empty_ones,
        what_fits_or_has_one_item_is_not_split,
        a_profiles_request_repeats_its_dictionary,
        each_part_of_a_metric_repeats_what_surrounds_its_points,
        the_front_is_filled_from_several_metrics,
        a_metric_whose_data_came_in_pieces_is_divided,
        an_empty_metric_stays_with_what_precedes_it,
        random_requests_split_without_loss,
        parts_are_cut_off_one_after_another,
        a_part_can_be_taken_back_for_a_smaller_one,
        NULL,
    };
    return suite_run("otlp_split", tests);
}
