/* The files of extensions/status/page/, embedded by CMake. */
#ifndef EXTENSIONS_STATUS_PAGE_H
#define EXTENSIONS_STATUS_PAGE_H

#include <stddef.h>

struct page_file {
    const char *path; /* "/app.css"; that of index.html is "/" */
    const char *type; /* Content-Type */
    const char *etag; /* a quoted hash of the content */
    const unsigned char *data;
    size_t size;
};

/* A row without a path ends it. */
extern const struct page_file page_files[];

#endif
