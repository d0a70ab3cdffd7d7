/* The file exporter's instance and its writer. */
#ifndef EXPORTERS_FILE_H
#define EXPORTERS_FILE_H

#include "pipeline/component.h"

#include <pthread.h>

struct rotation_settings {
    int64_t max_megabytes;
    int64_t max_backups;
};

/* A file of lines that is renamed when it is full. The exporter serialises calls. */
struct line_file {
    const char *path; /* borrowed */
    bool framed;      /* no line ends between what is written */
    bool rotates;
    struct rotation_settings rotation;
    const struct clock *clock;
    int fd; /* -1: not open */
    uint64_t size;
    bool torn; /* the last line has no end, as after a power cut */
    bool left; /* the path named the open file no more; cleared by whoever has told it */
};

/* Opens the file for appending, creating missing folders. False: errno is the reason. */
bool line_file_open(struct line_file *file);

/* Whether a path names nothing that line_file_open fails for, as for a folder; creates nothing.
 * False: errno is the reason. */
bool line_file_possible(const char *path);

/* The words for an errno of these functions. */
const char *line_file_why(int code);

/* Appends one line, completely or not at all; opens the file again, as line_file_open does, if the
 * path no longer names the open one. False: errno is the reason. */
bool line_file_write(struct line_file *file, struct view line);
void line_file_close(struct line_file *file);

/* Creates the folders of a path, all but its last part. False: errno is the reason. */
bool make_folders(const char *path);

#endif
