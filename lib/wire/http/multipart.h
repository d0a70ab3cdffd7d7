/*
 * multipart/form-data bodies (RFC 7578, RFC 2046), whole in memory, read in place. Lines end in
 * CRLF; a body whose first delimiter line ends in a bare LF is read with bare LFs throughout, as
 * Go's and other servers do. Pure.
 * By hand: libmicrohttpd's post processor takes its boundary from a connection and copies the parts
 * out as they come, while bodies here are inflated first and read in place.
 */
#ifndef LIB_WIRE_HTTP_MULTIPART_H
#define LIB_WIRE_HTTP_MULTIPART_H

#include "lib/base/view.h"

struct multipart {
    struct view boundary; /* without the leading dashes; in content_type */
    struct view rest;     /* what stands behind the delimiter read last */
    bool bare_lf;
    bool ended; /* the closing delimiter came */
    bool bad;
};

struct multipart_part {
    struct view name;     /* data NULL: none */
    struct view filename; /* data NULL: a plain field */
    struct view content;
};

/* content_type: the header's value; both views are borrowed. False: not multipart/form-data, or no
 * boundary of 1 to 70 characters. */
bool multipart_begin(struct multipart *multipart, struct view content_type, struct view body);

/* The next part; false: the closing delimiter came, or the body is malformed (then bad). Text
 * before the first delimiter and behind the closing one is passed over. */
bool multipart_next(struct multipart *multipart, struct multipart_part *part);

#endif
