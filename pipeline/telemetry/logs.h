/* Applies service.telemetry.logs (lib/base/log.h). */
#ifndef PIPELINE_TELEMETRY_LOGS_H
#define PIPELINE_TELEMETRY_LOGS_H

#include "lib/settings/problems.h"
#include "pipeline/telemetry/settings.h"

/* Sets level, encoding, fields and sampling from now on. */
void telemetry_logs_set(const struct telemetry_settings *settings);

/* Opens output_paths and error_output_paths, which are in use from now on; missing files are
 * created, existing ones appended to. section: service, for places. False: problems were added,
 * nothing changed. */
bool telemetry_logs_open(const struct telemetry_settings *settings, const struct node *section,
                         struct problems *problems);

/* Opens the same paths again, for files that were renamed or removed. If one cannot be opened, an
 * error is logged and nothing changes. */
void telemetry_logs_reopen(const struct telemetry_settings *settings);

#endif
