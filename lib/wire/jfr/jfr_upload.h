/*
 * JFR uploads to Pyroscope's /ingest: multipart/form-data with file parts "jfr" and "labels", each
 * gzip or plain. The server refuses a gzip part that is larger than a profile may be (4 MiB by
 * default) when inflated, and takes a plain one of any size, so such parts are sent on plain. Pure.
 */
#ifndef LIB_WIRE_JFR_JFR_UPLOAD_H
#define LIB_WIRE_JFR_JFR_UPLOAD_H

#include "lib/base/bytes.h"

/* The size of the body with its oversize parts plain, at most 64 MiB, as their trailers have it
 * (RFC 1952, 2.3.1: ISIZE): nothing is inflated for it. 0: it goes as it came. The query is
 * /ingest's; content_type NULL: none. */
size_t jfr_upload_plain_size(const char *query, const char *content_type, struct view body);

/* Fills out, which is empty, with that body. It stays empty where no part is oversize and good, or
 * the whole does not fit out's ceiling. False: no memory. */
bool jfr_upload_inflate(const char *query, const char *content_type, struct view body,
                        struct bytes *out);

#endif
