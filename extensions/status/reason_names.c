/* What to do where the profiles of a service come under another name than its spans. */
#include "extensions/status/reason.h"

#include <stdio.h>
#include <string.h>

/* How a profiler is given its name, as in docs/sdks.md: few read the environment. */
static const char *name_setting(const char *language)
{
    static const struct {
        const char *language, *setting;
    } all[] = {{"python", "application_name of pyroscope.configure()"},
               {"go", "ApplicationName of pyroscope.Config"},
               {"nodejs", "appName of Pyroscope.init()"},
               {"java", "PYROSCOPE_APPLICATION_NAME"},
               {"dotnet", "PYROSCOPE_APPLICATION_NAME"},
               {"ruby", "config.application_name"}};
    for (size_t i = 0; language && i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].language, language) == 0)
            return all[i].setting;
    return "its application name";
}

void reason_names_fix(const struct known *known, const struct known_service *service,
                      const struct known_service *other, char *out, size_t size)
{
    struct view spans = names_get(&known->names, service->name);
    struct view profiles = names_get(&known->names, other->name);
    snprintf(out, size,
             "Give the profiler the name of the spans, \"%.*s\" (%s), or the SDK the name of the "
             "profiles (OTEL_SERVICE_NAME=%.*s, unless the code sets service.name itself).",
             VIEW_ARG(spans), name_setting(service->language), VIEW_ARG(profiles));
}
