/*
 * The metadata string that is committed with an offset. Spans wait for their profiles, so records
 * far beyond the committed offset may have been delivered. The string lists them, so that the next
 * owner of the partition does not deliver them again. It also contains the log's time at the
 * offset. Its limit of COMMIT_METADATA_SIZE - 1 bytes is the brokers' default
 * (offset.metadata.max.bytes); records that do not fit are delivered again.
 *
 *     spanlink 1 1732289000000 BASE64       bit n of the bytes, lowest first: offset + n settled
 */
#ifndef RECEIVERS_KAFKA_COMMIT_METADATA_H
#define RECEIVERS_KAFKA_COMMIT_METADATA_H

#include "receivers/kafka/offsets.h"

enum { COMMIT_METADATA_SIZE = 4096 };

/* A decoded string. */
struct commit_metadata {
    int64_t base;    /* the offset that it was committed with */
    int64_t time_ms; /* the log's time there; -1: not known */
    uint8_t *bits;   /* owned */
    size_t size;     /* in bytes */
};

/* Writes the text for offsets_to_commit, NUL-terminated. time_ms: the log's time if nothing is
 * open. */
void commit_metadata_write(const struct offsets *offsets, int64_t time_ms,
                           char out[COMMIT_METADATA_SIZE]);

/* Decodes a string of `size` bytes that was committed with an offset. A string of another program
 * or version gives an empty list. False: no memory. */
bool commit_metadata_read(struct commit_metadata *metadata, int64_t offset, const char *text,
                          size_t size);
void commit_metadata_release(struct commit_metadata *metadata);

/* Whether the record at this offset had settled. */
bool commit_metadata_has(const struct commit_metadata *metadata, int64_t offset);

#endif
