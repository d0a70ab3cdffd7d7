/* The walk over a request's entries (lib/wire/otlp/otlp.h). */
#include "lib/wire/otlp/otlp.h"
#include "lib/wire/proto/proto_plain.h"

enum { REQUEST_RESOURCES = 1, RESOURCE_SCOPES = 2, SCOPE_ITEMS = 2 };

void otlp_walk_begin(struct otlp_walk *walk, enum signal signal, struct view request)
{
    *walk = (struct otlp_walk){
        .signal = signal,
        .request = proto_scan_begin(request),
        .at = OTLP_RESOURCE_END,
    };
}

/* Finds the next field with a number, at any level of the skeleton. */
static bool next_entry(struct proto_scan *scan, uint32_t number, struct proto_field *entry)
{
    /* Most entries are adjacent and have a two-byte length. */
    const uint8_t *behind, *at = scan->at;
    const uint8_t *content = at < scan->end && *at == PLAIN_TAG(number, WIRE_LEN)
                                 ? plain_content(at + 1, scan->end, &behind)
                                 : NULL;
    if (content) {
        struct view bytes = view_between(content, behind);
        *entry = (struct proto_field){number, WIRE_LEN, bytes.size, bytes, at, behind};
        scan->at = behind;
        return true;
    }
    while (proto_scan_next(scan, entry))
        if (entry->number == number && entry->type == WIRE_LEN)
            return true;
    return false;
}

static enum otlp_step next_step(struct otlp_walk *walk)
{
    switch (walk->at) {
    case OTLP_RESOURCE:
    case OTLP_SCOPE_END:
        if (!next_entry(&walk->resource, RESOURCE_SCOPES, &walk->scope_entry))
            return OTLP_RESOURCE_END;
        walk->scope = proto_scan_begin(walk->scope_entry.bytes);
        return OTLP_SCOPE;
    case OTLP_SCOPE:
    case OTLP_ITEM:
        return next_entry(&walk->scope, SCOPE_ITEMS, &walk->item) ? OTLP_ITEM : OTLP_SCOPE_END;
    case OTLP_RESOURCE_END:
        if (!next_entry(&walk->request, REQUEST_RESOURCES, &walk->resource_entry))
            return OTLP_END;
        walk->resource = proto_scan_begin(walk->resource_entry.bytes);
        return OTLP_RESOURCE;
    case OTLP_END:
        break;
    }
    return OTLP_END;
}

enum otlp_step otlp_walk_next(struct otlp_walk *walk)
{
    return walk->at = next_step(walk);
}
