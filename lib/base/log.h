/* Log lines, one event a line: time, level, text; on stderr unless told otherwise. Any thread. */
#ifndef LIB_BASE_LOG_H
#define LIB_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Lines below the level are not written. The level is INFO until set. */
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

/* "debug", "info", "warn" (or "warning"), "error" in any case, and "dpanic", "panic" and "fatal" of
 * the Collector, which mean "error": no line is above it. False: another word. */
bool log_level_parse(const char *word, enum log_level *level);

/* How a line is written: as text, or as a JSON object with level, ts and msg. tail stands behind
 * the text, or behind the object's last member; copied, cut to 1 KiB; "" for none. */
void log_set_form(bool json, const char *tail);

/* Of equal lines within tick_ns the first `initial` are written, then each `thereafter`-th (0:
 * none). tick_ns 0: all are. Off until set. */
void log_set_sampling(uint64_t tick_ns, uint64_t initial, uint64_t thereafter);

/* Where lines go, LOG_OUTPUTS descriptors at most; taken over, and closed at the next call but for
 * standard output and error. */
enum { LOG_OUTPUTS = 8 };
void log_set_outputs(const int *descriptors, size_t count);

/* Writes one line, cut to 1 KiB. What cannot be seen in the text is escaped (lib/base/shown.h), and
 * secrets of URLs are blotted out (lib/base/redact.h). */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for what somebody asked to be told: sampling leaves none of it out. */
void log_answer(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

#endif
