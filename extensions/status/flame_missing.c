/* Says what a flame graph lacks of what it was asked for. */
#include "extensions/status/flame_wanted.h"
#include "extensions/status/known_find.h"
#include "extensions/status/looked.h"

#include <stdlib.h>

static bool is_of_service(const struct flame_query *query)
{
    return *query->service && !query->name.given && !*query->span;
}

/* ---- under the watch's lock ---- */

/* When the first profile of a service came, or of one under whose name its spans' samples come; 0:
 * none did. */
static uint64_t service_first(const struct known *known, struct view name)
{
    uint64_t first = 0;
    for (size_t i = 1; i < known->service_count; i++) {
        const struct known_service *each = known->services[i];
        const struct known_service *other = known->services[each->profiles_under];
        if (!names_eq(&known->names, each->name, name))
            continue;
        if (each->first_came && (!first || each->first_came < first))
            first = each->first_came;
        if (each->profiles_under && other->first_came && (!first || other->first_came < first))
            first = other->first_came;
    }
    return first;
}

/* ---- what has given way ---- */

/* Until when what was asked for may be missing, by when it came; 0: nothing is. */
struct given_way {
    uint64_t profiles, spans;
};

/* Whether a profile has given way that came then, as correlation noted it, after it passed. */
static bool has_given_way(const struct keep_reach *reach, uint64_t came)
{
    bool kept = reach->oldest_profile && reach->oldest_profile <= came;
    return came && came <= reach->profiles + (kept ? 0 : ARRIVAL_NEAR);
}

static struct given_way given_way_of(struct status *self, const struct wanted *wanted)
{
    const struct flame_query *query = wanted->query;
    struct keep_reach reach = keep_reach(&self->keep);
    uint64_t first = wanted->earliest, forgotten = 0;
    status_lock(self);
    if (is_of_service(query)) {
        first = service_first(&self->known, view_of(query->service));
    } else if (wanted->forgets || self->known.passed_over) {
        forgotten = *query->span ? 0 : known_forgotten_until(&self->known);
        if (forgotten && query->name.given)
            first = service_first(&self->known, view_of(query->service));
    }
    bool skipped = self->skipped_spans || reach.refused_spans;
    status_unlock(self);
    struct given_way way = {.profiles = reach.profiles,
                            .spans = skipped ? forgotten : reach.linked_traces};
    if (forgotten < way.spans)
        way.spans = forgotten;
    uint64_t began = *query->trace ? wanted->began : first;
    if (!has_given_way(&reach, first))
        way.profiles = 0;
    if (!began || began > way.spans)
        way.spans = 0;
    return way;
}

static void say_given_way(struct status *self, const struct wanted *wanted, struct flame *flame)
{
    struct given_way way = given_way_of(self, wanted);
    uint64_t from = wanted->query->from_ns;
    if (way.profiles && from <= way.profiles)
        flame->text = "Profiles of its time have given way to newer data, so that samples are "
                      "missing.";
    else if (way.spans && from <= way.spans)
        flame->text = "Spans of its time have given way to newer data or were not kept, so that "
                      "samples of them may be missing.";
    else
        return;
    flame->fix = "Raise keep_mib of the status extension.";
}

/* ---- names ---- */

/* Whose graph and rows are not the same samples, since names differ. */
static void say_names(struct status *self, const struct flame_query *query, struct flame *flame)
{
    status_lock(self);
    const struct known *known = &self->known;
    for (size_t i = 1; i < known->service_count; i++) {
        const struct known_service *each = known->services[i];
        if (!each->profiles_under)
            continue;
        if (names_eq(&known->names, each->name, view_of(query->service)))
            flame->text = "Samples of its spans came under the name of another service and are in "
                          "that service's flame graph. The Why view of the status page names it.";
        else if (names_eq(&known->names, known->services[each->profiles_under]->name,
                          view_of(query->service)))
            flame->text = "Some of its samples name spans of another service and count for that "
                          "service's routes. The Why view of the status page names it.";
        else
            continue;
        flame->fix = "Give the profiler and the SDK of the spans the same name.";
    }
    status_unlock(self);
}

/* ---- what came, and was not drawn ---- */

/* A service that came so soon after a reload may have sent profiles before it. */
#define SENDS_WITHIN (120 * NS_PER_S)

/* Notes whether samples of a service came to an earlier process: of spans that have passed here, or
 * of any. */
static void note_recalled(const struct known *known, struct wanted *wanted, bool any)
{
    struct view name = view_of(wanted->query->service);
    for (uint32_t i = 0; i < known->span_count && !wanted->recalled; i++) {
        const struct known_span *span = known_at(known, i);
        wanted->recalled = span->recalled && (any || span->dealt) && span->under &&
                           names_eq(&known->names, known->services[span->under]->name, name);
    }
}

