/* How spans are decided in confirmed mode: the rules as a user of the processor meets them. */
#include "tests/processors/correlation/rig.h"
#include "tests/support/captured.h"
#include "tests/support/otlp_reference.h"

START_TEST(a_root_whose_id_is_in_the_samples_leaves_linked_at_once)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 1, 0, 0);
    ck_assert_int_eq(rig_root(&rig, 1, 3 * S, 4 * S), VERDICT_OK);
    ck_assert(rig_linked(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(a_waiting_root_leaves_with_the_profile_that_has_its_id)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 5 * S);
    RIG_SPANS(&rig, {.id = 1, .start = 3 * S, .end = 4 * S}, {.id = 2, .start = S, .end = 5 * S});
    rig_advance(&rig, 5 * S);
    ck_assert(rig_waits(&rig, 1) && rig_waits(&rig, 2));
    rig_window(&rig, 2, 0, 0);
    ck_assert(rig_linked(&rig, 2));
    ck_assert_uint_eq(rig_left(&rig, 2)->left, 10 * S);
    ck_assert(rig_waits(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(a_root_that_its_window_did_not_have_leaves_without_a_link)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    rig_advance(&rig, 5 * S);
    RIG_SPANS(&rig, {.id = 1,
                     .start = RIG_WARM + 3 * S,
                     .end = RIG_WARM + 4 * S,
                     .attributes = {"0000000000000001"}});
    rig_advance(&rig, 5 * S);
    ck_assert(rig_waits(&rig, 1));
    rig_window(&rig, 9, 0, 0);
    rig_advance(&rig, S);
    ck_assert(rig_bare(&rig, 1));
    ck_assert(rig_explains(&rig, "not linked 1 (no sample 1)"));
    rig_close(&rig);
}
END_TEST

/* Another process of the service began a moment ago: its first window has not arrived yet. */
START_TEST(where_a_process_is_new_a_root_waits_a_window_and_a_quarter)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    rig_advance(&rig, 5 * S);
    RIG_PROFILE(&rig, .time = RIG_WARM - 5 * S, .duration = 10 * S, .ids = {7});
    rig_root(&rig, 1, RIG_WARM + 3 * S, RIG_WARM + 4 * S);
    rig_advance(&rig, 5 * S);
    rig_window(&rig, 9, 0, 0);
    rig_until(&rig, RIG_WARM + 16 * S);
    ck_assert(rig_waits(&rig, 1));
    rig_until(&rig, RIG_WARM + 17 * S);
    ck_assert(rig_bare(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(an_idle_process_sends_nothing_and_the_hold_runs_out)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    rig_advance(&rig, 10 * S);
    rig_root(&rig, 1, RIG_WARM + 9 * S, RIG_WARM + 10 * S);
    rig_advance(&rig, 19 * S);
    ck_assert(rig_waits(&rig, 1));
    rig_advance(&rig, 2 * S);
    ck_assert(rig_bare(&rig, 1));
    ck_assert(rig_explains(&rig, "hold ran out 1"));
    rig_close(&rig);
}
END_TEST

START_TEST(hold_can_be_set)
{
    struct rig rig;
    rig_open(&rig, "{hold: 3s}");
    RIG_PROFILE(&rig, .time = 0, .duration = S);
    rig_root(&rig, 1, 0, S);
    rig_until(&rig, 2900 * NS_PER_MS);
    ck_assert(rig_waits(&rig, 1));
    rig_until(&rig, 3200 * NS_PER_MS);
    ck_assert(rig_bare(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(spans_of_a_service_that_proves_not_profiled_leave_as_they_came)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_SPANS(&rig, {.id = 1, .end = S, .attributes = {"00000000000000AB", "x"}});
    rig_until(&rig, 44 * S);
    ck_assert(rig_waits(&rig, 1));
    rig_root(&rig, 2, 43 * S, 44 * S);
    rig_until(&rig, 46 * S);
    ck_assert_uint_eq(rig_left(&rig, 1)->attributes, 2);
    ck_assert(rig_bare(&rig, 2));
    rig_root(&rig, 3, 46 * S, 46 * S);
    ck_assert(rig_bare(&rig, 3));
    ck_assert(rig_explains(&rig, "forwarded unchanged 3 (not profiled 3)"));
    rig_close(&rig);
}
END_TEST

/* Node's profiler uploads every 60 s: its first window, at 61 s, and the one that follows. */
START_TEST(spans_of_node_wait_for_windows_of_a_minute)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_until(&rig, 2 * S);
    RIG_SPANS(&rig, {.id = 1, .end = S, .language = "nodejs"},
              {.id = 2, .start = S, .end = 2 * S, .language = "nodejs"});
    rig_until(&rig, 61 * S);
    ck_assert(rig_waits(&rig, 1));
    RIG_PROFILE(&rig, .name = "wall", .type = "wall", .time = 61 * S, .duration = 60 * S,
                .ids = {1});
    ck_assert(rig_linked(&rig, 1));
    rig_until(&rig, 63 * S);
    RIG_SPANS(&rig, {.id = 3, .start = 61 * S, .end = 62 * S, .language = "nodejs"},
              {.id = 4, .start = 61 * S, .end = 62 * S, .language = "nodejs"});
    rig_until(&rig, 121 * S);
    ck_assert(rig_bare(&rig, 2) && rig_waits(&rig, 3));
    RIG_PROFILE(&rig, .name = "wall", .type = "wall", .time = 121 * S, .duration = 60 * S,
                .ids = {3});
    ck_assert(rig_linked(&rig, 3) && rig_waits(&rig, 4));
    rig_until(&rig, 138 * S);
    ck_assert(rig_bare(&rig, 4));
    rig_close(&rig);
}
END_TEST

START_TEST(spans_of_node_without_a_profiler_leave_as_they_came)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_SPANS(&rig, {.id = 1, .end = S, .language = "nodejs", .attributes = {"x"}},
              {.service = "web", .id = 2, .end = S, .language = "webjs", .attributes = {"x"}});
    rig_until(&rig, 46 * S);
    ck_assert_uint_eq(rig_left(&rig, 2)->attributes, 1);
    rig_until(&rig, 74 * S);
    ck_assert(rig_waits(&rig, 1));
    rig_until(&rig, 76 * S);
    ck_assert_uint_eq(rig_left(&rig, 1)->attributes, 1);
    rig_close(&rig);
}
END_TEST

START_TEST(another_services_profiles_do_not_make_a_service_profiled)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    RIG_SPANS(&rig, {.service = "other", .id = 1, .start = RIG_WARM - S, .end = RIG_WARM});
    rig_advance(&rig, 46 * S);
    ck_assert(rig_explains(&rig, "service other: spans linked 0, not linked 0, "
                                 "forwarded unchanged 1 (not profiled 1)"));
    rig_close(&rig);
}
END_TEST

static struct batch *opaque(const char *query)
{
    struct buffer *payload = buffer_new(3, NULL, true);
    memcpy(payload->data, "jfr", 3);
    struct batch *batch = batch_new(SIGNAL_PROFILES, BATCH_OPAQUE, payload, 1, NULL);
    struct opaque_request *request = calloc(1, sizeof *request);
    request->query = strdup(query);
    batch_set_opaque(batch, request);
    return batch;
}

/* A link opens the profiles of the span's own service, which would have none. */
START_TEST(samples_under_another_services_name_link_nothing)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_PROFILE(&rig, .service = "other", .duration = 10 * S, .ids = {1});
    rig_root(&rig, 1, S, 2 * S);
    rig_advance(&rig, 60 * S);
    ck_assert(rig_bare(&rig, 1));
    rig_close(&rig);
}
END_TEST

/* "shop.cpu" of folded text is the service shop. */
START_TEST(text_is_of_the_service_without_the_type_in_its_name)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_SPANS(&rig, {.id = 1, .end = S, .attributes = {"0000000000000001"}});
    rig_advance(&rig, 10 * S);
    rig_upload(&rig, opaque("name=shop.cpu&format=folded"));
    ck_assert_uint_eq(rig_left(&rig, 1)->attributes, 1);
    ck_assert(rig_explains(&rig, "span ids of profiles cannot be read 1"));
    rig_close(&rig);
}
END_TEST

