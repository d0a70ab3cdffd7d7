/* What a pass changes: spliced at once or, with late heads, collected first. */
#include "lib/wire/edit/edit_piece.h"

enum { FIRST_PIECES = 64 };

static struct edit_piece *add_piece(struct request_edit *edit)
{
    if (edit->count == edit->room) {
        size_t room = edit->room ? 2 * edit->room : FIRST_PIECES;
        struct edit_piece *pieces = arena_array_raw(edit->splice->arena, room, sizeof *pieces);
        edit->splice->failed = edit->splice->failed || !pieces;
        if (!pieces)
            return NULL;
        if (edit->count)
            memcpy(pieces, edit->pieces, edit->count * sizeof *pieces);
        edit->pieces = pieces;
        edit->room = room;
    }
    struct edit_piece *piece = &edit->pieces[edit->count++];
    piece->kind = PIECE_TEXT;
    return piece;
}

bool piece_open(struct request_edit *edit, const struct proto_field *message)
{
    if (!edit->late_heads) {
        splice_enter(edit->splice, message);
        return true;
    }
    struct edit_piece *piece = add_piece(edit);
    if (piece) {
        piece->kind = PIECE_OPEN;
        piece->message = *message;
    }
    return piece;
}

void piece_close(struct request_edit *edit)
{
    if (!edit->late_heads) {
        splice_leave(edit->splice);
        return;
    }
    struct edit_piece *piece = add_piece(edit);
    if (piece)
        piece->kind = PIECE_CLOSE;
}

void piece_text(struct request_edit *edit, const uint8_t *from, const uint8_t *to, struct view text)
{
    if (!edit->late_heads) {
        splice_replace(edit->splice, from, to, text);
        return;
    }
    struct edit_piece *piece = add_piece(edit);
    if (piece) {
        piece->from = from;
        piece->to = to;
        piece->text = text;
    }
}

void piece_slot(struct request_edit *edit, const struct record *record, struct view entry)
{
    bool there = record->field.start;
    const uint8_t *at = there ? record->field.start : entry.data;
    if (edit->late_heads)
        piece_text(edit, at, at, (struct view){0});
}

void piece_fill_slot(struct request_edit *edit, size_t slot, struct record *record,
                     struct view entry)
{
    const struct proto_field *field = &record->field;
    if (!record_changed(record) || (edit->late_heads && slot >= edit->count))
        return;
    struct view text = record_field(record, ENTRY_HEAD);
    edit->splice->failed = edit->splice->failed || !text.data;
    if (!edit->late_heads) {
        splice_replace(edit->splice, field->start ? field->start : entry.data,
                       field->start ? field->end : entry.data, text);
        return;
    }
    edit->pieces[slot].text = text;
    if (field->start)
        edit->pieces[slot].to = field->end;
}

void piece_schema(struct request_edit *edit, enum edit_level level, const struct proto_field *entry)
{
    struct proto_field old;
    struct view url = request_edit_schema(edit, level);
    bool there = proto_find(entry->bytes, ENTRY_SCHEMA_URL, WIRE_LEN, &old);
    if (view_eq(url, there ? old.bytes : VIEW("")))
        return;
    size_t size = proto_len_size(ENTRY_SCHEMA_URL, url.size);
    uint8_t *text = arena_array_raw(edit->splice->arena, size, 1);
    edit->splice->failed = edit->splice->failed || !text;
    if (!text)
        return;
    proto_bytes_put(proto_len_put(text, ENTRY_SCHEMA_URL, url.size), url);
    piece_text(edit, there && old.end == entry->end ? old.start : entry->end, entry->end,
               (struct view){text, size});
}

void piece_write_all(struct request_edit *edit)
{
    struct splice *splice = edit->splice;
    for (size_t i = 0; i < edit->count; i++) {
        const struct edit_piece *piece = &edit->pieces[i];
        if (piece->kind == PIECE_OPEN)
            splice_enter(splice, &piece->message);
        else if (piece->kind == PIECE_CLOSE)
            splice_leave(splice);
        else
            splice_replace(splice, piece->from, piece->to, piece->text);
    }
}
