/*
 * The log: one line per event, with time, level and text, on stderr by default. Any thread.
 *
 * No line waits for long: where the reader of a pipe, socket or terminal stops reading, lines are
 * dropped and counted until it reads again (lib/base/output.h); a line then says how many.
 */
#ifndef LIB_BASE_LOG_H
#define LIB_BASE_LOG_H

#include "lib/base/bytes.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Lines below the level are not written. The level is INFO until set. */
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

/* Parses "debug", "info", "warn" (or "warning") and "error" in any case; also the Collector's
 * "dpanic", "panic" and "fatal", which mean "error" here. False: any other word. */
bool log_level_parse(const char *word, enum log_level *level);

/* Chooses text lines, or JSON objects with level, ts and msg. tail is appended to the text, or
 * after the object's last member; copied, truncated to less than LOG_TAIL bytes; "": none. */
enum { LOG_TAIL = 2048 };
void log_set_form(bool json, const char *tail);

/* Of the lines within tick_ns that differ at most in numbers, such as "in 1.5 s", the first
 * `initial` are written, then every `thereafter`-th (0: none). tick_ns 0: no sampling, the initial
 * state. */
void log_set_sampling(uint64_t tick_ns, uint64_t initial, uint64_t thereafter);

/* Sets where lines go: at most LOG_OUTPUTS descriptors. Takes ownership; the next call closes them,
 * except standard output and error. One that is the stream of systemd's journal (JOURNAL_STREAM)
 * also gets each line's priority. */
enum { LOG_OUTPUTS = 8 };
void log_set_outputs(const int *descriptors, size_t count);

/* Sets where a line goes when the log cannot be written, e.g. because the disk is full: once, until
 * a line is written again. Ownership as above; standard error until set. */
void log_set_error_outputs(const int *descriptors, size_t count);

/* Lines dropped so far because a reader did not read or is gone, or they could not be written. */
uint64_t log_dropped(void);

/* Appends which reader has stopped reading or is gone, or which output cannot be written, since
 * when, and how many lines it missed. False: none. */
bool log_trouble(struct bytes *out);

/* Writes one line, truncated to 1 KiB. Invisible characters are escaped (lib/base/shown.h) and
 * secrets in URLs are redacted (lib/base/redact.h). */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As log_line, but at any log level and never sampled: for output that a user requested. */
void log_answer(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The component that a line is about; a JSON line has it as the Collector's fields
 * otelcol.component.id, otelcol.component.kind and otelcol.signal. */
struct log_source {
    const char *id, *kind;
    const char *signal; /* NULL: none or several */
};

/* As log_line; the text begins with the source's id and a colon. */
void log_of(const struct log_source *source, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Where the log has JSON lines, appends such a line of level info with a text of any length to out,
 * for those who write to an output of their own. text: UTF-8 whose only control characters are line
 * feeds. False: the log has text lines. */
bool log_format_json(struct view text, const struct log_source *source, struct bytes *out);

#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

#endif
