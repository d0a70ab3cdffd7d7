/*
 * The format in which one spanlink passes profiles to another through a log such as Kafka. A
 * record's value is the pprof or the body of /ingest as received, or an OTLP request; its headers
 * hold the rest of the batch:
 *
 *     spanlink.encoding    "otlp", "pprof" or "opaque"
 *     x-scope-orgid        the tenant
 *     content-type         opaque: as received
 *     query                opaque: as received
 *     label.NAME           pprof: a label of its series, in their order
 *     ingest               pprof: "1" if received on /ingest
 *     from, until          pprof: /ingest's window, nanoseconds since 1970
 *     sample-type-config   pprof: JSON text
 *     spy-name             pprof
 *     spanlink.part        "2/5 ID": the second of five records into which one value was cut; all
 *                          five have the same ID, the same key and the other headers
 *
 * A reader ignores headers that it does not know. Any thread.
 */
#ifndef PIPELINE_NATIVE_RECORD_H
#define PIPELINE_NATIVE_RECORD_H

#include "lib/base/verdict.h"
#include "pipeline/batch.h"

#define NATIVE_ENCODING "spanlink.encoding"
#define NATIVE_PART     "spanlink.part"
#define NATIVE_TENANT   "x-scope-orgid"

enum { NATIVE_NAME_SIZE = 256, NATIVE_PARTS_MAX = 4096 };

struct native_header {
    const char *name;
    struct view value;
};

/* Calls add for each header except spanlink.part; name and value are valid during the call. False:
 * add returned false. */
typedef bool native_add_fn(void *ctx, const char *name, struct view value);
bool native_record_headers(const struct batch *batch, native_add_fn *add, void *ctx);

/* Returns the value of a batch's record: its payload, compressed if it was received compressed. The
 * payload must be contiguous. */
struct view native_record_value(const struct batch *batch);

/* Makes a batch from a whole value and its headers. The bytes, at most max after decompression, are
 * copied and charged to the budget. NULL: *why is RETRY (no memory), REJECT with a sentence, or OK
 * if the record has no profile. */
struct batch *native_record_read(struct view value, const struct native_header *headers,
                                 size_t count, size_t max, struct budget *budget,
                                 struct outcome *why);

/* The header spanlink.part. Parsing returns false if it is malformed. */
struct native_part {
    uint32_t number; /* from 1 */
    uint32_t count;  /* 2 .. NATIVE_PARTS_MAX */
    uint64_t id;
};
bool native_part_parse(struct view text, struct native_part *part);
void native_part_write(const struct native_part *part, char *out, size_t size);

#endif
