/*
 * A pull parser for JSON (RFC 8259) that reads in place and builds no tree. Skipped values are
 * validated too. Pure; allocates nothing.
 */
#ifndef LIB_WIRE_JSON_JSON_SCAN_H
#define LIB_WIRE_JSON_JSON_SCAN_H

#include "lib/base/view.h"

enum json_kind {
    JSON_KIND_NONE, /* no value: the scan has a fault */
    JSON_KIND_OBJECT,
    JSON_KIND_ARRAY,
    JSON_KIND_STRING,
    JSON_KIND_NUMBER,
    JSON_KIND_TRUE,
    JSON_KIND_FALSE,
    JSON_KIND_NULL
};

struct json_scan {
    const uint8_t *start, *at, *end;
    const char *fault; /* static text, `at` is the position; NULL: none so far */
    bool raw_controls; /* control characters other than NUL may stand in strings as they are */
};

/* The raw text of a string, without quotes, or a number. */
struct json_text {
    struct view raw;
    bool escaped; /* the string has escapes */
};

struct json_scan json_scan_begin(struct view text);

/* Skips whitespace and returns the kind of the next value, at which the scan then is. */
enum json_kind json_scan_kind(struct json_scan *scan);

/* Reads the string or number that json_scan_kind found. False: a fault. */
bool json_scan_string(struct json_scan *scan, struct json_text *text);
bool json_scan_number(struct json_scan *scan, struct json_text *text);

/* Skips exactly these bytes. False: other bytes follow; the scan is unchanged. */
static inline bool json_scan_bytes(struct json_scan *scan, struct view bytes)
{
    if ((size_t)(scan->end - scan->at) < bytes.size ||
        memcmp(scan->at, bytes.data, bytes.size) != 0)
        return false;
    scan->at += bytes.size;
    return true;
}

/* Reads the rest of a string after its opening quote if it is ASCII without escapes. False: it is
 * not; the scan is unchanged. */
bool json_scan_plain(struct json_scan *scan, struct view *text);

/* json_scan_enter steps into the object or array that json_scan_kind found; then each call of the
 * others moves to the next member's value or the next element. Set *first before the first call,
 * which clears it. False: the end, which is consumed, or a fault. */
void json_scan_enter(struct json_scan *scan);
bool json_scan_member(struct json_scan *scan, bool *first, struct json_text *key);
bool json_scan_element(struct json_scan *scan, bool *first);

/* Skips the value that json_scan_kind found, of any kind. False: a fault. */
bool json_scan_skip(struct json_scan *scan);

/* True: only whitespace is left. */
bool json_scan_end(struct json_scan *scan);

/* The scan's position; line and column count from 1, columns in bytes. */
void json_scan_position(const struct json_scan *scan, size_t *line, size_t *column);

/* Writes a string's characters as UTF-8, at most raw.size bytes, and returns the number of bytes.
 * An unpaired surrogate, which JavaScript writes for truncated text, becomes U+FFFD. */
size_t json_scan_unescape(struct json_text text, uint8_t *out);

#endif
