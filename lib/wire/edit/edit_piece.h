/* What a pass over a request collects before it is spliced. For lib/wire/edit alone. */
#ifndef LIB_WIRE_EDIT_EDIT_PIECE_H
#define LIB_WIRE_EDIT_EDIT_PIECE_H

#include "lib/wire/proto/proto_scan.h"

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

#endif
