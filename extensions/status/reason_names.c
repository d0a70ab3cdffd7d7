/* What to do where the profiles of a service come under another name than its spans; what is said
 * of a span that is no local root, or that no profile may cover; names of kinds. */
#include "extensions/status/gaps.h"
#include "extensions/status/reason.h"
#include "pipeline/watch_texts.h"

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
    int n = 0;
    if (!view_starts(spans, VIEW("unknown_service")))
        n = snprintf(out, size,
                     "Give the profiler the name of the spans, \"%.*s\" (%s), or the SDK",
                     VIEW_ARG(spans), name_setting(service->language));
    snprintf(out + n, size - (size_t)n,
             "%s the name of the profiles (OTEL_SERVICE_NAME=%.*s, unless the code sets "
             "service.name itself). " WATCH_NAME_CHANGED,
             n ? "" : "Give the SDK", VIEW_ARG(profiles));
}

void reason_note_tenant(struct known *known, struct known_span *span, uint16_t other)
{
    struct known_service *service = known->services[span->service];
    bool noted = service->tenant_under;
    service->tenant_under = other;
    if (noted)
        reason_recount(known, span);
    for (uint32_t i = 0; !noted && i < known->span_count; i++)
        if (known_at(known, i)->service == span->service)
            reason_recount(known, known_at(known, i));
}

void reason_tell_tenants(const struct known *known, const struct known_service *service,
                         struct told_reason *told)
{
    const struct known_service *other = known->services[service->tenant_under];
    struct view profiles = known_tenant(known, service->tenant_under);
    struct view spans = service->tenant ? names_get(&known->names, service->tenant) : VIEW("");
    char came[NAME_CUT + 32] = "without a tenant", are[NAME_CUT + 32] = "have no tenant";
    char under[NAME_CUT + 32] = "", rename[NAME_CUT + 64] = "";
    if (profiles.size)
        snprintf(came, sizeof came, "from tenant \"%.*s\"", VIEW_ARG(profiles));
    if (spans.size)
        snprintf(are, sizeof are, "are of tenant \"%.*s\"", VIEW_ARG(spans));
    if (service->name != other->name) {
        snprintf(under, sizeof under, "under \"%.*s\" ",
                 VIEW_ARG(names_get(&known->names, other->name)));
        snprintf(rename, sizeof rename, ", and the profiler the name of the spans, \"%.*s\"",
                 VIEW_ARG(names_get(&known->names, service->name)));
    }
    snprintf(told->text_buffer, sizeof told->text_buffer,
             "Samples with ids of spans of its service came %s%s, but its spans %s.", under, came,
             are);
    snprintf(told->fix_buffer, sizeof told->fix_buffer,
             "Give the %s the X-Scope-OrgID of the %s, \"%.*s\"%s.",
             spans.size ? "profiler" : "exporter of the traces",
             spans.size ? "exporter of the traces" : "profiler",
             VIEW_ARG(spans.size ? spans : profiles), rename);
    told->text = told->text_buffer;
    told->fix = told->fix_buffer;
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

void reason_tell_kinds(unsigned kinds, const char *what, struct told_reason *told)
{
    char names[64];
    reason_kinds(kinds, names, sizeof names);
    snprintf(told->text_buffer, sizeof told->text_buffer, REASON_BESIDE_KINDS, names, what);
    told->text = told->text_buffer;
    told->fix = REASON_BESIDE_FIX;
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
    if (no_ids && service->beside_kinds)
        reason_tell_kinds(service->beside_kinds, "spans of its service", told);
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