START_TEST(spans_that_still_wait_at_the_end_are_told)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_SPANS(&rig, {.id = 1, .end = S}, {.id = 2, .end = S});
    ck_assert(rig_waits(&rig, 1));
    captured_begin();
    rig_close(&rig);
    ck_assert_uint_eq(captured_with("2 spans that waited for samples were handed on undecided"), 1);
}
END_TEST

START_TEST(a_format_that_is_not_read_lets_held_spans_go_as_they_came)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_SPANS(&rig, {.id = 1, .end = S, .attributes = {"0000000000000001"}});
    ck_assert(rig_waits(&rig, 1));
    rig_advance(&rig, 10 * S);
    rig_upload(&rig, opaque("name=shop%7Bregion%3Deu%7D&format=jfr"));
    ck_assert_uint_eq(rig.profiles.count, 1);
    ck_assert_uint_eq(rig_left(&rig, 1)->attributes, 1);
    RIG_SPANS(&rig, {.id = 2, .start = 9 * S, .end = 10 * S, .attributes = {"0000000000000002"}});
    ck_assert_uint_eq(rig_left(&rig, 2)->attributes, 1);
    rig_close(&rig);
}
END_TEST

START_TEST(a_span_from_before_the_start_keeps_its_attribute)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    struct rig_span span = {
        .id = 1, .start = (uint64_t)-5 * S, .end = 75 * S, .attributes = {"0000000000000001"}};
    rig_spans(&rig, &span, 1);
    rig_advance(&rig, S);
    ck_assert_uint_eq(rig_left(&rig, 1)->attributes, 1);
    ck_assert(rig_explains(&rig, "started before spanlink or a reload 1"));
    rig_close(&rig);
}
END_TEST

