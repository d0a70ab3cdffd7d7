/* An attempt to send a batch: its records, and what the brokers' answers mean for the rest. */
#ifndef EXPORTERS_KAFKA_ATTEMPT_H
#define EXPORTERS_KAFKA_ATTEMPT_H

#include "exporters/kafka/kafka.h"

enum { WINDOW = 64, LEAST_RECORD = 1000 };

/* One attempt with a batch. */
struct attempt {
    struct kafka_exporter *self;
    struct batch *batch;
    struct progress *progress;
    struct records records;
    struct arena arena;   /* of the records' texts */
    size_t limit;         /* of a record */
    size_t together;      /* of records in one request, when the records were made */
    struct outcome again; /* why some records must be sent again; OK: none must */
    bool timed_out;       /* that some were not acknowledged in time is one reason */
    bool remake;          /* a broker refuses records as they are: they must be made again */
};

/* Makes the batch's records, as the settings want them now; self, batch and progress are set. Other
 * than OK: nothing may be sent. The caller releases the attempt in both cases. */
struct outcome attempt_make(struct attempt *attempt);
void attempt_release(struct attempt *attempt);

/* Sets the next records to send together, at most WINDOW; returns how many there are. */
size_t attempt_window(const struct attempt *attempt, struct record **window);

/* Notes the results of these records. */
void attempt_note_window(struct attempt *attempt);

/* Whether records are left that can be sent now, as they are. */
bool attempt_has_more(const struct attempt *attempt);

struct outcome attempt_outcome(const struct attempt *attempt);

#endif
