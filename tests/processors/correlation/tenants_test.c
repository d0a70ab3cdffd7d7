/* Services of one name in several tenants, if the receivers of both signals have tenants. */
#include "tests/processors/correlation/rig.h"

#define BOTH (SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_PROFILES))

static void open_rig(struct rig *rig, unsigned metadata_signals)
{
    rig_open(rig, "{}");
    rig->env.metadata_signals = metadata_signals;
}

/* Windows of the last ten seconds, from this tenant. */
static void window_of(struct rig *rig, const char *tenant, uint64_t id)
{
    rig_tenant(rig, tenant);
    rig_window(rig, id, 0, 0);
}

static void root_of(struct rig *rig, const char *tenant, uint64_t id)
{
    char mark[17] = "";
    struct rig_span span = {
        .id = id, .start = rig_now(rig) - 2 * S, .end = rig_now(rig) - S, .attributes = {mark}};
    span_id_format(id, mark);
    rig_tenant(rig, tenant);
    rig_spans(rig, &span, 1);
}

START_TEST(samples_of_another_tenant_link_nothing)
{
    struct rig rig;
    open_rig(&rig, BOTH);
    rig_advance(&rig, 10 * S);
    root_of(&rig, "a", 1);
    window_of(&rig, "b", 1);
    ck_assert(rig_waits(&rig, 1));
    root_of(&rig, "a", 2); /* known to b */
    root_of(&rig, "b", 11);
    window_of(&rig, "b", 2);
    ck_assert(rig_waits(&rig, 2));
    window_of(&rig, "a", 1);
    ck_assert(rig_linked(&rig, 1) && rig_waits(&rig, 11));
    rig_close(&rig);
}
END_TEST

START_TEST(the_same_span_id_in_two_tenants_is_two_spans)
{
    struct rig rig;
    open_rig(&rig, BOTH);
    rig_advance(&rig, 10 * S);
    root_of(&rig, "a", 7);
    root_of(&rig, "b", 7);
    window_of(&rig, "b", 7);
    rig_collect(&rig);
    ck_assert_uint_eq(rig.count, 1);
    ck_assert_uint_eq(rig.out[0].link, 7);
    rig_advance(&rig, 60 * S); /* no profile of a arrived */
    rig_collect(&rig);
    ck_assert_uint_eq(rig.count, 2);
    ck_assert(rig_explains(&rig, "service shop of tenant b: spans linked 1"));
    ck_assert(rig_explains(&rig, "service shop of tenant a: spans linked 0, not linked 0, "
                                 "forwarded unchanged 1 (not profiled 1)"));
    rig_close(&rig);
}
END_TEST

START_TEST(a_tenant_is_not_judged_by_anothers_profiles)
{
    struct rig rig;
    open_rig(&rig, BOTH);
    while (rig_now(&rig) < RIG_WARM) {
        rig_advance(&rig, 10 * S);
        window_of(&rig, "b", 5);
    }
    root_of(&rig, "a", 1);
    rig_advance(&rig, 10 * S);
    window_of(&rig, "b", 5);
    rig_advance(&rig, 30 * S);
    ck_assert(rig_waits(&rig, 1));
    rig_advance(&rig, 10 * S);
    ck_assert_uint_eq(rig_left(&rig, 1)->attributes, 1); /* a is not profiled */
    rig_close(&rig);
}
END_TEST

START_TEST(requests_without_a_tenant_are_one_of_their_own)
{
    struct rig rig;
    open_rig(&rig, BOTH);
    rig_advance(&rig, 10 * S);
    root_of(&rig, NULL, 1);
    root_of(&rig, "a", 2);
    rig_tenant(&rig, NULL);
    RIG_PROFILE(&rig, .time = 0, .duration = 10 * S, .ids = {1, 2});
    ck_assert(rig_linked(&rig, 1) && rig_waits(&rig, 2));
    window_of(&rig, "a", 2);
    ck_assert(rig_linked(&rig, 2));
    rig_close(&rig);
}
END_TEST

START_TEST(where_one_signal_alone_tells_tenants_they_are_not_told_apart)
{
    const unsigned alone[] = {0, SIGNAL_BIT(SIGNAL_TRACES), SIGNAL_BIT(SIGNAL_PROFILES),
                              SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_LOGS)};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        struct rig rig;
        open_rig(&rig, alone[i]);
        rig_advance(&rig, 10 * S);
        root_of(&rig, "a", 1);
        root_of(&rig, "b", 2);
        window_of(&rig, "b", 1);
        ck_assert(rig_linked(&rig, 1) && rig_waits(&rig, 2));
        ck_assert_uint_eq(rig_self(&rig)->services.count, 1);
        window_of(&rig, NULL, 2);
        ck_assert(rig_linked(&rig, 2));
        rig_close(&rig);
    }
}
END_TEST

SUITE_MAIN("correlation tenants", samples_of_another_tenant_link_nothing,
           the_same_span_id_in_two_tenants_is_two_spans,
           a_tenant_is_not_judged_by_anothers_profiles,
           requests_without_a_tenant_are_one_of_their_own,
           where_one_signal_alone_tells_tenants_they_are_not_told_apart)
