#include "lib/wire/pprof/pprof_agents.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

static struct arena arena;

#define LOCATION(id) PB_MESSAGE(4, pb_varint(1, id), PB_MESSAGE(4, pb_varint(1, id)))
#define FUNCTION(id, name, file)                                                                   \
    PB_MESSAGE(5, pb_varint(1, id), pb_varint(2, name), pb_varint(4, file))

/* run of busy/__init__.py, run of /usr/lib/x.py, another run of the first, and one of no file. */
static struct view script(void)
{
    return PB_JOIN(
        PB_MESSAGE(1, pb_varint(1, 1), pb_varint(2, 2)),
        PB_MESSAGE(2, PB_MESSAGE(1, VIEW("\x01\x02\x03\x04")), PB_MESSAGE(2, VIEW("\x05"))),
        LOCATION(1), LOCATION(2), LOCATION(3), LOCATION(4), FUNCTION(1, 3, 4), FUNCTION(2, 3, 5),
        FUNCTION(3, 3, 4), FUNCTION(4, 3, 0), PB_EMPTY(6), PB_TEXT(6, "cpu"),
        PB_TEXT(6, "nanoseconds"), PB_TEXT(6, "run"), PB_TEXT(6, "busy/__init__.py"),
        PB_TEXT(6, "/usr/lib/x.py"));
}

/* The names of the functions of a profile, in order, each with a line end. */
static struct view names_of(struct view raw)
{
    struct pprof pprof;
    struct proto_fault fault;
    struct proto_field field, name;
    struct view all = VIEW("");
    ck_assert_msg(pprof_open(&pprof, raw, &arena, &fault), "%s", fault.reason);
    struct proto_scan scan = proto_scan_begin(raw);
    while (proto_scan_next(&scan, &field))
        if (field.number == 5 && proto_find(field.bytes, 2, WIRE_VARINT, &name))
            all = PB_JOIN(all, pprof_string(&pprof, name.value), VIEW("\n"));
    return all;
}

static struct view named(struct view raw, const char *spy)
{
    struct pprof pprof;
    struct proto_fault fault;
    struct splice splice;
    ck_assert(pprof_open(&pprof, raw, &arena, &fault));
    splice_begin(&splice, raw, &arena);
    pprof_name_files(&pprof, pprof_naming_of(view_of(spy)), &splice);
    ck_assert(!splice.failed);
    if (!splice_any(&splice))
        return raw;
    uint8_t *out = arena_alloc(&arena, splice_size(&splice));
    splice_write(&splice, out);
    return (struct view){out, splice_size(&splice)};
}

/* The server's names: Pyroscope 2.x, FixFunctionNamesForScriptingLanguages. */
START_TEST(functions_of_scripts_are_named_with_their_files)
{
    arena_init(&arena, 1 << 24);
    static const char ruby[] =
        "busy/__init__.py run\n/usr/lib/x.py run\nbusy/__init__.py run\n run\n";
    struct view python = VIEW("busy/__init__.py run\nrun\nbusy/__init__.py run\n run\n");
    ck_assert(view_eq(names_of(named(script(), "pyspy")), python));
    ck_assert(view_eq(names_of(named(script(), "rbspy")), view_of(ruby)));
    ck_assert(view_eq(names_of(named(script(), "scripting")), view_of(ruby)));
    ck_assert(view_eq(named(script(), "gospy"), script()));
    ck_assert(view_eq(named(script(), ""), script()));
    arena_release(&arena);
}
END_TEST

/* A long file name that many functions share. */
START_TEST(names_do_not_multiply_a_hostile_profile)
{
    arena_init(&arena, 1 << 24);
    struct view raw = PB_JOIN(PB_MESSAGE(1, pb_varint(1, 0), pb_varint(2, 0)), PB_EMPTY(6),
                              pb_fill(6, 100000, 'x'));
    for (unsigned i = 1; i <= 1000; i++)
        raw = PB_JOIN(raw, FUNCTION(i, 0, 1));
    ck_assert(view_eq(named(raw, "rbspy"), raw));
    arena_release(&arena);
}
END_TEST

