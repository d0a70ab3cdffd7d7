#include "lib/ottl/ottl.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

static struct arena arena;
static struct request_context client;
static const struct ottl *statement;
static enum ottl_result result;

static enum edit_verdict step(void *ctx, struct request_edit *at, enum edit_level level)
{
    struct ottl_run run;
    (void)ctx, (void)level;
    ottl_run_begin(&run, at, OTTL_SPAN, &clock_system);
    result = ottl_eval(statement, &run);
    return EDIT_KEEP;
}

/* Whether a condition holds of a request from the client. */
static enum ottl_result holds(const char *condition)
{
    struct view request = PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "x"))));
    struct ottl_fault fault;
    struct splice splice;
    struct ottl *ottl = ottl_parse(OTTL_CONDITION, view_of(condition), &fault);
    ck_assert_msg(ottl && ottl_bind(ottl, OTTL_SPAN, true, &fault), "%s", fault.text);
    struct request_edit edit = {
        .signal = SIGNAL_TRACES, .levels = EDIT_BIT(EDIT_ITEM), .client = &client, .step = step};
    statement = ottl;
    arena_init(&arena, 1 << 20);
    splice_begin(&splice, request, &arena);
    ck_assert(request_edit(&edit, request, &splice));
    arena_release(&arena);
    ottl_free(ottl);
    return result;
}

#define HOLDS(condition) ck_assert_int_eq(holds(condition), OTTL_YES)
#define FAILS(condition) ck_assert_int_eq(holds(condition), OTTL_ERROR)

START_TEST(headers_are_lists_of_their_values)
{
    static const char headers[] = "X-Tenant\0acme\0a\0one\0A\0two\0empty\0\0";
    client = (struct request_context){.address = "192.0.2.1",
                                      .headers = {(const uint8_t *)headers, sizeof headers - 1}};
    HOLDS("otelcol.client.addr == \"192.0.2.1\"");
    HOLDS("otelcol.client.metadata[\"x-tenant\"][0] == \"acme\"");
    HOLDS("otelcol.client.metadata[\"A\"] == [\"one\", \"two\"]");
    HOLDS("otelcol.client.metadata[\"empty\"] == [\"\"]");
    HOLDS("otelcol.client.metadata[\"b\"][0] == nil");
    HOLDS("otelcol.client.metadata[\"authorization\"] == nil");
    HOLDS("otelcol.client.metadata == "
          "{\"x-tenant\": [\"acme\"], \"a\": [\"one\", \"two\"], \"empty\": [\"\"]}");
    FAILS("otelcol.client.metadata[\"a\"][2] == nil");
    FAILS("otelcol.client.metadata[\"a\"][0][0] == nil");
    FAILS("otelcol.client.metadata[1] == nil");
}
END_TEST

START_TEST(what_is_sent_on_is_known_without_headers)
{
    client = (struct request_context){.tenant = "acme", .authorization = "Bearer x"};
    HOLDS("otelcol.client.addr == nil");
    HOLDS("otelcol.client.metadata[\"X-Scope-OrgID\"] == [\"acme\"]");
    HOLDS("otelcol.client.metadata[\"Authorization\"][0] == \"Bearer x\"");
    HOLDS("Len(otelcol.client.metadata) == 0");
}
END_TEST

SUITE_MAIN("client", headers_are_lists_of_their_values, what_is_sent_on_is_known_without_headers)
