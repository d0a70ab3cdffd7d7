/* Log lines on stderr, one event a line: time, level, text. Any thread. */
#ifndef LIB_BASE_LOG_H
#define LIB_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Lines below the level are not written. The level is INFO until set. */
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

/* "debug", "info", "warn" (or "warning"), "error" in any case, and "dpanic", "panic" and "fatal" of
 * the Collector, which mean "error": no line is above it. False: another word. */
bool log_level_parse(const char *word, enum log_level *level);

/* Writes one line, cut to 1 KiB. What cannot be seen in the text is escaped (lib/base/shown.h), and
 * secrets of URLs are blotted out (lib/base/redact.h). */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

#endif
