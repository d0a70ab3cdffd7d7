/* service.telemetry.logs put into force (lib/base/log.h). */
#ifndef PIPELINE_TELEMETRY_LOGS_H
#define PIPELINE_TELEMETRY_LOGS_H

#include "lib/settings/problems.h"
#include "pipeline/telemetry/settings.h"

/* Level, encoding, fields and sampling, from here on. */
void telemetry_logs_set(const struct telemetry_settings *settings);

/* Opens output_paths and writes there from here on; files are made where they are missing, and
 * appended to. section: service, for places. False: problems were added, nothing has changed. */
bool telemetry_logs_open(const struct telemetry_settings *settings, const struct node *section,
                         struct problems *problems);

#endif
