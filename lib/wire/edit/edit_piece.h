/*
 * What a pass over a request changes, which is spliced at once, or collected before where the heads
 * of entries may change until they are left (late_heads). For lib/wire/edit alone.
 */
#ifndef LIB_WIRE_EDIT_EDIT_PIECE_H
#define LIB_WIRE_EDIT_EDIT_PIECE_H

#include "lib/wire/edit/request_edit.h"

enum { ENTRY_HEAD = 1 }; /* number of an entry's Resource, and of a scope entry's scope */

/* What becomes of a stretch of one resource's entry. */
enum piece_kind { PIECE_TEXT, PIECE_OPEN, PIECE_CLOSE };

struct edit_piece {
    enum piece_kind kind;
    union {
        struct {
            const uint8_t *from, *to;
            struct view text;
        };
        struct proto_field message; /* OPEN: the pieces up to CLOSE are in it */
    };
};

struct edit_addition {
    struct view field;
    unsigned generation;
};

/* Enters a message of the request, and leaves it. False: no room. */
bool piece_open(struct request_edit *edit, const struct proto_field *message);
void piece_close(struct request_edit *edit);

/* Replaces a stretch of the request. */
void piece_text(struct request_edit *edit, const uint8_t *from, const uint8_t *to,
                struct view text);

/* The place of an entry's Resource or Scope, whether it is there or not: the next piece. */
void piece_slot(struct request_edit *edit, const struct record *record, struct view entry);

/* Puts what was set into its place, once nothing more can be. */
void piece_fill_slot(struct request_edit *edit, size_t slot, struct record *record,
                     struct view entry);

/* Puts the schema URL as it is now behind all else of an entry, where it replaces others. */
void piece_schema(struct request_edit *edit, enum edit_level level,
                  const struct proto_field *entry);

/* Splices what was collected. */
void piece_write_all(struct request_edit *edit);

#endif
