#include "lib/base/log.h"

#include "lib/base/clock.h"
#include "lib/base/output.h"
#include "lib/base/redact.h"
#include "lib/base/shown.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static _Atomic int current_level = LOG_INFO;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

/* What the journal reads before a line (sd-daemon(3)). */
enum { PRIORITY_SIZE = 3 };
static const char *const priorities[] = {"<7>", "<6>", "<4>", "<3>"};

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

/* ---- format, sampling and outputs ---- */

enum { TEXT_SIZE = 1024, LINE_SIZE = 3 * TEXT_SIZE + LOG_TAIL, EQUALS = 128 };

static pthread_rwlock_t form_lock = PTHREAD_RWLOCK_INITIALIZER;
static bool as_json; /* guarded by the lock, like the next */
static char tail[LOG_TAIL];

static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER; /* under form_lock */
static struct log_output {
    struct output output;
    bool journal;            /* read by systemd's journal */
    uint64_t dropped, since; /* lines that its reader did not take and was not told of; wall time */
    int error;               /* errno of the last line, if that is why it was dropped; else 0 */
} no_output = {.output = OUTPUT_OF(-1)};
static struct outputs {
    struct log_output at[LOG_OUTPUTS];
    size_t count;
} lines_to = {.at = {{.output = OUTPUT_OF(STDERR_FILENO)}}, .count = 1},
  faults_to = {.at = {{.output = OUTPUT_OF(STDERR_FILENO)}}, .count = 1};
static bool failing; /* the last line was not written to every output */
static _Atomic uint64_t dropped_lines;

static pthread_mutex_t sampling_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sampling_tick, sampling_initial, sampling_thereafter; /* guarded by the lock */
static struct equal {
    uint64_t hash, count, until;
} equals[EQUALS];

void log_set_form(bool json, const char *its_tail)
{
    pthread_rwlock_wrlock(&form_lock);
    as_json = json;
    snprintf(tail, sizeof tail, "%s", its_tail);
    pthread_rwlock_unlock(&form_lock);
}

void log_set_sampling(uint64_t tick_ns, uint64_t initial, uint64_t thereafter)
{
    pthread_mutex_lock(&sampling_lock);
    sampling_tick = tick_ns;
    sampling_initial = initial;
    sampling_thereafter = thereafter;
    memset(equals, 0, sizeof equals);
    pthread_mutex_unlock(&sampling_lock);
}

/* systemd names the journal's stream by device and inode (systemd.exec(5), JOURNAL_STREAM). */
static bool is_journal(int descriptor)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat its;
    char name[48];
    if (!stream || fstat(descriptor, &its) != 0)
        return false;
    snprintf(name, sizeof name, "%ju:%ju", (uintmax_t)its.st_dev, (uintmax_t)its.st_ino);
    return strcmp(stream, name) == 0;
}

/* What is known of an output that stays; else of none. */
static struct log_output take_output(struct outputs *outputs, int descriptor)
{
    struct log_output taken = {.output = OUTPUT_OF(descriptor)};
    for (size_t i = 0; i < outputs->count; i++)
        if (outputs->at[i].output.descriptor == descriptor) {
            taken = outputs->at[i];
            outputs->at[i] = no_output;
        }
    taken.journal = is_journal(descriptor);
    return taken;
}

static void set_outputs(struct outputs *outputs, const int *descriptors, size_t count)
{
    struct outputs fresh = {.count = count < LOG_OUTPUTS ? count : LOG_OUTPUTS};
    pthread_rwlock_wrlock(&form_lock);
    for (size_t i = 0; i < fresh.count; i++)
        fresh.at[i] = take_output(outputs, descriptors[i]);
    for (size_t i = 0; i < outputs->count; i++) {
        output_release(&outputs->at[i].output);
        if (outputs->at[i].output.descriptor > STDERR_FILENO)
            close(outputs->at[i].output.descriptor);
    }
    *outputs = fresh;
    pthread_rwlock_unlock(&form_lock);
}

void log_set_outputs(const int *descriptors, size_t count)
{
    set_outputs(&lines_to, descriptors, count);
}

void log_set_error_outputs(const int *descriptors, size_t count)
{
    set_outputs(&faults_to, descriptors, count);
}

/* Skips a number with its decimals and unit: "1.5 s" differs from "12 s" only in numbers, as does
 * "900ms". Numbers inside a word, as in otlp_http/2, are part of it. */
static const char *after_number(const char *text)
{
    while (isalnum((unsigned char)*text) || (*text == '.' && isdigit((unsigned char)text[1])))
        text++;
    return text;
}

