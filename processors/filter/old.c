/* include and exclude, the form before OTTL. */
#include "processors/filter/filter.h"

#include <stdio.h>
#include <strings.h>

static const struct key severity_keys[] = {
    KEY_STRING(struct filter_severity, min, "min", NULL, 0, "the least severity, such as INFO"),
    KEY_BOOL(struct filter_severity, match_undefined, "match_undefined", "false",
             "whether a record without a severity number matches"),
    KEY_END,
};
const struct key filter_metrics_keys[] = {
    KEY_STRING(struct filter_metrics, match_type, "match_type", NULL, 0, "strict or regexp"),
    {.name = "regexp",
     .type = KEY_TYPE_GROUP,
     .rows = match_regexp_keys,
     .text = "how patterns run"},
    KEY_LIST(struct filter_metrics, metric_names, "metric_names", NULL, "names of metrics"),
    KEY_GROUPS(struct filter_metrics, resource_attributes, struct match_attribute,
               "resource_attributes", match_attribute_keys, "all of these resource attributes"),
    KEY_END,
};
const struct key filter_logs_keys[] = {
    KEY_STRING(struct filter_logs, match_type, "match_type", NULL, 0, "strict or regexp"),
    {.name = "regexp",
     .type = KEY_TYPE_GROUP,
     .rows = match_regexp_keys,
     .text = "how patterns run"},
    KEY_GROUPS(struct filter_logs, resource_attributes, struct match_attribute,
               "resource_attributes", match_attribute_keys, "all of these resource attributes"),
    KEY_GROUPS(struct filter_logs, record_attributes, struct match_attribute, "record_attributes",
               match_attribute_keys, "all of these attributes"),
    KEY_LIST(struct filter_logs, severity_texts, "severity_texts", NULL, "severity texts"),
    KEY_LIST(struct filter_logs, bodies, "bodies", NULL, "bodies as text"),
    KEY_SWITCHED(struct filter_logs, severity_number, struct filter_severity, has_severity,
                 "severity_number", severity_keys, "severity number"),
    KEY_END,
};

struct match_settings filter_of_metrics(const struct filter_metrics *metrics)
{
    return (struct match_settings){
        .match_type = metrics->match_type,
        .metric_names = metrics->metric_names,
        .resources = metrics->resource_attributes,
    };
}

/* "INFO2", "info2" or "10"; 0: none is given, -1: it is none. */
static int severity_of(const char *text)
{
    static const char *const names[] = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"};
    char name[16];
    if (!*text)
        return 0;
    for (int i = 0; i < 24; i++) {
        snprintf(name, sizeof name, i % 4 ? "%s%d" : "%s", names[i / 4], i % 4 + 1);
        if (strcasecmp(text, name) == 0)
            return i + 1;
        snprintf(name, sizeof name, "%d", i + 1);
        if (strcmp(text, name) == 0)
            return i + 1;
    }
    return -1;
}

struct match_settings filter_of_logs(const struct filter_logs *logs)
{
    return (struct match_settings){
        .match_type = logs->match_type,
        .resources = logs->resource_attributes,
        .attributes = logs->record_attributes,
        .log_severity_texts = logs->severity_texts,
        .log_bodies = logs->bodies,
        .log_severity_number = {severity_of(logs->severity_number.min),
                                logs->severity_number.match_undefined},
        .has_severity = logs->has_severity,
    };
}

/* Whether a section has texts, which are compared in the way that match_type says. */
static bool has_texts(const struct match_settings *settings)
{
    return settings->metric_names.count || settings->log_severity_texts.count ||
           settings->log_bodies.count || settings->attributes.count || settings->resources.count ||
           !settings->has_severity;
}

static void check_type(const char *type, bool needed, bool metrics, const char *path,
                       struct key_report *report)
{
    char type_path[80];
    snprintf(type_path, sizeof type_path, "%s.match_type", path);
    if (strcmp(type, "expr") == 0 && metrics)
        key_report_add(report, type_path,
                       "expr is not supported: write the expression as an OTTL condition under "
                       "metrics.metric or metrics.datapoint");
    else if (!*type && needed)
        key_report_add(report, type_path, "required and not given");
}

void filter_old_check(const struct filter_old *old, struct key_report *report)
{
    static const char *const names[] = {"include", "exclude"};
    char path[80], severity_path[120];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "spans.%s", names[i]);
        if (old->has_span[i]) {
            const char *wrong = match_misplaced(&old->span[i], SIGNAL_TRACES);
            match_check(&old->span[i], path, report);
            if (wrong)
                key_report_add(report, path, "%s", wrong);
        }
        snprintf(path, sizeof path, "metrics.%s", names[i]);
        if (old->has_metric[i]) {
            struct match_settings settings = filter_of_metrics(&old->metric[i]);
            check_type(old->metric[i].match_type, true, true, path, report);
            if (strcmp(old->metric[i].match_type, "expr") != 0)
                match_check(&settings, path, report);
        }
        snprintf(path, sizeof path, "logs.%s", names[i]);
        if (old->has_log[i]) {
            struct match_settings settings = filter_of_logs(&old->log[i]);
            check_type(old->log[i].match_type, has_texts(&settings), false, path, report);
            match_check(&settings, path, report);
            snprintf(severity_path, sizeof severity_path, "%s.severity_number.min", path);
            if (settings.log_severity_number.min < 0)
                key_report_add(report, severity_path, "expected a severity such as INFO or WARN2");
        }
    }
}
