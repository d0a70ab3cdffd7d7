/*
 * Which samples of a pprof a Pyroscope server shows. It drops a sample that refers to a location
 * which does not exist, has neither line nor address, or refers to a mapping or function that does
 * not exist; and of the others it shows those of which a frame has a name. A frame without symbols,
 * whose location has an address but no line, has one where the server symbolizes
 * (-symbolizer.enabled), unless the mapping says that its functions are known. Pure.
 */
#ifndef LIB_WIRE_PPROF_PPROF_FRAMES_H
#define LIB_WIRE_PPROF_PPROF_FRAMES_H

#include "lib/wire/pprof/pprof.h"

struct pprof_frame;

struct pprof_frames {
    struct pprof_frame *locations; /* by id */
    size_t count;
    bool dense; /* the ids are 1, 2, 3 ... */
};

/* Indexes an open profile. symbolizes: whether frames without symbols have a name. False: the arena
 * has no room. */
bool pprof_frames_open(struct pprof_frames *frames, const struct pprof *pprof, bool symbolizes,
                       struct arena *arena);

enum pprof_shown {
    PPROF_DROPPED,
    PPROF_UNSYMBOLIZED, /* no frame has a name */
    PPROF_SHOWN
};

/* Whether the server shows a sample. */
enum pprof_shown pprof_frames_shown(const struct pprof_frames *frames,
                                    const struct pprof_sample *sample);

#endif
