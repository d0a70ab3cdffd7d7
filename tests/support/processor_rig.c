#include "tests/support/processor_rig.h"
#include "pipeline/batch_pass.h"

#include "lib/settings/fill.h"
#include "lib/wire/json/otlp_json.h"
#include "lib/wire/otlp/otlp.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/fake_clock.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static enum verdict last;

/* What is handed out, so that it stays within reach. */
static char *kept[256];
static size_t kept_count;

static const char *keep(char *text)
{
    ck_assert_uint_lt(kept_count, sizeof kept / sizeof *kept);
    return kept[kept_count++] = text;
}

enum verdict rig_verdict(void)
{
    return last;
}

static struct batch *batch_of(enum signal signal, struct view request, struct budget *budget)
{
    struct proto_fault fault;
    uint32_t items;
    ck_assert(otlp_check(signal, request, &items, &fault));
    struct buffer *payload = buffer_new(request.size, budget, true);
    ck_assert_ptr_nonnull(payload);
    if (request.size)
        memcpy(payload->data, request.data, request.size);
    return batch_new(signal, BATCH_OTLP, payload, items, NULL);
}

struct batch *rig_batch(enum signal signal, const char *json)
{
    struct bytes out;
    char reason[200] = "";
    bytes_init(&out, (size_t)64 << 20, NULL);
    bool read = otlp_json_read(signal, view_of(json), &out, reason, sizeof reason);
    ck_assert_msg(read, "%s", reason);
    struct batch *batch = batch_of(signal, bytes_view(&out), NULL);
    bytes_release(&out);
    return batch;
}

/* Fills an instance; what is wrong goes to problems. */
static void *filled(const struct component *component, const char *yaml, struct problems *problems)
{
    char *text = NULL;
    ck_assert_int_gt(asprintf(&text, "yaml:%s", yaml), 0);
    struct settings_source source = {SETTINGS_FILE, text};
    struct settings *settings = settings_load(&source, 1, problems);
    void *self = calloc(1, component->size);
    if (settings) {
        const struct node *root = settings_root(settings);
        if (keys_fill(component->keys, root, root, "", self, problems))
            keys_check(component->check, self, root, root, "", problems);
    }
    settings_free(settings);
    free(text);
    return self;
}

static const char *text_of(const struct batch *batch)
{
    struct bytes out;
    struct proto_fault fault;
    uint32_t items;
    struct buffer *flat = buffer_flat(batch->payload);
    bytes_init(&out, (size_t)64 << 20, NULL);
    ck_assert_ptr_nonnull(flat);
    ck_assert(otlp_check(batch->signal, buffer_view(flat), &items, &fault));
    ck_assert_uint_eq(items, batch->items);
    ck_assert(otlp_json_write(batch->signal, buffer_view(flat), &out));
    buffer_unref(flat);
    size_t size = out.size && out.data[out.size - 1] == '\n' ? out.size - 1 : out.size;
    char *text = strndup((const char *)out.data, size);
    bytes_release(&out);
    return keep(text);
}

/* What comes out goes to the sink. */
static void run(const char *type, const char *yaml, struct batch *batch, struct budget *budget,
                struct collecting_sink *sink)
{
    const struct component *component = component_find(COMPONENT_PROCESSOR, type);
    struct problems problems = {0};
    struct fake_clock fake;
    struct meter meter;
    char error[256] = "";
    void *self = filled(component, yaml, &problems);
    ck_assert_msg(problems.count == 0, "%s", problems.count ? problems.lines[0] : "");
    fake_clock_init(&fake);
    meter_init(&meter, type);
    collecting_sink_init(sink);
    struct env env = {.id = type, .clock = &fake.clock, .budget = budget, .meter = &meter};
    ck_assert_msg(component->open(self, &env, error, sizeof error), "%s", error);
    last = component_consume(component, self, batch, &sink->outlet);
    if (component->close)
        component->close(self);
    meter_release(&meter);
    keys_release(component->keys, self);
    free(self);
}

const char *rig_run(const char *type, const char *yaml, enum signal signal, const char *json)
{
    struct budget budget;
    struct collecting_sink sink;
    struct batch *batch = rig_batch(signal, json);
    budget_init(&budget, 1 << 30);
    run(type, yaml, batch, &budget, &sink);
    const char *text = sink.count ? text_of(sink.batches[0]) : "";
    batch_unref(batch);
    collecting_sink_clear(&sink);
    return text;
}

uint32_t rig_run_bytes(const char *type, const char *yaml, enum signal signal, struct view request,
                       size_t budget_bytes, size_t *resources)
{
    struct budget budget;
    struct collecting_sink sink;
    struct proto_field field;
    uint32_t items = 0;
    budget_init(&budget, budget_bytes);
    struct batch *batch = batch_of(signal, request, &budget);
    run(type, yaml, batch, &budget, &sink);
    *resources = 0;
    if (sink.count) {
        struct proto_scan scan = proto_scan_begin(buffer_view(sink.batches[0]->payload));
        while (proto_scan_next(&scan, &field))
            ++*resources;
        items = sink.batches[0]->items;
    }
    batch_unref(batch);
    collecting_sink_clear(&sink);
    return items;
}

const char *rig_faults(const char *type, const char *yaml)
{
    const struct component *component = component_find(COMPONENT_PROCESSOR, type);
    struct problems problems = {0};
    void *self = filled(component, yaml, &problems);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    problems_print(&problems, out);
    fclose(out);
    problems_release(&problems);
    keys_release(component->keys, self);
    free(self);
    return keep(text);
}
