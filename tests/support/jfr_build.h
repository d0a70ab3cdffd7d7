/*
 * Builds JFR chunks for tests, as async-profiler writes them: header, metadata, events, checkpoint.
 * Without memory it calls abort(). One thread.
 */
#ifndef TESTS_SUPPORT_JFR_BUILD_H
#define TESTS_SUPPORT_JFR_BUILD_H

#include "lib/base/bytes.h"

/* Ids that every chunk declares. */
enum jfr_build_type {
    JFR_BUILD_LONG = 11,
    JFR_BUILD_STRING = 20,
    JFR_BUILD_STATE = 25,
    JFR_BUILD_STACK = 26,
    JFR_BUILD_FIRST = 100 /* free from here on */
};

/* Keys of the thread states in its constant pool. */
enum jfr_build_state { JFR_BUILD_DEFAULT, JFR_BUILD_RUNNABLE, JFR_BUILD_SLEEPING };

enum jfr_build_flag { JFR_BUILD_CONSTANT = 1, JFR_BUILD_ARRAY = 2 };

struct jfr_build;

/* A chunk with these times and one tick a nanosecond, declaring only basic classes. */
struct jfr_build *jfr_build_new(int64_t start_nanos, int64_t duration_nanos);
void jfr_build_free(struct jfr_build *build);

/* Adds a class, or a field of the class declared last. Flags: enum jfr_build_flag. */
void jfr_build_class(struct jfr_build *build, const char *name, uint64_t id);
void jfr_build_field(struct jfr_build *build, const char *name, uint64_t type, unsigned flags);

/* The classes of samples as the agent 2.9.2 declares them, and jdk.ActiveSetting, from id 101. */
void jfr_build_agent_classes(struct jfr_build *build);

/* How strings are encoded from now on: 3 UTF-8 (initially), 4 characters, 5 Latin-1. */
void jfr_build_encoding(struct jfr_build *build, uint8_t encoding);

/* Begins an event of a class by its id; the values follow in the order of its fields. */
void jfr_build_event(struct jfr_build *build, uint64_t type);
void jfr_build_number(struct jfr_build *build, uint64_t number);
void jfr_build_text(struct jfr_build *build, const char *text);
void jfr_build_bytes(struct jfr_build *build, struct view bytes);

/* The content of a sample; fields that its class does not have are left out. */
struct jfr_build_sample {
    int64_t after_nanos; /* since the chunk's start */
    uint64_t stack;
    uint64_t state;
    uint64_t span_id;
    uint64_t span_name;
    uint64_t context;
    uint64_t trace_hi;
    uint64_t trace_lo;
    uint64_t samples;
    uint64_t size, tlab_size, duration; /* of allocations and locks */
};

/* A whole event of a class declared before. Other numbers of the class are 0. */
void jfr_build_sample(struct jfr_build *build, const char *name,
                      const struct jfr_build_sample *sample);

/* jdk.ActiveSetting. */
void jfr_build_setting(struct jfr_build *build, const char *name, const char *value);

/* Uses these bytes, which must outlive the build, instead of the metadata's strings and tree. */
void jfr_build_metadata(struct jfr_build *build, struct view content);

/* Adds pools before that of thread states: for a class, with this many constants, in these
 * bytes. */
void jfr_build_pool(struct jfr_build *build, uint64_t type, uint64_t count, struct view constants);

/* Returns the whole chunk; the caller releases the bytes. Building may continue. */
struct bytes jfr_build_chunk(const struct jfr_build *build);

/* Makes an upload in one call, for tests that only need span ids: a chunk of execution samples of
 * running threads, each with a stack, one for each id (0: no span). */
struct bytes jfr_build_cpu(int64_t start_nanos, int64_t duration_nanos, const uint64_t *span_ids,
                           size_t count);

/* Writes a compressed integer; out must have room for nine bytes. Returns the end. */
uint8_t *jfr_build_varint(uint8_t *out, uint64_t number);

#endif
