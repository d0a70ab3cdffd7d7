/* The files of extensions/status/page/, embedded by CMake. */
#ifndef EXTENSIONS_STATUS_PAGE_H
#define EXTENSIONS_STATUS_PAGE_H

#include <stddef.h>

struct page_file {
    const char *path; /* "/app.css"; that of index.html is "/" */
    const char *type; /* Content-Type */
    const char *etag; /* by its content, quoted */
    const unsigned char *data;
    size_t size;
};

/* Ended by one without a path. */
extern const struct page_file page_files[];

#endif
