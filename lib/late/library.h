/*
 * A library that few need, loaded when its first user comes: libsnappy and liblz4. Linked as usual
 * libsnappy brings the C++ runtime along, which takes more memory than all the rest of an idle
 * process.
 */
#ifndef LIB_LATE_LIBRARY_H
#define LIB_LATE_LIBRARY_H

#include <stdbool.h>

/* Where the address of a function goes: into a pointer to functions of its type. */
struct late_function {
    const char *name; /* NULL ends the list */
    void *pointer;
};

struct late_library {
    const char *file; /* as the loader wants it, e.g. "liblz4.so.1" */
    const struct late_function *functions;
    _Atomic int state; /* 0 at the start */
};

/* Loads it, if it is not yet. False: it cannot be had, which the first call logs; that stays so.
 * Any thread. */
bool late_library_open(struct late_library *library);

#endif
