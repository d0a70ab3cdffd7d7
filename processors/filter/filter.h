/* What the filter processor reads, and its old form. */
#ifndef PROCESSORS_FILTER_FILTER_H
#define PROCESSORS_FILTER_FILTER_H

#include "lib/attributes/match.h"
#include "lib/ottl/group.h"
#include "lib/settings/key.h"

/* The old form: include and exclude. */
struct filter_metrics {
    char *match_type;
    struct key_list metric_names;
    struct key_groups resource_attributes; /* struct match_attribute */
};

struct filter_severity {
    char *min;
    bool match_undefined;
};

struct filter_logs {
    char *match_type;
    struct key_groups resource_attributes, record_attributes;
    struct key_list severity_texts, bodies;
    struct filter_severity severity_number;
    bool has_severity;
};

struct filter_old {
    struct match_settings span[2]; /* include, exclude */
    struct filter_metrics metric[2];
    struct filter_logs log[2];
    bool has_span[2], has_metric[2], has_log[2];
};

/* The same for matching; what they name is borrowed. */
struct match_settings filter_of_metrics(const struct filter_metrics *metrics);
struct match_settings filter_of_logs(const struct filter_logs *logs);

/* Reports what is wrong with the old form. */
void filter_old_check(const struct filter_old *old, struct key_report *report);

extern const struct key filter_metrics_keys[], filter_logs_keys[];

#endif
