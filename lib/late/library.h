/*
 * Rarely needed libraries that are loaded at first use: libsnappy and liblz4. Linked normally,
 * libsnappy pulls in the C++ runtime, which takes more memory than all the rest of an idle process.
 */
#ifndef LIB_LATE_LIBRARY_H
#define LIB_LATE_LIBRARY_H

#include <stdbool.h>

/* A function to look up, and the function pointer that receives its address. */
struct late_function {
    const char *name; /* NULL ends the list */
    void *pointer;
};

struct late_library {
    const char *file; /* as passed to dlopen, e.g. "liblz4.so.1" */
    const struct late_function *functions;
    _Atomic int state; /* 0 initially */
};

/* Loads the library if it is not loaded yet. False: it cannot be loaded; the first failure is
 * logged, and later calls fail without another try. Any thread. */
bool late_library_open(struct late_library *library);

#endif