START_TEST(a_span_from_before_the_start_is_linked_where_samples_have_it)
{
    struct rig rig;
    rig_open(&rig, "{}");
    struct rig_span span = {.id = 1, .start = (uint64_t)-5 * S, .end = 5 * S};
    rig_spans(&rig, &span, 1);
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 1, 0, 0);
    ck_assert(rig_linked(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(children_pass_at_once_and_a_request_is_cut_in_two)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .end = S}, {.id = 1, .end = S},
              {.id = 3, .parent = 1, .end = S});
    ck_assert(rig_bare(&rig, 2) && rig_bare(&rig, 3) && rig_waits(&rig, 1));
    ck_assert_uint_eq(rig.batches, 1);
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 1, 0, 0);
    ck_assert(rig_linked(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(a_remote_parent_makes_a_local_root)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_SPANS(&rig, {.id = 1, .parent = 9, .end = S, .flags = 0x301},
              {.id = 2, .parent = 9, .end = S, .flags = 0x101, .kind = SPAN_KIND_SERVER},
              {.id = 3, .parent = 9, .end = S, .kind = SPAN_KIND_SERVER},
              {.id = 4, .parent = 9, .end = S, .kind = SPAN_KIND_CONSUMER},
              {.id = 5, .parent = 9, .end = S, .kind = SPAN_KIND_CLIENT});
    ck_assert(rig_waits(&rig, 1) && rig_waits(&rig, 3) && rig_waits(&rig, 4));
    ck_assert(rig_bare(&rig, 2) && rig_bare(&rig, 5));
    rig_close(&rig);
}
END_TEST

START_TEST(a_marked_child_waits_like_a_root)
{
    struct rig rig;
    rig_open(&rig, "{candidates: local_root}");
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .end = S, .attributes = {"0000000000000002"}});
    ck_assert(rig_waits(&rig, 2));
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 2, 0, 0);
    ck_assert(rig_linked(&rig, 2));
    rig_close(&rig);
}
END_TEST

