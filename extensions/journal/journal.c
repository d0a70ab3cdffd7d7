/* Keeps accepted requests on disk, from before they are answered until they are delivered. */
#include "lib/journal/journal.h"

#include "lib/base/log.h"
#include "pipeline/component.h"

#include <inttypes.h>
#include <stdio.h>

struct journal_extension {
    char *directory;
    int64_t max_size_mib;
    int fsync;
    uint64_t fsync_interval;
    struct journal *journal;
};

enum { FSYNC_ALWAYS, FSYNC_INTERVAL };
static const char *const fsync_choices[] = {"always", "interval", NULL};

static const struct key keys[] = {
    KEY_STRING(struct journal_extension, directory, "directory", NULL, KEY_REQUIRED,
               "directory of its files, created if missing; one process at a time"),
    KEY_INT(struct journal_extension, max_size_mib, "max_size_mib", "1024", 1, 1 << 20,
            "maximum size of all its files; beyond it, clients are told to retry"),
    KEY_CHOICE(struct journal_extension, fsync, "fsync", "always", fsync_choices,
               "always: synced to disk before the response. interval: only written before the "
               "response, which survives a crash of the process but not of the machine"),
    KEY_DURATION(struct journal_extension, fsync_interval, "fsync_interval", "100ms", 0,
                 "time between syncs with fsync: interval"),
    KEY_END,
};

static bool open_extension(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct journal_extension *self = instance;
    struct journal_settings settings = {
        .directory = self->directory,
        .max_bytes = (uint64_t)self->max_size_mib << 20,
        .sync_interval = self->fsync == FSYNC_INTERVAL ? self->fsync_interval : 0,
        .budget = env->budget,
        .clock = env->clock,
    };
    char why[512];
    self->journal = journal_open(&settings, why, sizeof why);
    if (!self->journal)
        snprintf(error, error_size, "directory: %s", why);
    return self->journal != NULL;
}

static void rehearse(const void *config, struct key_report *report)
{
    const struct journal_extension *self = config;
    const char *why;
    if (!journal_could_open(self->directory, &why))
        key_report_add(report, "directory", "\"%s\": %s", self->directory, why);
}

static struct journal *get_journal(const void *instance)
{
    return ((const struct journal_extension *)instance)->journal;
}

static void explain(void *instance, struct bytes *out)
{
    const struct journal_extension *self = instance;
    struct journal_figures figures;
    journal_figures(self->journal, &figures);
    bytes_printf(out,
                 "journal: %" PRIu64 " requests not delivered yet, %" PRIu64
                 " bytes on disk; appended %" PRIu64 " with %" PRIu64 " syncs, refused %" PRIu64
                 ", damaged %" PRIu64 "\n",
                 figures.live, figures.bytes, figures.appended, figures.syncs, figures.refused,
                 figures.damaged);
    struct bytes trouble;
    bytes_init(&trouble, 1024, NULL);
    if (journal_trouble(self->journal, &trouble))
        bytes_printf(out, "journal: %.*s\n", VIEW_ARG(bytes_view(&trouble)));
    bytes_release(&trouble);
}

enum { BYTES, LIMIT, ENTRIES, TO_REPLAY, APPENDED, SYNCS, REFUSED, DAMAGED };

static const struct metric metrics_rows[] = {
    [BYTES] = METRIC_ROW("spanlink_journal_bytes", METRIC_GAUGE, METRIC_BASIC, "By",
                         "Bytes of the journal's files."),
    [LIMIT] = METRIC_ROW("spanlink_journal_limit_bytes", METRIC_GAUGE, METRIC_BASIC, "By",
                         "Size limit of the journal's files."),
    [ENTRIES] = METRIC_ROW("spanlink_journal_entries", METRIC_GAUGE, METRIC_BASIC, "{requests}",
                           "Requests in the journal not delivered yet."),
    [TO_REPLAY] = METRIC_ROW("spanlink_journal_replay_left", METRIC_GAUGE, METRIC_BASIC,
                             "{requests}", "Requests of an earlier process not replayed yet."),
    [APPENDED] = METRIC_ROW("spanlink_journal_appended", METRIC_COUNTER, METRIC_BASIC, "{requests}",
                            "Requests that were written."),
    [SYNCS] = METRIC_ROW("spanlink_journal_syncs", METRIC_COUNTER, METRIC_BASIC, "{syncs}",
                         "Syncs of the disk."),
    [REFUSED] = METRIC_ROW("spanlink_journal_refused", METRIC_COUNTER, METRIC_BASIC, "{requests}",
                           "Requests that could not be written."),
    [DAMAGED] = METRIC_ROW("spanlink_journal_damaged", METRIC_COUNTER, METRIC_BASIC, "{ranges}",
                           "Damaged entries or ranges that were set aside."),
};

static void journal_measure(void *instance, struct metrics *metrics)
{
    const struct journal_extension *self = instance;
    struct journal_figures figures;
    journal_figures(self->journal, &figures);
    const uint64_t values[] = {
        [BYTES] = figures.bytes,         [LIMIT] = figures.max_bytes,   [ENTRIES] = figures.live,
        [TO_REPLAY] = figures.to_replay, [APPENDED] = figures.appended, [SYNCS] = figures.syncs,
        [REFUSED] = figures.refused,     [DAMAGED] = figures.damaged,
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        metrics_add(metrics, &metrics_rows[i], (double)values[i], NO_LABELS);
}

static void close_extension(void *instance)
{
    struct journal_extension *self = instance;
    struct journal_figures figures;
    if (!self->journal)
        return;
    journal_figures(self->journal, &figures);
    if (figures.live && !journal_at_path(self->journal))
        log_warn("journal: %" PRIu64
                 " requests stay in a directory that is no longer at \"%s\": the next start finds "
                 "them only if it is moved back",
                 figures.live, self->directory);
    else if (figures.live)
        log_info("journal: %" PRIu64 " requests stay in \"%s\" for the next start", figures.live,
                 self->directory);
    journal_close(self->journal);
    self->journal = NULL;
}

const struct component extension_journal = {
    .type = "journal",
    .text = "keeps accepted requests on disk until they are delivered",
    .stability = "beta",
    .kind = COMPONENT_EXTENSION,
    .size = sizeof(struct journal_extension),
    .keys = keys,
    .fixed = true,
    .open = open_extension,
    .journal = get_journal,
    .rehearse = rehearse,
    .explain = explain,
    .measure = journal_measure,
    .close = close_extension,
};
