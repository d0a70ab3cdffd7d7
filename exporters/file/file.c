#include "exporters/file/file.h"

#include "lib/base/shown.h"
#include "lib/wire/codec/compress.h"
#include "lib/wire/json/otlp_json.h"
#include "pipeline/delivery/delivery.h"
#include "pipeline/otlp_form.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINE_CAP = 1 << 30, FOLDER_SIZE = 2048, NAME_SIZE = 100 };

struct file_exporter {
    char *path;
    int format;
    int profiles_form;
    char *profiles_directory;
    bool rotates;
    struct rotation_settings rotation;
    const struct env *env;
    pthread_mutex_t lock; /* guards the fields below */
    bool ready;
    struct line_file lines;
    uint64_t profiles; /* files written so far */
};

static const struct key rotation_keys[] = {
    KEY_INT(struct rotation_settings, max_megabytes, "max_megabytes", "100", 1, 1000000,
            "size at which the file is renamed and a new one started"),
    KEY_INT(struct rotation_settings, max_backups, "max_backups", "100", 0, 1000000,
            "number of renamed files to keep; 0: all"),
    KEY_IGNORED("max_days", "accepted; backups are limited by number"),
    KEY_IGNORED("localtime", "accepted; file names contain UTC times"),
    KEY_END,
};

static const char *const profiles_forms[] = {"files", "lines", NULL};
enum { PROFILES_AS_LINES = 1 };

static const char *const formats[] = {"json", "proto", NULL};
enum { FORMAT_PROTO = 1, PREFIX = 4 };

static const struct key keys[] = {
    KEY_STRING(struct file_exporter, path, "path", NULL, KEY_REQUIRED,
               "file for OTLP requests; missing folders are created"),
    KEY_CHOICE(struct file_exporter, profiles_form, "profiles", "files", profiles_forms,
               "files: each profile unchanged in its own file; lines: pprof and OTLP as OTLP JSON "
               "in path"),
    KEY_STRING(struct file_exporter, profiles_directory, "profiles_directory", NULL, 0,
               "folder for profiles, one file each; default: profiles, next to path"),
    KEY_SWITCHED(struct file_exporter, rotation, struct rotation_settings, rotates, "rotation",
                 rotation_keys, "enabled if this key is present"),
    KEY_CHOICE(
        struct file_exporter, format, "format", "json", formats,
        "json: OTLP JSON, one request per line; proto: protobuf, each request after its size in "
        "four bytes, big-endian"),
    KEY_IGNORED("append", "accepted; files are appended to"),
    KEY_IGNORED("flush_interval", "accepted; every line is written immediately"),
    KEY_IGNORED("create_directory", "accepted; missing folders are created"),
    KEY_END,
};

static bool file_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct file_exporter *self = instance;
    self->env = env;
    pthread_mutex_init(&self->lock, NULL);
    self->ready = true;
    self->lines = (struct line_file){.path = self->path,
                                     .framed = self->format == FORMAT_PROTO,
                                     .rotates = self->rotates,
                                     .rotation = self->rotation,
                                     .clock = env->clock,
                                     .fd = -1};
    if (line_file_open(&self->lines))
        return true;
    snprintf(error, error_size, "path: cannot write %s: %s", self->path, line_file_why(errno));
    return false;
}

static void file_rehearse(const void *instance, struct key_report *report)
{
    const struct file_exporter *self = instance;
    if (!line_file_possible(self->path))
        key_report_add(report, "path", "cannot write %s: %s", self->path, line_file_why(errno));
}

static struct outcome disk_outcome(const char *path)
{
    return outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "cannot write %s: %s", path,
                      line_file_why(errno));
}

static bool encode_line(struct view request, enum signal signal, struct bytes *line)
{
    return otlp_json_write(signal, request, line) && bytes_append(line, "\n", 1) == BYTES_OK;
}

/* The format of the Collector's file exporter. */
static bool encode_framed(struct view request, struct bytes *line)
{
    const uint8_t prefix[PREFIX] = {(uint8_t)(request.size >> 24), (uint8_t)(request.size >> 16),
                                    (uint8_t)(request.size >> 8), (uint8_t)request.size};
    return request.size <= LINE_CAP && bytes_append(line, prefix, sizeof prefix) == BYTES_OK &&
           bytes_append_view(line, request) == BYTES_OK;
}

/* Lock held. */
static bool write_line(struct file_exporter *self, struct view line)
{
    bool written = line_file_write(&self->lines, line);
    if (written && self->lines.left) {
        env_info(self->env, "\"%s\" had been removed or moved: it was made again", self->path);
        self->lines.left = false;
    }
    return written;
}

static struct outcome file_write_line(struct file_exporter *self, const struct batch *batch)
{
    struct bytes line;
    bytes_init(&line, LINE_CAP, NULL);
    struct outcome outcome =
        outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE, "too large for a line, or out of memory");
    struct view request = buffer_view(batch->payload);
    if (self->format == FORMAT_PROTO ? encode_framed(request, &line)
                                     : encode_line(request, batch->signal, &line)) {
        pthread_mutex_lock(&self->lock);
        outcome = write_line(self, bytes_view(&line)) ? OUTCOME_OK : disk_outcome(self->path);
        pthread_mutex_unlock(&self->lock);
    }
    bytes_release(&line);
    return outcome;
}

