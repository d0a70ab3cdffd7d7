/*
 * A small file that may be replaced at any time (a secret, a list of users), re-read when somebody
 * asks: nothing wakes up for it. The caller serialises.
 */
#ifndef LIB_BASE_WATCHED_FILE_H
#define LIB_BASE_WATCHED_FILE_H

#include "lib/base/bytes.h"

#include <sys/stat.h>

struct watched_file {
    const char *path; /* borrowed; symbolic links are followed at every look */
    uint64_t next;    /* no look before that, mono */
    struct stat seen; /* as it was when last read */
    bool settled;     /* it was read again after that, so that a later change shows in `seen` */
    bool failing;     /* it could not be read, and that was told */
};

enum watched_result {
    WATCHED_SAME,  /* as last read, or looked at less than a second ago */
    WATCHED_READ,  /* content has all of it; perhaps the same as before */
    WATCHED_FAILED /* it cannot be read; told once until it can, then SAME. error is a sentence */
};

/* Reads at most content->max bytes (more: FAILED). content is empty unless READ. */
enum watched_result watched_file_look(struct watched_file *file, uint64_t mono_ns,
                                      struct bytes *content, char *error, size_t error_size);

#endif