START_TEST(with_auto_a_child_found_in_samples_makes_its_siblings_wait)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 2, 0, 0);
    RIG_SPANS(&rig, {.id = 3, .parent = 1, .start = 8 * S, .end = 9 * S});
    ck_assert(rig_bare(&rig, 3));
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .start = 5 * S, .end = 9 * S});
    ck_assert(rig_linked(&rig, 2));
    RIG_SPANS(&rig, {.id = 4, .parent = 1, .start = 9 * S, .end = 10 * S});
    ck_assert(rig_waits(&rig, 4));
    rig_close(&rig);
}
END_TEST

START_TEST(with_local_root_a_child_in_samples_is_linked_and_its_siblings_pass)
{
    struct rig rig;
    rig_open(&rig, "{candidates: local_root}");
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 2, 0, 0);
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .start = 5 * S, .end = 9 * S},
              {.id = 4, .parent = 1, .start = 9 * S, .end = 10 * S});
    ck_assert(rig_linked(&rig, 2) && rig_bare(&rig, 4));
    rig_close(&rig);
}
END_TEST

START_TEST(with_all_every_span_waits)
{
    struct rig rig;
    rig_open(&rig, "{candidates: all}");
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .end = S});
    ck_assert(rig_waits(&rig, 2));
    rig_close(&rig);
}
END_TEST

START_TEST(an_attribute_is_judged_by_the_id_it_names)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 7, 0, 0);
    RIG_SPANS(&rig, {.id = 2, .start = 5 * S, .end = 9 * S, .attributes = {"0000000000000007"}});
    ck_assert(rig_linked_as(&rig, 2, 7));
    rig_close(&rig);
}
END_TEST

START_TEST(an_attribute_that_is_no_id_gives_way_to_the_spans_own)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 2, 0, 0);
    RIG_SPANS(&rig, {.id = 2, .start = 5 * S, .end = 9 * S, .attributes = {"not an id"}});
    ck_assert(rig_linked(&rig, 2));
    rig_close(&rig);
}
END_TEST

START_TEST(copies_of_the_attribute_become_one_or_none)
{
    struct rig rig;
    rig_open(&rig, "{hold: 5s}");
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 2, 0xabc, 0);
    RIG_SPANS(&rig,
              {.id = 2,
               .start = 5 * S,
               .end = 9 * S,
               .attributes = {"0000000000000002", "0000000000000002", "x"}},
              {.id = 0xabc, .start = 5 * S, .end = 9 * S, .attributes = {"0000000000000ABC"}},
              {.id = 3,
               .start = 5 * S,
               .end = 9 * S,
               .attributes = {"0000000000000003", "0000000000000002"}});
    ck_assert(rig_linked(&rig, 2) && rig_linked(&rig, 0xabc));
    rig_advance(&rig, 6 * S);
    ck_assert(rig_bare(&rig, 3));
    rig_close(&rig);
}
END_TEST

START_TEST(unconfirmed_keep_leaves_one_copy)
{
    struct rig rig;
    rig_open(&rig, "{hold: 5s, unconfirmed: keep}");
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 9, 0, 0);
    RIG_SPANS(&rig, {.id = 3,
                     .start = 5 * S,
                     .end = 9 * S,
                     .attributes = {"0000000000000003", "0000000000000002"}});
    rig_advance(&rig, 6 * S);
    ck_assert(rig_linked(&rig, 3));
    rig_close(&rig);
}
END_TEST

START_TEST(an_id_in_reversed_byte_order_links_as_the_profile_has_it)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 5 * S);
    RIG_SPANS(&rig, {.id = 0x1122334455667788, .end = S, .attributes = {"1122334455667788"}});
    rig_advance(&rig, 5 * S);
    rig_window(&rig, 0x8877665544332211, 0, 0);
    ck_assert(rig_linked_as(&rig, 0x1122334455667788, 0x8877665544332211));
    rig_close(&rig);
}
END_TEST

