/* What to do where the profiles of a service come under another name than its spans; what is said
 * of a span that is no local root, or that no profile may cover; names of kinds. */
#include "extensions/status/gaps.h"
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

void reason_kinds(unsigned kinds, char *out, size_t size)
{
    static const char *const untimed[] = {
        [UNTIMED_MEMORY] = "memory", [UNTIMED_LOCKS] = "locks", [UNTIMED_OTHER] = "other kinds"};
    const char *names[3];
    size_t count = 0;
    if (kinds & NAMED_BY_CPU)
        names[count++] = "CPU time";
    if (kinds & NAMED_BY_WALL)
        names[count++] = "wall time";
    if (kinds / NAMED_BY_UNTIMED)
        names[count++] = untimed[kinds / NAMED_BY_UNTIMED];
    *out = '\0';
    for (size_t i = 0, at = 0; i < count && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s",
                               i == 0           ? ""
                               : i + 1 == count ? " and "
                                                : ", ",
                               names[i]);
}

/* The service with this name, of any tenant, of which profiles are known, if under another name;
 * NULL: none. */
static const struct known_service *profiled(const struct known *known, struct view service)
{
    for (size_t i = 1; i < known->service_count; i++)
        if ((known->services[i]->has_profiles || known->services[i]->profiles_under) &&
            names_eq(&known->names, known->services[i]->name, service))
            return known->services[i];
    return NULL;
}

void reason_child(const struct known *known, struct view name, struct told_reason *told)
{
    const struct known_service *service = profiled(known, name);
    bool no_ids = service && service->no_ids;
    told->word = REASON_NO_LOCAL_ROOT;
    told->fix = no_ids ? known->reasons[service->no_ids - 1]->fix : NULL;
    told->text =
        no_ids    ? "It is no local root, and no sample of its service names a span."
        : service ? "It is no local root, and no sample names it. Where samples name local roots "
                    "only, its work is in the flame graph of its local root."
                  : "It is no local root, and no profile of its service is known here.";
}

void reason_tell_gap(const struct known *known, const struct known_span *span,
                     struct told_reason *told)
{
    struct gap gap;
    switch (gap_find(known, span->service, reason_ended(span), &gap)) {
    case GAP_COVERED:
        return;
    case GAP_UNKNOWN:
        told->text = reason_ended(span) < known->reloaded
                         ? "No profile names it that came since a reload changed this extension. "
                           "It is not known whether one has its time."
                         : "Profiles that came after its end do not name it. It is not known "
                           "whether one has its time.";
        return;
    case GAP_FOUND:
        gap_tell(&gap, reason_ended(span), told->text_buffer, sizeof told->text_buffer);
        told->text = told->text_buffer;
        told->fix = GAP_FIX;
    }
}
