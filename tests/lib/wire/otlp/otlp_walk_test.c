#include "lib/wire/otlp/otlp.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

/* The steps of a walk as letters. */
static void steps(struct view request, char *out)
{
    struct otlp_walk walk;
    enum otlp_step step;
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    do {
        step = otlp_walk_next(&walk);
        *out++ = "RSisre"[step];
    } while (step != OTLP_END);
    *out = 0;
    ck_assert(otlp_walk_next(&walk) == OTLP_END);
}

START_TEST(the_walk_meets_every_level_in_order)
{
    char text[64];
    struct view scope = PB_MESSAGE(2, PB_EMPTY(2), PB_EMPTY(2));
    steps(PB_JOIN(PB_MESSAGE(1, PB_EMPTY(1), scope, PB_EMPTY(2)), PB_EMPTY(1)), text);
    ck_assert_str_eq(text, "RSiisSsrRre");
    steps((struct view){0}, text);
    ck_assert_str_eq(text, "e");
}
END_TEST

START_TEST(fields_that_are_not_the_skeleton_are_passed_over)
{
    char text[64];
    struct view noise = PB_JOIN(PB_TEXT(3, "url"), pb_group(9, PB_EMPTY(2)), PB_TEXT(1000, "x"));
    struct view scope = PB_MESSAGE(2, noise, PB_EMPTY(1), PB_MESSAGE(2, PB_TEXT(5, "it")), noise);
    steps(PB_JOIN(noise, PB_MESSAGE(1, noise, scope, PB_EMPTY(1)), noise), text);
    ck_assert_str_eq(text, "RSisre");
}
END_TEST

START_TEST(the_fields_at_hand_point_into_the_request)
{
    struct otlp_walk walk;
    struct view item = PB_MESSAGE(2, PB_TEXT(5, "name"));
    struct view request = PB_MESSAGE(1, PB_MESSAGE(2, item));
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    while (otlp_walk_next(&walk) != OTLP_ITEM) {
    }
    ck_assert_ptr_eq(walk.resource_entry.start, request.data);
    ck_assert_ptr_eq(walk.item.end, request.data + request.size);
    ck_assert(view_eq(walk.item.bytes, PB_TEXT(5, "name")));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_walk_meets_every_level_in_order,
        fields_that_are_not_the_skeleton_are_passed_over,
        the_fields_at_hand_point_into_the_request,
        NULL,
    };
    return suite_run("otlp_walk", tests);
}