START_TEST(annotations_sum_the_samples_known_when_the_span_leaves)
{
    struct rig rig;
    rig_open(&rig, "{annotate: true}");
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 2, 2, 2);
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 2, 0, 0);
    RIG_SPANS(&rig, {.id = 2, .start = 5 * S, .end = 19 * S});
    ck_assert(rig_linked(&rig, 2));
    ck_assert_int_eq(rig_left(&rig, 2)->samples, 4);
    ck_assert_int_eq(rig_left(&rig, 2)->cpu_ns, 40000000);
    RIG_SPANS(&rig, {.id = 3, .start = 5 * S, .end = 19 * S});
    rig_advance(&rig, 60 * S);
    ck_assert_int_eq(rig_left(&rig, 3)->samples, -1);
    rig_close(&rig);
}
END_TEST

START_TEST(link_local_root_attaches_at_once_as_the_sdks_do)
{
    struct rig rig;
    rig_open(&rig, "{link: local_root}");
    RIG_SPANS(&rig, {.id = 1, .end = S}, {.id = 2, .parent = 1, .end = S},
              {.id = 3, .end = S, .attributes = {"0000000000000007", "x"}},
              {.id = 4, .parent = 1, .end = S, .attributes = {"0000000000000007"}});
    ck_assert(rig_linked(&rig, 1) && rig_bare(&rig, 2));
    ck_assert(rig_linked_as(&rig, 3, 7) && rig_linked_as(&rig, 4, 7));
    rig_close(&rig);
}
END_TEST

START_TEST(link_all_attaches_to_every_span)
{
    struct rig rig;
    rig_open(&rig, "{link: all}");
    RIG_SPANS(&rig, {.id = 1, .end = S}, {.id = 2, .parent = 1, .end = S});
    ck_assert(rig_linked(&rig, 1) && rig_linked(&rig, 2));
    rig_close(&rig);
}
END_TEST

START_TEST(the_clock_of_a_span_cannot_hold_it_past_the_hold)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    rig_root(&rig, 1, RIG_WARM, 5000 * S);
    rig_advance(&rig, 21 * S);
    ck_assert(rig_bare(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(a_service_is_known_by_its_name_also_where_it_has_none)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_SPANS(&rig, {.service = "", .id = 1, .end = S});
    rig_advance(&rig, 10 * S);
    RIG_PROFILE(&rig, .service = "unknown_service", .duration = 10 * S, .ids = {1});
    ck_assert(rig_linked(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(resources_get_service_name_whether_their_spans_waited_or_not)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_SPANS(&rig, {.id = 1, .end = S}, {.id = 2, .parent = 1, .end = S});
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 1, 0, 0);
    ck_assert_uint_eq(rig.traces.count, 2);
    for (size_t i = 0; i < 2; i++) {
        struct otlp_walk walk;
        otlp_walk_begin(&walk, SIGNAL_TRACES, buffer_view(rig.traces.batches[i]->payload));
        ck_assert_int_eq(otlp_walk_next(&walk), OTLP_RESOURCE);
        struct view entry = walk.resource_entry.bytes;
        ck_assert(view_eq(otlp_resource_attribute(entry, VIEW("service_name")), VIEW("shop")));
        ck_assert(view_eq(otlp_resource_attribute(entry, VIEW("service.name")), VIEW("shop")));
        struct proto_field schema;
        ck_assert(proto_find(entry, 3, WIRE_LEN, &schema));
    }
    rig_close(&rig);
}
END_TEST

/* The bodies of all spans of a request, one after the other. */
static struct bytes bodies(struct view request)
{
    struct bytes out;
    bytes_init(&out, SIZE_MAX, NULL);
    struct otlp_walk walk;
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    enum otlp_step step = otlp_walk_next(&walk);
    for (; step != OTLP_END; step = otlp_walk_next(&walk))
        if (step == OTLP_ITEM)
            bytes_append_view(&out, walk.item.bytes);
    return out;
}

START_TEST(spans_that_nobody_edits_leave_the_hold_byte_for_byte)
{
    struct rig rig;
    rig_open(&rig, "{remap: {}}");
    const struct rig_span spans[] = {
        {.id = 1, .end = S, .attributes = {"0000000000000001"}},
        {.id = 2, .end = S, .attributes = {"0000000000000002"}},
        {.service = "other", .id = 3, .end = S, .attributes = {"0000000000000003"}},
    };
    struct bytes sent = rig_request(spans, 3);
    rig_spans(&rig, spans, 3);
    ck_assert_uint_eq(rig.traces.count, 0);
    rig_advance(&rig, 60 * S);
    ck_assert_uint_eq(rig.traces.count, 1);
    struct view got = buffer_view(rig.traces.batches[0]->payload);
    struct bytes before = bodies(bytes_view(&sent)), after = bodies(got);
    ck_assert(view_eq(bytes_view(&before), bytes_view(&after)));
    /* Resources, scopes and their schemas are all present, though reordered. */
    ck_assert_uint_eq(got.size, sent.size);
    ck_assert(otlp_reference_same(SIGNAL_TRACES, got, bytes_view(&sent)));
    bytes_release(&before);
    bytes_release(&after);
    bytes_release(&sent);
    rig_close(&rig);
}
END_TEST

/* Counts the resources and scopes of everything that was forwarded. */
static size_t count_steps(struct rig *rig, enum otlp_step wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->traces.count; i++) {
        struct otlp_walk walk;
        otlp_walk_begin(&walk, SIGNAL_TRACES, buffer_view(rig->traces.batches[i]->payload));
        for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;)
            count += step == wanted;
    }
    return count;
}