static struct bytes repaired(struct view raw, bool expected)
{
    struct bytes bytes;
    bool changed;
    bytes_init(&bytes, 1 << 20, NULL);
    bytes_append_view(&bytes, raw);
    ck_assert(pprof_repair_dotnet(&bytes, &changed));
    ck_assert_int_eq(changed, expected);
    return bytes;
}

#define DOTNET(functions, type)                                                                    \
    PB_JOIN(PB_MESSAGE(1, pb_varint(1, 1), pb_varint(2, 2)),                                       \
            PB_MESSAGE(2, PB_MESSAGE(1, VIEW("\x07")), PB_MESSAGE(2, VIEW("\x05"))), LOCATION(7),  \
            LOCATION(9), functions, PB_EMPTY(6), PB_TEXT(6, type), PB_TEXT(6, "by-tes"),           \
            PB_TEXT(6, "a-b"))

/* The server's repairs: Pyroscope 2.x, FixFunctionIDForBrokenDotnet and fixSampleTypes. */
START_TEST(functions_without_ids_get_those_of_the_locations)
{
    struct view two = PB_JOIN(PB_MESSAGE(5, pb_varint(2, 3)), PB_MESSAGE(5, pb_varint(2, 3)));
    struct view given = PB_JOIN(PB_MESSAGE(5, pb_varint(2, 3), pb_varint(1, 7)),
                                PB_MESSAGE(5, pb_varint(2, 3), pb_varint(1, 9)));
    struct bytes bytes = repaired(DOTNET(two, "inuse-space"), true);
    ck_assert(view_eq(bytes_view(&bytes), DOTNET(given, "inuse_space")));
    bytes_release(&bytes);
    bytes = repaired(DOTNET(two, "cpu"), true);
    bytes_release(&bytes);
}
END_TEST

START_TEST(what_is_not_broken_so_is_left_alone)
{
    struct view one = PB_MESSAGE(5, pb_varint(2, 3));
    struct view mixed = PB_JOIN(one, FUNCTION(9, 3, 0));
    struct bytes bytes = repaired(DOTNET(one, "cpu"), false);
    bytes_release(&bytes);
    bytes = repaired(DOTNET(mixed, "cpu"), false);
    ck_assert(view_eq(bytes_view(&bytes), DOTNET(mixed, "cpu")));
    bytes_release(&bytes);
    bytes = repaired(VIEW("\x0a\x7fgarbage"), false);
    bytes_release(&bytes);
}
END_TEST

START_TEST(the_agent_is_told_by_its_name_or_its_configuration)
{
    ck_assert(pprof_is_dotnet(VIEW("dotnetspy"), (struct view){0}));
    ck_assert(pprof_is_dotnet(VIEW(""), VIEW("{\"inuse-space\":{\"units\":\"bytes\"}}")));
    ck_assert(pprof_is_dotnet(VIEW("unknown"), VIEW("{\"inuse-space\":{}}")));
    ck_assert(!pprof_is_dotnet(VIEW("gospy"), VIEW("{\"inuse-space\":{}}")));
    ck_assert(!pprof_is_dotnet(VIEW(""), VIEW("{\"inuse-space\":null}")));
    ck_assert(!pprof_is_dotnet(VIEW(""), VIEW("{\"inuse_space\":{}}")));
    ck_assert(!pprof_is_dotnet(VIEW(""), (struct view){0}));
}
END_TEST

SUITE_MAIN("pprof_agents", functions_of_scripts_are_named_with_their_files,
           names_do_not_multiply_a_hostile_profile,
           functions_without_ids_get_those_of_the_locations, what_is_not_broken_so_is_left_alone,
           the_agent_is_told_by_its_name_or_its_configuration)
