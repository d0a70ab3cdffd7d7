#include "pipeline/component.h"

#include "tests/support/scripted.h"
#include "tests/support/suite.h"

const struct component *const component_table[] = {&scripted_source, &scripted_holder,
                                                   &scripted_sink, NULL};

START_TEST(a_component_is_found_by_kind_and_type_or_alias)
{
    ck_assert_ptr_eq(component_find(COMPONENT_EXPORTER, "sink"), &scripted_sink);
    ck_assert_ptr_eq(component_find(COMPONENT_EXPORTER, "sinkalias"), &scripted_sink);
    ck_assert_ptr_null(component_find(COMPONENT_RECEIVER, "sink"));
    ck_assert_ptr_null(component_find(COMPONENT_EXPORTER, "sin"));
    ck_assert_ptr_null(component_find(COMPONENT_EXPORTER, ""));
}
END_TEST

START_TEST(asking_for_a_tick_without_a_ticker_does_nothing)
{
    struct env env = {.id = "alone"};
    env_tick_at(&env, 0);
    ck_assert_ptr_null(env.ticker);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_component_is_found_by_kind_and_type_or_alias,
        asking_for_a_tick_without_a_ticker_does_nothing,
        NULL,
    };
    return suite_run("component", tests);
}
