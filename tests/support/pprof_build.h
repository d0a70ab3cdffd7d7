/*
 * Builds pprof profiles for tests as an SDK does: strings, functions and locations are interned,
 * with one function and one location for each name. Without memory it calls abort(). One thread.
 */
#ifndef TESTS_SUPPORT_PPROF_BUILD_H
#define TESTS_SUPPORT_PPROF_BUILD_H

#include "lib/base/bytes.h"

struct pprof_build;

struct pprof_build *pprof_build_new(void);
void pprof_build_free(struct pprof_build *build);

/* Whether repeated numbers are packed; initially yes. Affects samples begun later. */
void pprof_build_packed(struct pprof_build *build, bool packed);

/* Whether locations have lines; without, they have an address, as those of native code without
 * symbols, which is 0x1000 for the first function, 0x2000 for the second. Initially yes. Affects
 * functions first used later. */
void pprof_build_lines(struct pprof_build *build, bool lines);

/* Gives every function this line; by default each has its own, by its id. */
void pprof_build_line(struct pprof_build *build, uint64_t line);

/* Adds a sample type; before the first sample. */
void pprof_build_type(struct pprof_build *build, const char *type, const char *unit);
void pprof_build_period(struct pprof_build *build, const char *type, const char *unit,
                        int64_t period);
/* time_nanos and duration_nanos; 0 leaves the field out. */
void pprof_build_time(struct pprof_build *build, int64_t time_nanos, int64_t duration_nanos);

/* Begins a sample: a value for each type, and the functions of its stack, leaf first,
 * NULL-terminated. */
void pprof_build_sample(struct pprof_build *build, const int64_t *values,
                        const char *const *frames);
/* Adds a label to the sample begun last. */
void pprof_build_label(struct pprof_build *build, const char *key, const char *value);
void pprof_build_num_label(struct pprof_build *build, const char *key, int64_t number,
                           const char *unit);

/* Returns the index of a string, adding it if it is new. */
int64_t pprof_build_string(struct pprof_build *build, const char *text);
/* Adds raw top-level fields before the string table. */
void pprof_build_raw_fields(struct pprof_build *build, struct view fields);

/* Returns the whole profile; the caller releases the bytes. Building may continue. */
struct bytes pprof_build_raw(const struct pprof_build *build);
struct bytes pprof_build_gzip(const struct pprof_build *build);

/* Makes an ordinary CPU profile in one call, for tests that only need span ids: samples/count and
 * cpu/nanoseconds, one sample of 1 and 10 ms with the stack work, main for each id (NULL: a sample
 * without a label), gzip. */
struct bytes pprof_build_cpu(int64_t time_nanos, int64_t duration_nanos,
                             const char *const *span_ids, size_t count);

#endif
