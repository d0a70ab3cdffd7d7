/* What is known of the client that sent a request. */
#include "lib/ottl/path.h"

#include <ctype.h>

enum { VALUES_MAX = 1 << 20 }; /* bytes of all values of one header */

struct header {
    struct view name, value;
};

/* The next header behind *at. False: no more. */
static bool next_header(struct view headers, size_t *at, struct header *header)
{
    if (*at >= headers.size)
        return false;
    header->name = view_of((const char *)headers.data + *at); /* NULs follow the last one */
    *at += header->name.size + 1;
    header->value = view_of((const char *)headers.data + *at);
    *at += header->value.size + 1;
    return true;
}

/* What is known of a header where there are none. */
static const char *kept_header(const struct request_context *client, struct view name)
{
    if (view_eq_nocase(name, VIEW("x-scope-orgid")))
        return client->tenant;
    return view_eq_nocase(name, VIEW("authorization")) ? client->authorization : NULL;
}

/* All values of a header, as a list. NIL: there is none, or the run has failed. */
static struct ottl_value values_of(struct ottl_run *run, struct view name)
{
    const struct request_context *client = run->at->client;
    struct header header;
    struct bytes out;
    bool ok = true;
    bytes_init(&out, VALUES_MAX, NULL);
    for (size_t at = 0; ok && next_header(client->headers, &at, &header);) {
        struct value value = value_string(header.value);
        ok = !view_eq_nocase(header.name, name) || value_append(&out, &value);
    }
    const char *kept = kept_header(client, name);
    if (ok && kept && !bytes_view(&out).size) {
        struct value value = value_string(view_of(kept));
        ok = value_append(&out, &value);
    }
    struct ottl_value list = ottl_nil();
    if (ok && bytes_view(&out).size)
        list = ottl_bytes(TYPE_LIST, ottl_keep(run, bytes_view(&out)));
    bytes_release(&out);
    return ok ? list : ottl_fail(run, "out of memory");
}

static struct view lower_name(struct ottl_run *run, struct view header)
{
    struct view name = ottl_keep(run, header);
    for (uint8_t *c = (uint8_t *)name.data; c < name.data + name.size; c++)
        *c = (uint8_t)tolower(*c);
    return name;
}

/* All headers; names in lower case, as in the Collector. */
static struct ottl_value all_headers(struct ottl_run *run)
{
    struct attributes list;
    struct header header;
    struct value value;
    size_t at = 0;
    attributes_read(&list, VIEW(""), 1, ottl_arena(run));
    while (run->at->client && next_header(run->at->client->headers, &at, &header)) {
        struct view name = lower_name(run, header.name);
        struct ottl_value values = values_of(run, header.name);
        if (run->failed || !ottl_to_value(&values, &value))
            return ottl_nil();
        attributes_set(&list, name, &value);
    }
    value = attributes_map(&list);
    return value.bytes.data && !list.failed ? ottl_bytes(TYPE_MAP, value.bytes)
                                            : ottl_fail(run, "out of memory");
}

struct ottl_value ottl_client_get(const struct ottl_node *path, struct ottl_run *run)
{
    const struct request_context *client = run->at->client;
    if (path->field->access == ACCESS_CLIENT_ADDRESS)
        return client && client->address && *client->address ? ottl_string(view_of(client->address))
                                                             : ottl_nil();
    if (!path->key_count)
        return all_headers(run);
    struct ottl_value key = ottl_node_eval(path->keys[0], run);
    if (key.type != TYPE_STRING)
        return ottl_fail(run, "a key of %.*s must be a string", VIEW_ARG(path->name));
    struct ottl_value values = client ? values_of(run, key.bytes) : ottl_nil();
    if (values.type == TYPE_NIL)
        return values;
    return ottl_index(values, path->keys + 1, path->key_count - 1, false, run);
}
