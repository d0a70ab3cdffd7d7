/*
 * JSON text (RFC 8259) walked in place, value by value, without a tree: intake reads millions of
 * values of which it keeps none. Pure; allocates nothing. What is passed over is checked too.
 */
#ifndef LIB_WIRE_JSON_JSON_SCAN_H
#define LIB_WIRE_JSON_JSON_SCAN_H

#include "lib/base/view.h"

enum json_kind {
    JSON_KIND_NONE, /* no value stands there: the scan has a fault */
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
    const char *fault; /* static text, with `at` where it is; NULL: none so far */
};

/* A string or number as it stands, a string without its quotes. */
struct json_text {
    struct view raw;
    bool escaped; /* a string with escapes */
};

struct json_scan json_scan_begin(struct view text);

/* What value comes next, blanks passed over; the scan then stands at it. */
enum json_kind json_scan_kind(struct json_scan *scan);

/* Reads the string or number that json_scan_kind found. False: a fault. */
bool json_scan_string(struct json_scan *scan, struct json_text *text);
bool json_scan_number(struct json_scan *scan, struct json_text *text);

/* Passes over exactly these bytes. False: others stand there, and the scan stays. */
static inline bool json_scan_bytes(struct json_scan *scan, struct view bytes)
{
    if ((size_t)(scan->end - scan->at) < bytes.size ||
        memcmp(scan->at, bytes.data, bytes.size) != 0)
        return false;
    scan->at += bytes.size;
    return true;
}

/* Reads a string from behind its opening quote, where it is ASCII without escapes. False: it is
 * another, and the scan stays. */
bool json_scan_plain(struct json_scan *scan, struct view *text);

/* Steps into the object or array that json_scan_kind found; then each call steps to the next
 * member's value or the next element, the first with `first` set, which it clears. False: the end,
 * which is passed over, or a fault. */
void json_scan_enter(struct json_scan *scan);
bool json_scan_member(struct json_scan *scan, bool *first, struct json_text *key);
bool json_scan_element(struct json_scan *scan, bool *first);

/* Passes over the value that json_scan_kind found, whatever it is. False: a fault. */
bool json_scan_skip(struct json_scan *scan);

/* True: only blanks are left. */
bool json_scan_end(struct json_scan *scan);

/* Where the scan stands, both from 1, columns in bytes. */
void json_scan_position(const struct json_scan *scan, size_t *line, size_t *column);

/* Writes a string's characters as UTF-8 (at most raw.size bytes; half a surrogate pair, which
 * JavaScript writes where it cut text, becomes U+FFFD) and returns how many. */
size_t json_scan_unescape(struct json_text text, uint8_t *out);

#endif
