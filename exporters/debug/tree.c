/* A trace written as a tree (exporters/debug/kept.h). */
#include "exporters/debug/kept.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_INDENT = 40, NAME_COLUMN = 44, SHOWN_FUNCTIONS = 3, SHOWN_GRAPHS = 3 };

static void write_duration(uint64_t ns, struct bytes *out)
{
    if (ns < 1000 * 1000)
        bytes_printf(out, "%.1f us", (double)ns / 1e3);
    else if (ns < NS_PER_S)
        bytes_printf(out, "%.1f ms", (double)ns / 1e6);
    else
        bytes_printf(out, "%.2f s", (double)ns / 1e9);
}

static uint64_t samples_of(const struct span_profile *profile)
{
    return profile->samples ? profile->samples : profile->wall_samples;
}

/* By the same measure as the flame graph, the costliest first. */
static void write_hot(const struct span_profile *profile, struct bytes *out)
{
    bool written[HOT_FUNCTIONS] = {false};
    uint64_t total = profile->cpu_ns    ? profile->cpu_ns
                     : profile->wall_ns ? profile->wall_ns
                                        : samples_of(profile);
    for (int i = 0; i < SHOWN_FUNCTIONS; i++) {
        const struct hot_function *most = NULL;
        for (size_t at = 0; at < HOT_FUNCTIONS; at++) {
            const struct hot_function *each = &profile->hot[at];
            if (!written[at] && (!most || span_profile_measure(profile, each) >
                                              span_profile_measure(profile, most)))
                most = each;
        }
        uint64_t measure = most ? span_profile_measure(profile, most) : 0;
        if (!measure)
            return;
        written[most - profile->hot] = true;
        bytes_printf(out, "%s%s %.0f%%", i ? ", " : ": ", *most->name ? most->name : "?",
                     (double)measure * 100 / (double)total);
    }
}

static void write_samples(const struct span_profile *profile, struct bytes *out)
{
    uint64_t samples = samples_of(profile);
    bytes_printf(out, "%llu sample%s", (unsigned long long)samples, samples == 1 ? "" : "s");
}

const struct span_profile *kept_profile_of(const struct kept_span *span,
                                           const struct span_profiles *profiles)
{
    return span_profiles_get(profiles, span->profile, span->service);
}

/* Whether samples of a span came under another service name, so that it is not linked. */
static bool names_differ(const struct kept_span *span, const struct span_profile *profile)
{
    return profile && *profile->service && strcmp(profile->service, span->service) != 0;
}

static void tree_write_profile(const struct kept_span *span, const struct span_profiles *profiles,
                               struct bytes *out)
{
    const struct span_profile *profile = kept_profile_of(span, profiles);
    char id[16];
    if (!span->profile)
        return;
    span_id_format(span->profile, id);
    bytes_printf(out, "   profile %.16s", id);
    if (!profile || (!samples_of(profile) && !profile->wall_ns))
        return;
    bytes_append(out, ", ", 2);
    write_samples(profile, out);
    if (profile->times_cpu || profile->wall_ns) {
        bytes_append(out, ", ", 2);
        bool cpu = profile->cpu_ns || !profile->wall_ns;
        write_duration(cpu ? profile->cpu_ns : profile->wall_ns, out);
        bytes_printf(out, cpu ? " CPU" : " wall time only");
    }
    if (span_profiles_may_grow(profiles, profile, span->end_ns, NULL))
        bytes_printf(out, " so far");
    write_hot(profile, out);
    if (names_differ(span, profile))
        bytes_printf(out, "; not linked, since the profile is of service %s", profile->service);
}

