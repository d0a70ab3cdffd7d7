/*
 * The text that is committed beside an offset. Spans wait for their profiles, so records far beyond
 * the committed offset may have been delivered: the text says which, so that the next owner of the
 * partition does not deliver them again, and what time the log had there. At most MARKS_TEXT - 1
 * bytes, the brokers' default limit (offset.metadata.max.bytes); what does not fit is delivered
 * again.
 *
 *     spanlink 1 1732289000000 BASE64       bit n of the bytes, lowest first: offset + n settled
 */
#ifndef RECEIVERS_KAFKA_MARKS_H
#define RECEIVERS_KAFKA_MARKS_H

#include "receivers/kafka/ledger.h"

enum { MARKS_TEXT = 4096 };

/* What such a text says. */
struct marks {
    int64_t base;    /* the offset that it was committed with */
    int64_t time_ms; /* the log's time there; -1: not known */
    uint8_t *bits;   /* owned */
    size_t size;     /* in bytes */
};

/* Writes the text for ledger_commit, NUL-terminated. time_ms: the log's time if nothing is
 * open. */
void marks_write(const struct ledger *ledger, int64_t time_ms, char out[MARKS_TEXT]);

/* Reads a text of `size` bytes that was committed with an offset. What is not such a text, or has
 * another version, says nothing. False: no memory. */
bool marks_read(struct marks *marks, int64_t offset, const char *text, size_t size);
void marks_release(struct marks *marks);

/* Whether the record had settled. */
bool marks_has(const struct marks *marks, int64_t offset);

#endif
