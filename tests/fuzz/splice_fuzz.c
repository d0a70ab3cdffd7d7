/* The first bytes select edits of the message that follows them: a well-formed message stays
 * well-formed, and has the predicted size. */
#include "lib/base/buffer.h"
#include "lib/wire/proto/splice.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct edits {
    struct view choices;
    size_t next;
    struct splice splice;
};

static unsigned choose(struct edits *edits)
{
    return edits->choices.data[edits->next++ % edits->choices.size];
}

static bool well_formed(struct view message)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
    }
    return !scan.bad;
}

static void edit(struct edits *edits, struct view message, unsigned depth)
{
    static const uint8_t extra[] = {0x12, 0x02, 'h', 'i'};
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        unsigned choice = choose(edits) % 6;
        if (choice == 0)
            splice_insert(&edits->splice, field.start, (struct view){extra, sizeof extra});
        if (choice == 1)
            splice_replace(&edits->splice, field.start, field.end,
                           (struct view){extra, sizeof extra});
        if (choice == 2)
            splice_delete(&edits->splice, field.start, field.end);
        if (choice == 1 || choice == 2 || field.type != WIRE_LEN || depth == SPLICE_MAX_NESTING ||
            !well_formed(field.bytes))
            continue;
        splice_enter(&edits->splice, &field);
        edit(edits, field.bytes, depth + 1);
        if (choice == 3) {
            splice_abandon(&edits->splice);
            splice_delete(&edits->splice, field.start, field.end);
        } else {
            splice_leave(&edits->splice);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 17)
        return 0;
    struct edits edits = {.choices = {data, 16}};
    struct view message = {data + 16, size - 16};
    if (!well_formed(message))
        return 0;
    struct arena arena;
    arena_init(&arena, 1 << 24);
    splice_begin(&edits.splice, message, &arena);
    edit(&edits, message, 0);
    if (!edits.splice.failed) {
        struct buffer *buffer = buffer_new(splice_size(&edits.splice), NULL, true);
        splice_write(&edits.splice, buffer->data);
        if (!well_formed(buffer_view(buffer)))
            abort();
        if (!splice_any(&edits.splice) && !view_eq(buffer_view(buffer), message))
            abort();
        buffer_unref(buffer);
    }
    arena_release(&arena);
    return 0;
}