START_TEST(what_waits_leaves_no_empty_resource_or_scope_behind)
{
    struct rig rig;
    rig_open(&rig, "{}");
    /* Two scopes of the second resource: one waits, the other does not. */
    const struct rig_span some[] = {{.id = 1, .end = S}, {.id = 2, .parent = 1, .end = S}};
    struct bytes request = rig_request((const struct rig_span[]){{.service = "all", .id = 9}}, 1);
    struct bytes resource, entry, scope;
    bytes_init(&resource, SIZE_MAX, NULL);
    bytes_init(&entry, SIZE_MAX, NULL);
    rig_attribute(&resource, 1, "service.name", "some");
    rig_field(&entry, 1, bytes_view(&resource));
    for (size_t i = 0; i < 2; i++) {
        bytes_init(&scope, SIZE_MAX, NULL);
        rig_field(&scope, 1, VIEW("\x0a\x05scope"));
        rig_put_span(&scope, &some[i]);
        rig_field(&entry, 2, bytes_view(&scope));
        bytes_release(&scope);
    }
    rig_field(&request, 1, bytes_view(&entry));
    bytes_release(&resource);
    bytes_release(&entry);
    ck_assert_int_eq(rig_consume(&rig, SIGNAL_TRACES, BATCH_OTLP, &request, 3), VERDICT_OK);
    ck_assert_uint_eq(count_steps(&rig, OTLP_RESOURCE), 1);
    ck_assert_uint_eq(count_steps(&rig, OTLP_SCOPE), 1);
    ck_assert_uint_eq(count_steps(&rig, OTLP_ITEM), 1);
    ck_assert(rig_bare(&rig, 2) && rig_waits(&rig, 1) && rig_waits(&rig, 9));
    rig_close(&rig);
}
END_TEST

START_TEST(a_request_without_anything_to_do_is_handed_on_as_it_is)
{
    struct rig rig;
    rig_open(&rig, "{remap: {}}");
    struct bytes sent = rig_request(&(struct rig_span){.id = 2, .parent = 1, .end = S}, 1);
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .end = S});
    ck_assert(view_eq(buffer_view(rig.traces.batches[0]->payload), bytes_view(&sent)));
    bytes_release(&sent);
    rig_close(&rig);
}
END_TEST