static void profiles_folder(const struct file_exporter *self, char *out, size_t size)
{
    const char *slash = strrchr(self->path, '/');
    if (*self->profiles_directory)
        snprintf(out, size, "%s", self->profiles_directory);
    else
        snprintf(out, size, "%.*sprofiles", slash ? (int)(slash - self->path) + 1 : 0, self->path);
}

static struct view service_of(const struct batch *batch)
{
    if (!batch->series)
        return VIEW("profile");
    struct view name = series_get(batch->series, VIEW("service_name"));
    return name.size ? name : series_get(batch->series, VIEW("__name__"));
}

/* Makes a file name prefix from a service name: of whole characters that are seen in a list. */
static void file_name(struct view service, char *out, size_t size)
{
    size_t at = 0;
    while (service.size) {
        bool plain;
        uint8_t c = *service.data;
        size_t used = shown_character(service, &plain);
        if (used == 1)
            plain = c && c < 0x80 && (isalnum(c) || (at > 0 && strchr(".-", c)) || c == '_');
        size_t wanted = plain ? used : 1;
        if (at + wanted >= size)
            break;
        memcpy(out + at, plain ? (const char *)service.data : "_", wanted);
        at += wanted;
        service = (struct view){service.data + used, service.size - used};
    }
    out[at] = '\0';
}

static void profile_path(struct file_exporter *self, const struct batch *batch, char *out,
                         size_t size)
{
    static const char *const endings[] = {
        [BATCH_OTLP] = "otlp.gz", [BATCH_PPROF] = "pb.gz", [BATCH_OPAQUE] = "body.gz"};
    char folder[FOLDER_SIZE], name[NAME_SIZE];
    profiles_folder(self, folder, sizeof folder);
    file_name(service_of(batch), name, sizeof name);
    pthread_mutex_lock(&self->lock);
    unsigned long long number = ++self->profiles;
    pthread_mutex_unlock(&self->lock);
    snprintf(out, size, "%s/%s-%llu-%llu.%s", folder, name,
             (unsigned long long)clock_wall(self->env->clock), number, endings[batch->encoding]);
}

static bool write_file(const char *path, struct view content)
{
    size_t done = 0;
    int fd = make_folders(path) ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644) : -1;
    if (fd < 0)
        return false;
    while (done < content.size) {
        ssize_t n = write(fd, content.data + done, content.size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    int why = errno;
    close(fd);
    if (done < content.size)
        unlink(path);
    errno = why;
    return done == content.size;
}

static struct outcome file_write_profile(struct file_exporter *self, const struct batch *batch)
{
    struct bytes packed;
    char path[FOLDER_SIZE + 300];
    bytes_init(&packed, LINE_CAP, NULL);
    struct outcome outcome = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    profile_path(self, batch, path, sizeof path);
    if (deflate_append(ENCODING_GZIP, buffer_view(batch->payload), &packed))
        outcome = write_file(path, bytes_view(&packed)) ? OUTCOME_OK : disk_outcome(path);
    bytes_release(&packed);
    return outcome;
}

static struct outcome write_profile_line(struct file_exporter *self, struct batch *batch)
{
    struct outcome outcome;
    struct batch *form = otlp_form(batch, &outcome);
    if (form)
        outcome = file_write_line(self, form);
    batch_unref(form);
    return outcome;
}

static struct outcome file_send(void *instance, struct batch *batch)
{
    struct file_exporter *self = instance;
    if (batch->signal != SIGNAL_PROFILES)
        return file_write_line(self, batch);
    if (self->profiles_form == PROFILES_AS_LINES && batch->encoding != BATCH_OPAQUE)
        return write_profile_line(self, batch);
    return file_write_profile(self, batch);
}

static void file_close(void *instance)
{
    struct file_exporter *self = instance;
    if (!self->ready)
        return;
    line_file_close(&self->lines);
    pthread_mutex_destroy(&self->lock);
    self->ready = false;
}

static const struct delivery *file_delivery(const void *instance)
{
    static const struct delivery settings = {
        .queue = {.enabled = true, .num_consumers = 1, .queue_size = 1000},
        .retry = {.enabled = true,
                  .initial_interval = NS_PER_S,
                  .multiplier = 1.5,
                  .max_interval = 10 * NS_PER_S},
    };
    (void)instance;
    return &settings;
}

const struct component exporter_file = {
    .type = "file",
    .text = "OTLP JSON lines, and one file for each profile",
    .stability = "beta",
    .kind = COMPONENT_EXPORTER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP) | BATCH_BIT(BATCH_PPROF) | BATCH_BIT(BATCH_OPAQUE),
    .size = sizeof(struct file_exporter),
    .keys = keys,
    .rehearse = file_rehearse,
    .open = file_open,
    .send = file_send,
    .delivery = file_delivery,
    .close = file_close,
};
