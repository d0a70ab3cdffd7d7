#include "pipeline/service.h"

#include "base/log.h"

static const struct key logs_keys[] = {
    KEY_STRING(struct telemetry_logs, level, "level", "info", 0, "debug, info, warn or error"),
    KEY_IGNORED("encoding", "accepted; one line of text an event"),
    KEY_IGNORED("development", "accepted, without effect"),
    KEY_IGNORED("disable_caller", "accepted; there is none"),
    KEY_IGNORED("disable_stacktrace", "accepted; there is none"),
    KEY_IGNORED("sampling", "accepted; repeated lines are held back"),
    KEY_IGNORED("output_paths", "accepted; the log goes to stderr"),
    KEY_IGNORED("error_output_paths", "accepted; the log goes to stderr"),
    KEY_IGNORED("initial_fields", "accepted, without effect"),
    KEY_IGNORED("processors", "accepted, without effect"),
    KEY_END,
};

static const struct key telemetry_keys[] = {
    KEY_GROUP(struct telemetry, logs, struct telemetry_logs, "logs", logs_keys, "the log"),
    KEY_IGNORED("metrics", "accepted, without effect"),
    KEY_IGNORED("traces", "accepted, without effect"),
    KEY_IGNORED("resource", "accepted, without effect"),
    KEY_END,
};

static const struct key service_keys[] = {
    KEY_DURATION(struct service_settings, shutdown_timeout, "shutdown_timeout", "8s", 0,
                 "time for what is queued to be delivered at the end"),
    KEY_LIST(struct service_settings, extensions, "extensions", NULL, "extensions in use"),
    KEY_GROUP(struct service_settings, telemetry, struct telemetry, "telemetry", telemetry_keys,
              "what the process says of itself"),
    KEY_IGNORED("pipelines", "read apart"),
    KEY_END,
};

static void check(const void *config, struct key_report *report)
{
    const struct service_settings *service = config;
    enum log_level level;
    if (!log_level_parse(service->telemetry.logs.level, &level))
        key_report_add(report, "telemetry.logs.level",
                       "\"%s\" is no level, expected debug, info, warn or error",
                       service->telemetry.logs.level);
}

bool service_fill(struct service_settings *service, const struct node *section,
                  const struct node *place, struct problems *problems)
{
    return keys_fill(service_keys, section, place, "service", service, problems) &&
           keys_check(check, service, section, place, "service", problems);
}

void service_release(struct service_settings *service)
{
    keys_release(service_keys, service);
}
