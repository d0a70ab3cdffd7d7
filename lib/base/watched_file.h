/*
 * A small file that may be replaced at any time (a secret, a list of users). It is checked only
 * when somebody asks for it; no thread or timer watches it. Calls must be serialised by the caller.
 */
#ifndef LIB_BASE_WATCHED_FILE_H
#define LIB_BASE_WATCHED_FILE_H

#include "lib/base/bytes.h"

#include <sys/stat.h>

struct watched_file {
    const char *path; /* borrowed; symbolic links are followed at every check */
    uint64_t next;    /* mono; no check before this time */
    struct stat seen; /* at the last read */
    bool settled;     /* read long enough after the last change that any later one changes `seen` */
    bool failing;     /* it cannot be read, and FAILED was returned */
};

enum watched_result {
    WATCHED_SAME,  /* unchanged, or checked less than a second ago */
    WATCHED_READ,  /* content holds the whole file, possibly unchanged */
    WATCHED_FAILED /* it cannot be read; error is a sentence. Returned once, then SAME until it can
                      be read */
};

/* Checks the file and reads it if it may have changed: at most content->max bytes (a larger file:
 * FAILED). content is empty unless READ. */
enum watched_result watched_file_look(struct watched_file *file, uint64_t mono_ns,
                                      struct bytes *content, char *error, size_t error_size);

#endif
