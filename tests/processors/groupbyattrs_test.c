#include "lib/base/refusal.h"
#include "lib/wire/proto/proto_write.h"
#include "tests/support/processor_rig.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

#define KV(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define LOG(text, attributes)                                                                      \
    "{\"body\":{\"stringValue\":\"" text "\"},\"attributes\":[" attributes "]}"
#define ENTRY(resource, logs)                                                                      \
    "{\"resource\":{\"attributes\":[" resource "]},\"scopeLogs\":[{\"logRecords\":[" logs "]}]}"
#define REQUEST(entries) "{\"resourceLogs\":[" entries "]}"

static void has(const char *made, const char *want)
{
    if (!strstr(made, want))
        ck_abort_msg("no %s in %s", want, made);
}

START_TEST(records_move_to_the_resource_that_their_attributes_make)
{
    const char *made =
        rig_run("groupbyattrs", "{keys: [host]}", SIGNAL_LOGS,
                REQUEST(ENTRY(KV("a", "1"), LOG("x", KV("host", "h1")) "," LOG("y", "") "," LOG(
                                                "z", KV("k", "v") "," KV("host", "h1")))));
    has(made, "\"attributes\":[" KV("a", "1") "," KV("host", "h1") "]");
    has(made, "{\"body\":{\"stringValue\":\"x\"}},{\"body\":{\"stringValue\":\"z\"},"
              "\"attributes\":[" KV("k", "v") "]}]");
    has(made,
        "{\"resource\":{\"attributes\":[" KV(
            "a", "1") "]},\"scopeLogs\":[{\"logRecords\":[{\"body\":{\"stringValue\":\"y\"}}");
}
END_TEST

START_TEST(without_keys_equal_resources_are_merged)
{
    const char *made = rig_run("groupbyattrs", "{keys: []}", SIGNAL_LOGS,
                               REQUEST(ENTRY(KV("a", "1") "," KV("b", "2"), LOG("x", "")) "," ENTRY(
                                   KV("b", "2") "," KV("a", "1"), LOG("y", ""))));
    has(made,
        "\"logRecords\":[{\"body\":{\"stringValue\":\"x\"}},{\"body\":{\"stringValue\":\"y\"}}]");
}
END_TEST

START_TEST(the_number_of_keys_is_limited)
{
    char yaml[512] = "{keys: [a";
    for (int i = 0; i < 64; i++)
        strcat(yaml, ", b");
    strcat(yaml, "]}");
    has(rig_faults("groupbyattrs", yaml), "found 65, expected at most 64");
}
END_TEST

/* Each record gets a copy of a large resource. A client must not send it again. */
START_TEST(a_request_that_grows_too_much_is_refused_for_good)
{
    enum { LARGE = 20000, RECORDS = 200 };
    char *json = malloc(LARGE + 200 * RECORDS), text[REFUSAL_MAX];
    enum cause cause;
    int size = sprintf(json,
                       "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"a\","
                       "\"value\":{\"stringValue\":\"%0*d\"}}]},\"scopeLogs\":[{"
                       "\"logRecords\":[",
                       LARGE, 0);
    for (int i = 0; i < RECORDS; i++)
        size += sprintf(json + size,
                        "%s{\"attributes\":[{\"key\":\"k\",\"value\":{\"intValue\":\"%d\"}}]}",
                        i ? "," : "", i);
    sprintf(json + size, "]}]}]}");
    ck_assert_str_eq(rig_run("groupbyattrs", "{keys: [k]}", SIGNAL_LOGS, json), "");
    ck_assert_int_eq(rig_verdict(), VERDICT_REJECT);
    ck_assert(refusal_take(text, &cause) && cause == CAUSE_INVALID);
    has(text, "the request becomes more than 64 times as large");
    free(json);
}
END_TEST

/* ---- large requests ---- */

enum { MANY = 200000, AMPLE = 1 << 30 };

/* A KeyValue with a number or, of depth 1, a map that has one. */
static void put_attribute(struct proto_write *write, uint32_t list, const char *key, uint64_t value,
                          int depth)
{
    size_t item = proto_write_open(write, list);
    proto_write_bytes(write, 1, view_of(key));
    size_t any = proto_write_open(write, 2);
    if (depth) {
        size_t map = proto_write_open(write, 6);
        put_attribute(write, 1, "inner", value, depth - 1);
        proto_write_close(write, map);
    } else {
        proto_write_varint(write, 3, value);
    }
    proto_write_close(write, any);
    proto_write_close(write, item);
}

static void put_log(struct proto_write *write, uint64_t value, int depth)
{
    size_t record = proto_write_open(write, 2);
    put_attribute(write, 6, "k", value, depth);
    proto_write_close(write, record);
}

static void put_point(struct proto_write *write, uint64_t value)
{
    size_t point = proto_write_open(write, 1);
    put_attribute(write, 7, "k", value, 0);
    proto_write_close(write, point);
}

/* Records in a request, whose attribute has so many values. */
struct many {
    enum signal signal;
    uint64_t values;
    int depth;               /* of a value */
    unsigned of_resource;    /* attributes */
    size_t name;             /* bytes of the scope's */
    bool resources, metrics; /* for each record */
};

static void put_scope(struct proto_write *write, const struct many *many)
{
    char *name = calloc(1, many->name + 1);
    memset(name, 'n', many->name);
    size_t head = proto_write_open(write, 1);
    proto_write_bytes(write, 1, view_of(name));
    proto_write_close(write, head);
    free(name);
}

