#include "extensions/status/refusing.h"

#include "tests/support/suite.h"

static bool says(const struct budget *budget, const char *text)
{
    const struct admission_pressure pressure = {.cause = CAUSE_MEMORY};
    struct refusing_reason reason = {0};
    struct bytes out;
    bytes_init(&out, 1024, NULL);
    refusing_put_cause(&pressure, budget, &reason, &out);
    bytes_append(&out, "", 1);
    bool found = strstr((const char *)out.data, text);
    bytes_release(&out);
    return found;
}

START_TEST(connections_that_take_much_of_the_memory_are_named)
{
    struct budget budget;
    budget_init(&budget, 64 << 20);
    budget_force(&budget, 64 << 20);
    budget.connections = 2 << 20;
    ck_assert(says(&budget, "64.0 MiB in use and 0.0 MiB beyond it"));
    budget.connections = 16 << 20;
    ck_assert(says(&budget, "64.0 MiB in use, of that 16.0 MiB by open connections, and 0.0 MiB"));
}
END_TEST

SUITE_MAIN("refusing", connections_that_take_much_of_the_memory_are_named)
