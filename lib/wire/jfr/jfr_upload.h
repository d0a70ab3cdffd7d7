/*
 * JFR uploads to Pyroscope's /ingest: multipart/form-data with file parts "jfr" and "labels", each
 * gzip or uncompressed. The server refuses a gzip part whose inflated size exceeds its profile
 * limit (4 MiB by default), but accepts uncompressed parts of any size; so oversize parts are
 * forwarded uncompressed. Pure.
 */
#ifndef LIB_WIRE_JFR_JFR_UPLOAD_H
#define LIB_WIRE_JFR_JFR_UPLOAD_H

#include "lib/base/bytes.h"

/* Returns the size of the body with its oversize parts uncompressed, at most 64 MiB, from their
 * gzip trailers (RFC 1952, 2.3.1: ISIZE) without inflating. 0: forward the body unchanged. query is
 * /ingest's; content_type NULL: none. */
size_t jfr_upload_plain_size(const char *query, const char *content_type, struct view body);

/* Writes that body to out, which must be empty. out stays empty if no part is both oversize and
 * valid, or if the result exceeds out's maximum. False: no memory. */
bool jfr_upload_inflate(const char *query, const char *content_type, struct view body,
                        struct bytes *out);

#endif
