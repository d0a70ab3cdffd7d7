#include "lib/base/log.h"

#include "lib/base/redact.h"
#include "lib/base/shown.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

static _Atomic int current_level = LOG_INFO;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void log_set_level(enum log_level level)
{
    atomic_store(&current_level, (int)level);
}

bool log_enabled(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&current_level, memory_order_relaxed);
}

bool log_level_parse(const char *word, enum log_level *level)
{
    static const char *const above[] = {"dpanic", "panic", "fatal"};
    if (strcasecmp(word, "warning") == 0)
        word = "warn";
    for (size_t i = 0; i < sizeof above / sizeof *above; i++)
        if (strcasecmp(word, above[i]) == 0)
            word = "error";
    for (int i = LOG_DEBUG; i <= LOG_ERROR; i++)
        if (strcasecmp(word, level_names[i]) == 0) {
            *level = (enum log_level)i;
            return true;
        }
    return false;
}

static size_t stamp(char *out, size_t size, enum log_level level)
{
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &utc);
    n += (size_t)snprintf(out + n, size - n, ".%03ldZ %-5s ", now.tv_nsec / 1000000,
                          level_names[level]);
    return n;
}

void log_line(enum log_level level, const char *format, ...)
{
    if (!log_enabled(level))
        return;
    char text[1024], redacted[1024], line[1088];
    va_list args;
    va_start(args, format);
    int need = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct view shown = {(const uint8_t *)redacted, 0};
    shown.size = need < 0 ? 0 : redact_copy(text, redacted, sizeof redacted);
    size_t size = stamp(line, sizeof line, level);
    size += shown_copy(shown, line + size, sizeof line - size - 1);
    line[size++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, size);
    (void)written;
}