START_TEST(a_request_of_more_services_than_are_known_loses_no_span)
{
    enum { SERVICES = 10050 };
    struct rig rig;
    rig_open(&rig, "{}");
    struct rig_span *spans = calloc(SERVICES, sizeof *spans);
    char(*names)[8] = calloc(SERVICES, sizeof *names);
    for (uint64_t i = 0; i < SERVICES; i++) {
        snprintf(names[i], sizeof names[i], "s%u", (unsigned)i);
        /* Most of them have no waiting spans, so that they could be forgotten. */
        spans[i] = (struct rig_span){
            .service = names[i], .id = i + 1, .parent = i % 1000 ? 7 : 0, .end = S};
    }
    ck_assert_int_eq(rig_spans(&rig, spans, SERVICES), VERDICT_OK);
    rig_advance(&rig, 60 * S);
    rig_collect(&rig);
    ck_assert_uint_eq(rig.count, SERVICES);
    free(names);
    free(spans);
    rig_close(&rig);
}
END_TEST

START_TEST(an_empty_request_passes)
{
    struct rig rig;
    rig_open(&rig, "{}");
    struct bytes empty;
    bytes_init(&empty, 1, NULL);
    ck_assert_int_eq(rig_consume(&rig, SIGNAL_TRACES, BATCH_OTLP, &empty, 0), VERDICT_OK);
    ck_assert_uint_eq(rig.traces.count, 1);
    rig_close(&rig);
}
END_TEST

SUITE_MAIN("correlation traces", a_root_whose_id_is_in_the_samples_leaves_linked_at_once,
           a_waiting_root_leaves_with_the_profile_that_has_its_id,
           a_root_that_its_window_did_not_have_leaves_without_a_link,
           where_a_process_is_new_a_root_waits_a_window_and_a_quarter,
           an_idle_process_sends_nothing_and_the_hold_runs_out, hold_can_be_set,
           spans_of_a_service_that_proves_not_profiled_leave_as_they_came,
           spans_of_node_wait_for_windows_of_a_minute,
           spans_of_node_without_a_profiler_leave_as_they_came,
           another_services_profiles_do_not_make_a_service_profiled,
           samples_under_another_services_name_link_nothing,
           text_is_of_the_service_without_the_type_in_its_name,
           spans_that_still_wait_at_the_end_are_told,
           a_format_that_is_not_read_lets_held_spans_go_as_they_came,
           a_span_from_before_the_start_keeps_its_attribute,
           a_span_from_before_the_start_is_linked_where_samples_have_it,
           children_pass_at_once_and_a_request_is_cut_in_two, a_remote_parent_makes_a_local_root,
           a_marked_child_waits_like_a_root,
           with_auto_a_child_found_in_samples_makes_its_siblings_wait,
           with_local_root_a_child_in_samples_is_linked_and_its_siblings_pass,
           with_all_every_span_waits, an_attribute_is_judged_by_the_id_it_names,
           an_attribute_that_is_no_id_gives_way_to_the_spans_own,
           copies_of_the_attribute_become_one_or_none, unconfirmed_keep_leaves_one_copy,
           an_id_in_reversed_byte_order_links_as_the_profile_has_it,
           annotations_sum_the_samples_known_when_the_span_leaves,
           link_local_root_attaches_at_once_as_the_sdks_do, link_all_attaches_to_every_span,
           the_clock_of_a_span_cannot_hold_it_past_the_hold,
           a_service_is_known_by_its_name_also_where_it_has_none,
           resources_get_service_name_whether_their_spans_waited_or_not,
           spans_that_nobody_edits_leave_the_hold_byte_for_byte,
           what_waits_leaves_no_empty_resource_or_scope_behind,
           a_request_without_anything_to_do_is_handed_on_as_it_is,
           a_request_of_more_services_than_are_known_loses_no_span, an_empty_request_passes)