/* FNV-1a, of all but the numbers. */
static uint64_t log_hash_of(enum log_level level, const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037) + (uint64_t)level;
    for (bool in_word = false; *text;) {
        if (!in_word && isdigit((unsigned char)*text)) {
            text = after_number(text);
            continue;
        }
        in_word = isalnum((unsigned char)*text) || *text == '_' || *text == '/';
        hash = (hash ^ (uint8_t)*text++) * UINT64_C(1099511628211);
    }
    return hash;
}

/* Whether sampling leaves out a line. */
static bool is_repeated(enum log_level level, const char *text)
{
    bool repeated = false;
    pthread_mutex_lock(&sampling_lock);
    if (sampling_tick) {
        uint64_t hash = log_hash_of(level, text), now = clock_mono(&clock_system);
        struct equal *equal = &equals[hash % EQUALS];
        if (equal->hash != hash || now >= equal->until)
            *equal = (struct equal){hash, 0, now + sampling_tick};
        uint64_t beyond = ++equal->count > sampling_initial ? equal->count - sampling_initial : 0;
        repeated = beyond && (!sampling_thereafter || beyond % sampling_thereafter != 0);
    }
    pthread_mutex_unlock(&sampling_lock);
    return repeated;
}

/* ---- lines ---- */

static size_t stamp(char *out, size_t size)
{
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &utc);
    return n + (size_t)snprintf(out + n, size - n, ".%03ldZ", now.tv_nsec / 1000000);
}

static size_t log_write_text(char *line, size_t size, enum log_level level, const char *shown)
{
    size_t n = stamp(line, size);
    return n +
           (size_t)snprintf(line + n, size - n, " %-5s %s%s\n", level_names[level], shown, tail);
}

/* text: UTF-8 whose only control characters are line feeds. */
static void put_quoted(struct view text, struct bytes *out)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c == '"' || c == '\\' || c == '\n')
            bytes_append(out, "\\", 1);
        bytes_append(out, c == '\n' ? (const uint8_t *)"n" : &c, 1);
    }
}

static void put_field(const char *name, const char *value, struct bytes *out)
{
    if (!value)
        return;
    bytes_printf(out, ",\"%s\":\"", name);
    put_quoted(view_of(value), out);
    bytes_append(out, "\"", 1);
}

/* Under form_lock. */
static void write_json(enum log_level level, const struct log_source *source, struct view text,
                       struct bytes *out)
{
    char time[40];
    stamp(time, sizeof time);
    bytes_printf(out, "{\"level\":\"%s\",\"ts\":\"%s\",\"msg\":\"", level_names[level], time);
    put_quoted(text, out);
    bytes_printf(out, "\"%s", tail);
    if (source) {
        put_field("otelcol.component.id", source->id, out);
        put_field("otelcol.component.kind", source->kind, out);
        put_field("otelcol.signal", source->signal, out);
    }
    bytes_append(out, "}\n", 2);
}

bool log_format_json(struct view text, const struct log_source *source, struct bytes *out)
{
    pthread_rwlock_rdlock(&form_lock);
    bool json = as_json;
    if (json)
        write_json(LOG_INFO, source, text, out);
    pthread_rwlock_unlock(&form_lock);
    return json;
}

/* ---- writing; under output_lock ---- */

/* Reports the first of the lines in a row that could not be written. */
static void report_failure(const char *why)
{
    char line[256];
    if (failing)
        return;
    failing = true;
    size_t n = stamp(line, sizeof line);
    n += (size_t)snprintf(line + n, sizeof line - n,
                          " error the log cannot be written: %s; its lines are lost until it can\n",
                          why);
    for (size_t i = 0; i < faults_to.count; i++)
        output_write(&faults_to.at[i].output, (struct view){(const uint8_t *)line, n}, 0);
}

static size_t write_form(enum log_level level, const struct log_source *source, struct view text,
                         char *line, size_t size)
{
    /* Of a fixed size, since there may be no memory. */
    struct bytes out = {.data = (uint8_t *)line, .capacity = size, .max = size};
    bytes_append(&out, priorities[level], PRIORITY_SIZE);
    if (as_json)
        write_json(level, source, text, &out);
    else
        out.size +=
            log_write_text(line + out.size, size - out.size, level, (const char *)text.data);
    return out.size;
}

static enum output_result write_one(struct log_output *to, const char *line, size_t size)
{
    size_t skipped = to->journal ? 0 : PRIORITY_SIZE;
    struct view text = {(const uint8_t *)line + skipped, size - skipped};
    return output_write(&to->output, text, OUTPUT_PATIENCE_MS);
}

