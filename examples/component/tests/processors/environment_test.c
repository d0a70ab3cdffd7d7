#include "lib/wire/otlp/otlp.h"
#include "pipeline/component.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

/* The first field of environment's instance is its configuration. */
struct {
    char *name;
} instance = {.name = "staging"};

static struct batch *traces_of(struct view resource)
{
    struct view request = PB_MESSAGE(1, resource, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "GET /"))));
    struct buffer *payload = buffer_new(request.size, NULL, true);
    memcpy(payload->data, request.data, request.size);
    return batch_new(SIGNAL_TRACES, BATCH_OTLP, payload, 1, NULL);
}

/* What the resource has as deployment.environment.name behind the processor. */
static void expect(struct view resource, struct view value)
{
    const struct component *environment = component_find(COMPONENT_PROCESSOR, "environment");
    struct collecting_sink sink;
    struct proto_fault fault;
    struct otlp_walk walk;
    uint32_t items;
    struct batch *batch = traces_of(resource);
    collecting_sink_init(&sink);
    ck_assert_int_eq(environment->consume(&instance, batch, &sink.outlet), VERDICT_OK);
    ck_assert_uint_eq(sink.count, 1);
    struct view request = buffer_view(sink.batches[0]->payload);
    ck_assert(otlp_check(SIGNAL_TRACES, request, &items, &fault));
    ck_assert_uint_eq(items, 1);
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    ck_assert_int_eq(otlp_walk_next(&walk), OTLP_RESOURCE);
    ck_assert(view_eq(
        otlp_resource_attribute(walk.resource_entry.bytes, VIEW("deployment.environment.name")),
        value));
    collecting_sink_clear(&sink);
    batch_unref(batch);
}

START_TEST(a_resource_without_gets_it)
{
    expect(PB_MESSAGE(1, pb_attribute(1, "service.name", "shop")), VIEW("staging"));
    expect(PB_EMPTY(1), VIEW("staging"));
}
END_TEST

START_TEST(a_resource_that_has_one_keeps_it)
{
    expect(PB_MESSAGE(1, pb_attribute(1, "deployment.environment.name", "production")),
           VIEW("production"));
    struct view number = PB_MESSAGE(1, PB_MESSAGE(1, PB_TEXT(1, "deployment.environment.name"),
                                                  PB_MESSAGE(2, pb_varint(3, 3))));
    expect(number, (struct view){0});
}
END_TEST

START_TEST(no_resource_is_made)
{
    expect(VIEW(""), (struct view){0});
}
END_TEST

SUITE_MAIN("environment", a_resource_without_gets_it, a_resource_that_has_one_keeps_it,
           no_resource_is_made)
