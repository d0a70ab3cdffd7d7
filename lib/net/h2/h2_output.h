/*
 * The next output of an HTTP/2 session, as runs for one write: frame headers and short bytes are
 * copied, longer ones are borrowed from the body that they belong to.
 */
#ifndef LIB_NET_H2_H2_OUTPUT_H
#define LIB_NET_H2_H2_OUTPUT_H

#include "lib/base/pieces.h"

enum {
    H2_OUTPUT = 128 * 1024, /* bytes at most */
    H2_FRAME = 16384 + 64,  /* the largest frame that a session produces */
    H2_OUTPUT_RUNS = 128,
    H2_OUTPUT_SHORT = 1024 /* bytes; a shorter run is copied */
};

struct h2_output {
    uint8_t *copied; /* H2_OUTPUT bytes; NULL: not begun */
    size_t copied_size;
    struct view runs[H2_OUTPUT_RUNS]; /* those from first on are unsent */
    size_t first, count;
    size_t size;     /* of all runs, sent or not */
    bool copies_all; /* it is one run, for TLS */
};

/* False: no memory. h2_output_end must follow in both cases; it may be called repeatedly. */
bool h2_output_begin(struct h2_output *output, bool copies_all);
void h2_output_end(struct h2_output *output);

/* Whether two more of the largest frames fit. */
bool h2_output_has_room(const struct h2_output *output);

/* Appends bytes that there is room for. borrow: they must exist until they are sent or kept. */
void h2_output_copy(struct h2_output *output, struct view bytes);
void h2_output_borrow(struct h2_output *output, struct view bytes);

/* What is unsent. */
static inline struct pieces h2_output_unsent(const struct h2_output *output)
{
    return (struct pieces){output->runs + output->first, output->count - output->first};
}

/* Removes the first n unsent bytes. */
void h2_output_sent(struct h2_output *output, size_t n);

/* Copies what is borrowed and unsent. False: no memory. */
bool h2_output_keep(struct h2_output *output);

#endif