static void put_metric(struct proto_write *write, uint64_t name, uint64_t from, uint64_t to,
                       uint64_t values)
{
    char text[20];
    size_t metric = proto_write_open(write, 2);
    snprintf(text, sizeof text, "m%u", (unsigned)name);
    proto_write_bytes(write, 1, view_of(text));
    size_t gauge = proto_write_open(write, 5);
    for (uint64_t i = from; i < to; i++)
        put_point(write, i % values);
    proto_write_close(write, gauge);
    proto_write_close(write, metric);
}

static void put_entry(struct proto_write *write, const struct many *many, uint64_t from,
                      uint64_t to)
{
    char key[20];
    size_t entry = proto_write_open(write, 1), resource = proto_write_open(write, 1);
    for (unsigned k = 0; k < many->of_resource; k++) {
        snprintf(key, sizeof key, "r%u", k);
        put_attribute(write, 1, key, many->resources ? from : 0, 0);
    }
    proto_write_close(write, resource);
    size_t scope = proto_write_open(write, 2);
    put_scope(write, many);
    if (many->signal == SIGNAL_METRICS && !many->metrics)
        put_metric(write, 0, from, to, many->values);
    else
        for (uint64_t i = from; i < to; i++)
            if (many->metrics)
                put_metric(write, i, i, i + 1, many->values);
            else
                put_log(write, i % many->values, many->depth);
    proto_write_close(write, scope);
    proto_write_close(write, entry);
}

/* MANY of them; the Resources that come out. */
static size_t resources_of(const struct many *many, size_t budget, uint32_t want_items)
{
    struct bytes out;
    size_t resources;
    bytes_init(&out, (size_t)64 << 20, NULL);
    struct proto_write write = proto_write_begin(&out);
    if (!many->resources)
        put_entry(&write, many, 0, MANY);
    for (uint64_t i = 0; many->resources && i < MANY; i++)
        put_entry(&write, many, i, i + 1);
    ck_assert_ptr_null(proto_write_fault(&write));
    uint32_t items = rig_run_bytes("groupbyattrs", "{keys: [k]}", many->signal, bytes_view(&out),
                                   budget, &resources);
    ck_assert_uint_eq(items, want_items);
    bytes_release(&out);
    return resources;
}

START_TEST(a_request_may_have_many_groups)
{
    const struct many numbers = {SIGNAL_LOGS, .values = MANY},
                      maps = {SIGNAL_LOGS, .values = MANY, .depth = 1},
                      points = {SIGNAL_METRICS, .values = MANY},
                      entries = {SIGNAL_LOGS, .values = 1, .of_resource = 1, .resources = true};
    ck_assert_uint_eq(resources_of(&numbers, AMPLE, MANY), MANY);
    ck_assert_uint_eq(resources_of(&maps, AMPLE, MANY), MANY);
    ck_assert_uint_eq(resources_of(&points, AMPLE, MANY), MANY);
    ck_assert_uint_eq(resources_of(&entries, AMPLE, MANY), MANY);
}
END_TEST

START_TEST(a_group_may_be_large)
{
    const struct many records = {SIGNAL_LOGS, .values = 1, .of_resource = 100000, .name = 1 << 20},
                      points = {SIGNAL_METRICS, .values = 1, .of_resource = 1},
                      metrics = {SIGNAL_METRICS, .values = 1, .metrics = true};
    ck_assert_uint_eq(resources_of(&records, AMPLE, MANY), 1);
    ck_assert_uint_eq(resources_of(&points, AMPLE, MANY), 1);
    ck_assert_uint_eq(resources_of(&metrics, AMPLE, MANY), 1);
}
END_TEST

START_TEST(what_never_fits_into_the_memory_is_refused_for_good)
{
    const struct many numbers = {SIGNAL_LOGS, .values = MANY};
    char text[REFUSAL_MAX];
    enum cause cause;
    ck_assert_uint_eq(resources_of(&numbers, 16 << 20, 0), 0);
    ck_assert_int_eq(rig_verdict(), VERDICT_REJECT);
    ck_assert(refusal_take(text, &cause) && cause == CAUSE_TOO_LARGE);
    has(text, "it needs more than the 16 MiB of memory that a request may take");
}
END_TEST

/* {"a" without a value}, twice. */
START_TEST(an_attribute_of_a_resource_may_lack_its_value)
{
    static const uint8_t entry[] = {0x0a, 0x0d, 0x0a, 0x05, 0x0a, 0x03, 0x0a, 0x01,
                                    'a',  0x12, 0x04, 0x12, 0x02, 0x2a, 0x00};
    uint8_t request[2 * sizeof entry];
    size_t resources;
    memcpy(request, entry, sizeof entry);
    memcpy(request + sizeof entry, entry, sizeof entry);
    uint32_t items = rig_run_bytes("groupbyattrs", "{keys: []}", SIGNAL_LOGS,
                                   (struct view){request, sizeof request}, AMPLE, &resources);
    ck_assert_uint_eq(items, 2);
    ck_assert_uint_eq(resources, 1);
}
END_TEST

SUITE_MAIN("groupbyattrs", a_request_that_grows_too_much_is_refused_for_good,
           records_move_to_the_resource_that_their_attributes_make,
           without_keys_equal_resources_are_merged, the_number_of_keys_is_limited,
           a_request_may_have_many_groups, a_group_may_be_large,
           what_never_fits_into_the_memory_is_refused_for_good,
           an_attribute_of_a_resource_may_lack_its_value)