/* Notes what a service's samples add up to. */
static void note_service(const struct known *known, struct wanted *wanted)
{
    struct view name = view_of(wanted->query->service);
    for (size_t i = 1; i < known->service_count; i++) {
        const struct known_service *each = known->services[i];
        if (!names_eq(&known->names, each->name, name))
            continue;
        wanted_add_came(wanted, &(struct known_sum){each->cpu_ns, each->wall_ns, each->samples,
                                                    each->wall_samples});
    }
    wanted->earliest = service_first(known, name);
}

/* Whether more samples came than the graph has. Kinds are compared that are counted alike. */
static bool is_short(const struct wanted *wanted, const struct flame *flame)
{
    const struct known_sum *came = &wanted->came;
    char type[FLAME_TYPE_SIZE], unit[FLAME_TYPE_SIZE];
    flame_unit(flame, type, unit, sizeof type);
    if (!*flame->type)
        return !*wanted->query->type && (came->samples || came->wall_samples);
    if (flame_is_cpu_time(flame->type))
        return came->cpu_ns > flame->sum;
    if (strncmp(flame->type, "wall:", 5) == 0 && strcmp(unit, "nanoseconds") == 0)
        return came->wall_ns > flame->sum;
    return strcmp(type, "samples") == 0 && !came->wall_samples && came->samples > flame->samples;
}

/* Whether what was asked for may have had samples before the reload that opened the extension. */
static bool is_cut(const struct status *self, const struct wanted *wanted,
                   const struct flame *flame)
{
    const struct flame_query *query = wanted->query;
    if (!self->reloaded || query->from_ns > self->reloaded)
        return false;
    if (*query->span && !wanted->kept)
        return wanted->predates;
    if (*query->span || *query->trace)
        return wanted->began && wanted->began < self->reloaded;
    return wanted->earliest ? wanted->earliest < self->reloaded + SENDS_WITHIN
                            : flame->profiles == 0;
}

/* A time in the past whose samples an earlier process took. NULL: this one has taken them. */
static const char *say_before_start(const struct status *self, const struct flame_query *query)
{
    if (query->to_ns == UINT64_MAX || query->from_ns >= self->opened)
        return NULL;
    return query->to_ns <= self->opened
               ? "This process started later: samples of that time are not known."
               : "This process started within that time: samples from before are missing.";
}

static void say_not_drawn(struct status *self, struct wanted *wanted, struct flame *flame)
{
    const struct flame_query *query = wanted->query;
    bool whole = !query->from_ns && query->to_ns == UINT64_MAX;
    status_lock(self);
    if (is_of_service(query))
        note_service(&self->known, wanted);
    if (*query->service && !*query->span && (is_of_service(query) || flame->profiles == 0))
        note_recalled(&self->known, wanted, flame->profiles == 0);
    status_unlock(self);
    if (is_cut(self, wanted, flame))
        flame->text = "A reload changed the status extension, and samples that came before it are "
                      "missing.";
    else if (wanted->recalled && whole)
        flame->text = "Samples came to a process before this one, which has not kept their "
                      "profiles.";
    else if (wanted->unknown)
        flame->text = "Samples may be missing: of some spans it is not known how many came.";
    else if (whole && is_short(wanted, flame))
        flame->text = "More samples came than are drawn: their profiles are not kept.";
    else if (*query->trace && looked_opened_amid(self, wanted->began))
        flame->text = "The trace began before this process did: samples of spans that passed "
                      "before are missing.";
    else if (*query->service && !*query->span)
        flame->text = say_before_start(self, query);
    if (!flame->text)
        return;
    flame->fix = "Look at them in the backend that they were sent to.";
}

void wanted_say_missing(struct status *self, struct wanted *wanted, struct flame *flame)
{
    const struct flame_query *query = wanted->query;
    if (is_of_service(query)) {
        status_lock(self);
        wanted_note_left_out(self, wanted, view_of(query->service), query->from_ns, query->to_ns);
        status_unlock(self);
    }
    flame->text = wanted->text;
    flame->fix = wanted->fix;
    if (!flame->text && flame->too_large)
        flame->text = "Some values are too large to be added up, and were cut.";
    if (!flame->text && wanted->beyond)
        flame->text = "Samples are missing: it has more spans than are drawn at once.";
    if (!flame->text && flame->truncated)
        flame->text = "Samples are missing: a profile could not be read, or there are too many.";
    if (!flame->text)
        say_given_way(self, wanted, flame);
    bool several = flame_has_other_cpu(flame);
    if (!flame->text && !several)
        say_not_drawn(self, wanted, flame);
    if (!flame->text && flame->merged) {
        flame->text = "No sample is missing, but there are too many stacks to draw each, or too "
                      "deep ones: what is left out of a stack counts for its caller.";
        flame->fix = "Ask for a route, a span or a shorter time.";
    }
    flame->truncated |= flame->text != NULL;
    if (!flame->text && is_of_service(query))
        say_names(self, query, flame);
    /* They are not added up: OTLP profiles may give the same time as samples and as cpu. */
    if (!flame->text && several) {
        flame->text = "CPU time came in profiles of several types, and one of them is drawn.";
        flame->fix = "Choose another type of CPU time to see its part.";
        flame->truncated |= !*query->type;
    }
}