/* UTF-8 continuation bytes occupy no column. */
static int columns(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void write_span(const struct kept_span *span, unsigned depth,
                       const struct span_profiles *profiles, struct bytes *out)
{
    int indent = (int)(depth < MAX_INDENT ? depth : MAX_INDENT) * 2 + 2;
    int pad = NAME_COLUMN - indent - columns(span->name);
    bytes_printf(out, "%*s%s%*s ", indent, "", span->name, pad > 0 ? pad : 0, "");
    write_duration(span->end_ns > span->start_ns ? span->end_ns - span->start_ns : 0, out);
    tree_write_profile(span, profiles, out);
    bytes_append(out, "\n", 1);
}

/* The depth is limited by the number of spans that a trace keeps. */
static void write_children(struct kept_trace *trace, size_t parent, unsigned depth,
                           const struct span_profiles *profiles, struct bytes *out)
{
    write_span(&trace->spans[parent], depth, profiles, out);
    trace->spans[parent].shown = true;
    for (size_t i = 0; i < trace->count; i++)
        if (!trace->spans[i].shown && trace->spans[i].parent == trace->spans[parent].id)
            write_children(trace, i, depth + 1, profiles, out);
}

static int by_start(const void *a, const void *b)
{
    uint64_t x = ((const struct kept_span *)a)->start_ns;
    uint64_t y = ((const struct kept_span *)b)->start_ns;
    return (x > y) - (x < y);
}

static bool has_parent(const struct kept_trace *trace, const struct kept_span *span)
{
    for (size_t i = 0; span->parent && i < trace->count; i++)
        if (trace->spans[i].id == span->parent && &trace->spans[i] != span)
            return true;
    return false;
}

/* That of the root; without one, of the first span in the tree. */
static const char *service_of(const struct kept_trace *trace)
{
    const struct kept_span *first = NULL;
    for (size_t i = 0; i < trace->count; i++) {
        const struct kept_span *span = &trace->spans[i];
        if (!span->parent)
            return span->service;
        if (!first && !has_parent(trace, span))
            first = span;
    }
    return first ? first->service : trace->spans[0].service;
}

static size_t count_linked(const struct kept_trace *trace, const struct span_profiles *profiles,
                           bool ends)
{
    size_t linked = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct kept_span *span = &trace->spans[i];
        const struct span_profile *profile = kept_profile_of(span, profiles);
        linked += span->profile && !names_differ(span, profile) &&
                  (profile || !ends || !span_profiles_came(profiles));
    }
    return linked;
}

/* Whether a's graph comes before b's: that of more CPU time, else wall time, else samples. */
static bool is_costlier(const struct span_profile *a, const struct span_profile *b)
{
    if (a->cpu_ns != b->cpu_ns)
        return a->cpu_ns > b->cpu_ns;
    return a->wall_ns != b->wall_ns ? a->wall_ns > b->wall_ns : a->samples > b->samples;
}

static bool is_among(const struct span_profile *const *list, size_t count,
                     const struct span_profile *profile)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == profile)
            return true;
    return false;
}

/* The span with the costliest profile that is not among those shown; NULL: none. A profile that
 * several spans share, as children may inherit it, counts once. */
static const struct kept_span *find_costliest(const struct kept_trace *trace,
                                              const struct span_profiles *profiles,
                                              const struct span_profile *const *shown, size_t count)
{
    const struct kept_span *best = NULL;
    const struct span_profile *least = NULL;
    for (size_t i = 0; i < trace->count; i++) {
        const struct span_profile *profile = kept_profile_of(&trace->spans[i], profiles);
        if (!profile || !profile->tree.count || is_among(shown, count, profile) ||
            (least && !is_costlier(profile, least)))
            continue;
        best = &trace->spans[i];
        least = profile;
    }
    return best;
}

static void write_graphs(const struct kept_trace *trace, const struct span_profiles *profiles,
                         struct bytes *out)
{
    const struct span_profile *shown[SHOWN_GRAPHS];
    size_t count = 0;
    for (; count < SHOWN_GRAPHS; count++) {
        const struct kept_span *span = find_costliest(trace, profiles, shown, count);
        if (!span)
            break;
        shown[count] = kept_profile_of(span, profiles);
        bytes_printf(out, "\n  The flame graph of %s: ", span->name);
        const struct span_profile *profile = shown[count];
        if (profile->cpu_ns || profile->wall_ns) {
            write_duration(profile->cpu_ns ? profile->cpu_ns : profile->wall_ns, out);
            bytes_printf(out, profile->cpu_ns ? " CPU" : " wall time");
        } else {
            write_samples(profile, out);
        }
        if (span_profiles_may_grow(profiles, profile, span->end_ns, NULL))
            bytes_printf(out, " so far");
        bytes_append(out, "\n\n", 2);
        call_tree_write(&shown[count]->tree, out);
    }
    if (count)
        bytes_append(out, "\n", 1);
}

void tree_write(struct kept_trace *trace, const struct span_profiles *profiles, bool ends,
                struct bytes *out)
{
    bytes_printf(out, "trace ");
    for (int i = 0; i < 16; i++)
        bytes_printf(out, "%02x", trace->id[i]);
    size_t total = trace->count + trace->omitted;
    qsort(trace->spans, trace->count, sizeof *trace->spans, by_start);
    bytes_printf(out, "  %s  %zu span%s, %zu linked\n", service_of(trace), total,
                 total == 1 ? "" : "s", count_linked(trace, profiles, ends));
    for (size_t i = 0; i < trace->count; i++)
        if (!has_parent(trace, &trace->spans[i]))
            write_children(trace, i, 0, profiles, out);
    for (size_t i = 0; i < trace->count;
         i++) /* spans in a cycle of parents, which no root reaches */
        if (!trace->spans[i].shown)
            write_children(trace, i, 0, profiles, out);
    if (trace->omitted)
        bytes_printf(out, "  and %zu more spans\n", trace->omitted);
    write_graphs(trace, profiles, out);
}
