/* Requests whose Resource or Scope does not stand in front of what it is for. */
#include "lib/wire/edit/request_edit.h"

#include "lib/wire/proto/proto_plain.h"
#include "lib/wire/proto/proto_write.h"

enum { ENTRY_HEAD = 1, ENTRY_LIST = 2 };

static bool head_in_front(struct view entry)
{
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field field;
    for (bool first = true; plain_scan_next(&scan, &field); first = false)
        if (field.number == ENTRY_HEAD && !first)
            return false;
    return true;
}

bool request_in_order(struct view request)
{
    struct proto_scan scan = proto_scan_begin(request);
    struct proto_field entry, scope;
    while (proto_scan_next(&scan, &entry)) {
        if (entry.number != 1)
            continue;
        if (!head_in_front(entry.bytes))
            return false;
        struct proto_scan scopes = proto_scan_begin(entry.bytes);
        while (proto_scan_next(&scopes, &scope))
            if (scope.number == ENTRY_LIST && !head_in_front(scope.bytes))
                return false;
    }
    return true;
}

/* The content with all heads merged into one in front; its children likewise, down to depth. */
static void put_ordered(struct proto_write *write, struct view message, unsigned depth)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    bool any = false;
    while (proto_scan_next(&scan, &field))
        any = any || field.number == ENTRY_HEAD;
    if (any) {
        size_t head = proto_write_open(write, ENTRY_HEAD);
        scan = proto_scan_begin(message);
        while (proto_scan_next(&scan, &field))
            if (field.number == ENTRY_HEAD)
                proto_write_raw(write, field.bytes);
        proto_write_close(write, head);
    }
    scan = proto_scan_begin(message);
    while (proto_scan_next(&scan, &field)) {
        if (field.number == ENTRY_HEAD)
            continue;
        size_t child = 0;
        bool deeper = depth > 0 && field.number == ENTRY_LIST;
        if (deeper)
            child = proto_write_open(write, ENTRY_LIST);
        if (deeper)
            put_ordered(write, field.bytes, depth - 1);
        else
            proto_write_raw(write, view_between(field.start, field.end));
        if (deeper)
            proto_write_close(write, child);
    }
}

struct view request_put_in_order(struct view request, struct arena *arena)
{
    struct bytes out;
    bytes_init(&out, 2 * request.size + 64, NULL);
    struct proto_write write = proto_write_begin(&out);
    struct proto_scan scan = proto_scan_begin(request);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != 1) {
            proto_write_raw(&write, view_between(field.start, field.end));
            continue;
        }
        size_t entry = proto_write_open(&write, 1);
        put_ordered(&write, field.bytes, 1);
        proto_write_close(&write, entry);
    }
    uint8_t *kept = proto_write_fault(&write) ? NULL : arena_array_raw(arena, out.size + 1, 1);
    if (kept && out.size)
        memcpy(kept, out.data, out.size);
    struct view ordered = {kept, kept ? out.size : 0};
    bytes_release(&out);
    return ordered;
}
