/* Names of spans by the semantic conventions. */
#include "lib/ottl/function.h"

#include <stdio.h>

enum { SPAN_NAME = 5, SPAN_KIND = 6 };

/* The parts of a name; data NULL: absent. */
struct naming {
    struct ottl_run *run;
    struct record *span;
};

static struct view named(const struct naming *naming, const char *key, const char *older)
{
    struct value value;
    if (!record_attribute(naming->span, view_of(key), &value) &&
        (!older || !record_attribute(naming->span, view_of(older), &value)))
        return (struct view){0};
    struct view text = value_text(&value, ottl_arena(naming->run));
    if (!text.data)
        ottl_fail(naming->run, "out of memory");
    return text;
}

static bool is_true(const struct naming *naming, const char *key)
{
    struct value value;
    return record_attribute(naming->span, view_of(key), &value) && value.kind == VALUE_BOOL &&
           value.boolean;
}

static struct view joined(const struct naming *naming, struct view a, const char *between,
                          struct view b)
{
    size_t middle = strlen(between);
    uint8_t *out = arena_array_raw(ottl_arena(naming->run), a.size + middle + b.size + 1, 1);
    if (!out) {
        ottl_fail(naming->run, "out of memory");
        return (struct view){0};
    }
    uint8_t *end = proto_bytes_put(proto_bytes_put(out, a), view_of(between));
    return view_between(out, proto_bytes_put(end, b));
}

/* Semantic conventions, HTTP spans: {method} {target}. */
static struct view http_name(const struct naming *naming, const char *target)
{
    struct view method = named(naming, "http.request.method", "http.method");
    struct view of = method.data ? named(naming, target, NULL) : (struct view){0};
    return of.data ? joined(naming, method, " ", of) : method;
}

/* Semantic conventions, RPC spans: {service}/{method}. */
static struct view rpc_name(const struct naming *naming)
{
    struct view system = named(naming, "rpc.system.name", "rpc.system");
    if (!system.data)
        return system;
    struct view method = named(naming, "rpc.method", "rpc.grpc.method");
    struct view service = named(naming, "rpc.service", "rpc.grpc.service");
    if (!service.data)
        return method.data ? method : system;
    return joined(naming, service, "/", method.data ? method : VIEW("*"));
}

static struct view server(const struct naming *naming)
{
    struct view address = named(naming, "server.address", NULL);
    struct view port = address.data ? named(naming, "server.port", NULL) : (struct view){0};
    return port.data ? joined(naming, address, ":", port) : address;
}

static struct view database_target(const struct naming *naming)
{
    struct view within = named(naming, "db.namespace", "db.name");
    struct view target = named(naming, "db.collection.name", NULL);
    if (!target.data)
        target = named(naming, "db.stored_procedure.name", NULL);
    if (target.data)
        return within.size ? joined(naming, within, ".", target) : target;
    return within.size ? within : server(naming);
}

/* Semantic conventions, database client spans: a summary, or {operation} {target}. */
static struct view database_name(const struct naming *naming)
{
    struct view system = named(naming, "db.system.name", "db.system");
    struct view summary = system.data ? named(naming, "db.query.summary", NULL) : system;
    if (!system.data || summary.data)
        return summary;
    struct view operation = named(naming, "db.operation.name", "db.operation");
    struct view target = database_target(naming);
    if (operation.size && target.size)
        return joined(naming, operation, " ", target);
    return operation.size ? operation : target.size ? target : system;
}

static struct view destination(const struct naming *naming)
{
    if (is_true(naming, "messaging.destination.temporary"))
        return VIEW("(temporary)");
    if (is_true(naming, "messaging.destination.anonymous"))
        return VIEW("(anonymous)");
    struct view name = named(naming, "messaging.destination.template", NULL);
    if (!name.data)
        name = named(naming, "messaging.destination.name", "messaging.destination");
    return name.data ? name : server(naming);
}

/* Semantic conventions, messaging spans: {operation} {destination}. */
static struct view messaging_name(const struct naming *naming)
{
    struct view system = named(naming, "messaging.system", NULL);
    if (!system.data)
        return system;
    struct view operation = named(naming, "messaging.operation.name", "messaging.operation");
    struct view to = destination(naming);
    if (operation.data && to.size)
        return joined(naming, operation, " ", to);
    return to.size ? to : operation.data ? operation : system;
}

/* The first of the conventions that apply to a kind of span; size 0: none does. */
static struct view semantic_name(const struct naming *naming, uint64_t kind)
{
    enum { SERVER = 2, CLIENT, PRODUCER, CONSUMER };
    bool ends = kind == SERVER || kind == CLIENT;
    struct view name = {0};
    if (ends)
        name = http_name(naming, kind == SERVER ? "http.route" : "url.template");
    if (!name.size && ends)
        name = rpc_name(naming);
    if (!name.size && kind == CLIENT)
        name = database_name(naming);
    if (!name.size && kind >= SERVER && kind <= CONSUMER)
        name = messaging_name(naming);
    return name;
}

static struct ottl_value set_span_name(struct ottl_run *run, const struct ottl_node *call)
{
    const struct naming naming = {run, &run->at->records[EDIT_ITEM]};
    struct proto_field field;
    uint64_t kind = record_get(naming.span, SPAN_KIND, &field) ? field.value : 0;
    struct view old = record_get(naming.span, SPAN_NAME, &field) ? field.bytes : VIEW("");
    struct view name = semantic_name(&naming, kind);
    if (run->failed || !name.size || view_eq(name, old))
        return ottl_nil();
    record_set_bytes(naming.span, SPAN_NAME, name);
    if (ottl_has(call, 1)) {
        struct value value = value_string(old);
        attributes_set(record_attributes(naming.span), call->items[1]->value.bytes, &value);
    }
    return ottl_nil();
}

static const char *check_span_name(const struct ottl_node *call)
{
    int minor = 0, end = 0;
    char version[16] = "";
    if (ottl_is_text(call->items[0]) && call->items[0]->value.bytes.size < sizeof version)
        memcpy(version, call->items[0]->value.bytes.data, call->items[0]->value.bytes.size);
    bool read = sscanf(version, "1.%2d.0%n", &minor, &end) == 1 && end && !version[end];
    if (!read || minor < 37 || minor > 43)
        return "expected a version of the semantic conventions from \"1.37.0\" to \"1.43.0\"";
    if (ottl_has(call, 1) && (!ottl_is_text(call->items[1]) || !call->items[1]->value.bytes.size))
        return "expected the name of the attribute that gets the original name";
    return NULL;
}

const struct ottl_function ottl_span_editors[] = {
    {"set_semconv_span_name", "semconv_version,original_span_name_attribute?", set_span_name,
     FN_NO_PATTERN, false, 1u << OTTL_SPAN, check_span_name},
    {0},
};
