/* A streaming JSON writer. Text is made valid UTF-8 and escaped. Times are strings, because a
 * double cannot hold unix nanoseconds exactly. Pure. */
#ifndef EXTENSIONS_STATUS_JSON_H
#define EXTENSIONS_STATUS_JSON_H

#include "lib/base/bytes.h"

struct json {
    struct bytes *out;
    bool comma;  /* the next member or element is not the first */
    bool failed; /* out is full; later writes do nothing */
};

struct json json_begin(struct bytes *out);

/* key NULL: an array element, or the document itself. */
void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                 /* '}' or ']' */
void json_text(struct json *json, const char *key, struct view text);
void json_word(struct json *json, const char *key, const char *text); /* NULL: null */
void json_number(struct json *json, const char *key, uint64_t number);
void json_double(struct json *json, const char *key, double number); /* rounded to an integer */
void json_bool(struct json *json, const char *key, bool value);
void json_literal(struct json *json, const char *key, const char *text); /* a formatted number */
void json_copy(struct json *json, struct view item);                     /* copies finished JSON */
void json_null(struct json *json, const char *key);
void json_time(struct json *json, const char *key, uint64_t ns);         /* a string of digits */
void json_time_or_null(struct json *json, const char *key, uint64_t ns); /* 0: null */
void json_hex(struct json *json, const char *key, struct view bytes);
void json_id(struct json *json, const char *key, uint64_t id); /* 16 hex digits; 0: null */

#endif