/* Tells the reader what it missed. */
static enum output_result tell_dropped(struct log_output *to)
{
    char text[128], line[sizeof text + LOG_TAIL + 128], since[CLOCK_TEXT];
    int size =
        snprintf(text, sizeof text, "the log was not %s: %" PRIu64 " line%s dropped since %s",
                 to->error && to->error != EPIPE ? "written" : "read", to->dropped,
                 to->dropped == 1 ? " was" : "s were", clock_text(to->since, since));
    size_t n = write_form(LOG_WARN, NULL, (struct view){(const uint8_t *)text, (size_t)size}, line,
                          sizeof line);
    enum output_result result = write_one(to, line, n);
    if (result == OUTPUT_WRITTEN)
        to->dropped = 0;
    return result;
}

static void count_dropped(struct log_output *to, int error)
{
    to->error = error;
    if (to->dropped++ == 0)
        to->since = clock_wall(&clock_system);
    atomic_fetch_add(&dropped_lines, 1);
}

/* The line has its priority before it, which is for the journal only. */
static void write_to_all(const char *line, size_t size)
{
    bool whole = true;
    pthread_mutex_lock(&output_lock);
    for (size_t i = 0; i < lines_to.count; i++) {
        struct log_output *to = &lines_to.at[i];
        enum output_result result = to->dropped ? tell_dropped(to) : OUTPUT_WRITTEN;
        if (result == OUTPUT_WRITTEN)
            result = write_one(to, line, size);
        int error = errno;
        if (result == OUTPUT_WRITTEN) {
            to->error = 0;
            continue;
        }
        whole = false;
        count_dropped(to, result == OUTPUT_STALLED ? 0 : error ? error : ENOSPC);
        report_failure(result == OUTPUT_STALLED ? "its reader has stopped reading"
                       : error                  ? strerror(error)
                                                : "only a part of a line fits");
    }
    failing = failing && !whole;
    pthread_mutex_unlock(&output_lock);
}

uint64_t log_dropped(void)
{
    return atomic_load(&dropped_lines);
}

bool log_trouble(struct bytes *out)
{
    bool trouble = false;
    char since[CLOCK_TEXT];
    pthread_rwlock_rdlock(&form_lock);
    pthread_mutex_lock(&output_lock);
    for (size_t i = 0; i < lines_to.count; i++) {
        const struct log_output *to = &lines_to.at[i];
        int descriptor = to->output.descriptor;
        if (!to->dropped || (!to->error && !output_is_stalled(&to->output)))
            continue;
        bytes_printf(out, "%slog: %s %s: %" PRIu64 " line%s dropped since %s",
                     out->size ? "; " : "",
                     descriptor == STDERR_FILENO   ? "stderr"
                     : descriptor == STDOUT_FILENO ? "stdout"
                     : to->error                   ? "an output of output_paths"
                                                   : "a pipe of output_paths",
                     !to->error           ? "is not read"
                     : to->error == EPIPE ? "has no reader any more"
                                          : strerrordesc_np(to->error),
                     to->dropped, to->dropped == 1 ? "" : "s", clock_text(to->since, since));
        trouble = true;
    }
    pthread_mutex_unlock(&output_lock);
    pthread_rwlock_unlock(&form_lock);
    return trouble;
}

/* ---- what to write ---- */

static void log_write_line(const struct log_source *source, enum log_level level, bool always,
                           const char *format, va_list args) __attribute__((format(printf, 4, 0)));

static void log_write_line(const struct log_source *source, enum log_level level, bool always,
                           const char *format, va_list args)
{
    if (!always && !log_enabled(level))
        return;
    char text[TEXT_SIZE], redacted[TEXT_SIZE], shown[TEXT_SIZE], line[LINE_SIZE];
    int before = source ? snprintf(text, sizeof text, "%s: ", source->id) : 0;
    size_t at = before < TEXT_SIZE ? (size_t)before : TEXT_SIZE - 1;
    int need = vsnprintf(text + at, sizeof text - at, format, args);
    struct view clean = {(const uint8_t *)redacted, 0};
    clean.size = need < 0 ? 0 : redact_copy(text, redacted, sizeof redacted);
    size_t size = shown_copy(clean, shown, sizeof shown);
    if (!always && is_repeated(level, shown))
        return;
    pthread_rwlock_rdlock(&form_lock);
    size =
        write_form(level, source, (struct view){(const uint8_t *)shown, size}, line, sizeof line);
    write_to_all(line, size);
    pthread_rwlock_unlock(&form_lock);
}

void log_line(enum log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_write_line(NULL, level, false, format, args);
    va_end(args);
}

void log_of(const struct log_source *source, enum log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_write_line(source, level, false, format, args);
    va_end(args);
}

void log_answer(enum log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_write_line(NULL, level, true, format, args);
    va_end(args);
}
