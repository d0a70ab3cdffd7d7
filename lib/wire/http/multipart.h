/*
 * Reads multipart/form-data bodies (RFC 7578, RFC 2046) in place. Lines end in CRLF; a body whose
 * first delimiter line ends in a bare LF is read with bare LFs throughout, as Go and other servers
 * do. Pure. Implemented here because libmicrohttpd's post processor takes the boundary from a
 * connection and copies the parts as they arrive, while these bodies are inflated first and read in
 * place.
 */
#ifndef LIB_WIRE_HTTP_MULTIPART_H
#define LIB_WIRE_HTTP_MULTIPART_H

#include "lib/base/view.h"

struct multipart {
    struct view boundary; /* without the leading dashes; points into content_type */
    struct view rest;     /* after the last delimiter read */
    bool bare_lf;
    bool ended; /* the closing delimiter was read */
    bool bad;
};

struct multipart_part {
    struct view name;     /* data NULL: none */
    struct view filename; /* data NULL: a plain field */
    struct view content;
};

/* Starts reading; content_type is the header's value, both views are borrowed. False: not
 * multipart/form-data, or no boundary of 1 to 70 characters. */
bool multipart_begin(struct multipart *multipart, struct view content_type, struct view body);

/* Reads the next part. False: the closing delimiter was reached, or the body is malformed (then
 * bad). Text before the first and after the closing delimiter is skipped. */
bool multipart_next(struct multipart *multipart, struct multipart_part *part);

#endif
