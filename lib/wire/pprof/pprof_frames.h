/*
 * Which samples of a pprof are visible in a flame graph: Pyroscope draws a sample only if at least
 * one of its locations exists and has a line, unlike native code without symbols. Pure.
 */
#ifndef LIB_WIRE_PPROF_PPROF_FRAMES_H
#define LIB_WIRE_PPROF_PPROF_FRAMES_H

#include "lib/wire/pprof/pprof.h"

struct pprof_frames {
    uint64_t *drawn; /* ids of locations that have a line, ascending */
    size_t count;
};

/* Indexes an open profile. False: the arena has no room. */
bool pprof_frames_open(struct pprof_frames *frames, const struct pprof *pprof, struct arena *arena);

/* Whether any frame of a sample is drawn. */
bool pprof_frames_any(const struct pprof_frames *frames, const struct pprof_sample *sample);

#endif
