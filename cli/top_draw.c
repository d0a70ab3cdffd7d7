#include "cli/top_draw.h"

#include "cli/top_lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    NAME_WIDTH = 26,
    BAR_WIDTH = 20,
    SECTION_HEAD = 2,
    SECTION_LEAST = 3,
    SERVICES_LISTED = 5,
    LONG_WAIT_S = 10,
    REFUSED_S = 60 /* a refusal is told for so long */
};

static const double mib = 1 << 20, second = 1e9;

static void put_problem(struct top_drawing *drawing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put_problem(struct top_drawing *drawing, const char *format, ...)
{
    char text[TOP_PROBLEM_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    top_put_folded(drawing, true, text);
}

static size_t length_of(const struct top_value *list)
{
    size_t length = 0;
    for (const struct top_value *each = list->first; each; each = each->next)
        length++;
    return length;
}

/* Instead of the rows for which there is no room. */
static void put_more(struct top_drawing *drawing, size_t count)
{
    top_put_line(drawing, false, "and %zu more", count);
}

/* ---- the process ---- */

static void put_process(struct top_drawing *drawing)
{
    const struct top_value *now = drawing->now->pipelines;
    const struct top_value *budget = top_value_get(now, "budget"), *hold;
    hold = top_value_get(now, "hold");
    top_put_line(drawing, true, "spanlink %s  up %.0f s  cpu %.2f s  rss %.1f MiB",
                 top_value_get(now, "version")->text, top_number_of(now, "uptime_ns") / second,
                 top_number_of(now, "cpu_ns") / second, top_number_of(now, "rss_bytes") / mib);
    char text[TOP_LINE_SIZE];
    snprintf(text, sizeof text, "memory budget: %.1f of %.1f MiB in use, refuses above %.1f",
             (top_number_of(budget, "used_bytes") + top_number_of(budget, "beyond_bytes")) / mib,
             top_number_of(budget, "limit_bytes") / mib,
             top_number_of(budget, "threshold_bytes") / mib);
    top_put_folded(drawing, false, text);
    snprintf(text, sizeof text, "waiting for samples: %.0f spans, %.1f of %.1f MiB, oldest %.1f s",
             top_number_of(hold, "spans"), top_number_of(hold, "bytes") / mib,
             top_number_of(hold, "limit_bytes") / mib, top_number_of(hold, "oldest_ns") / second);
    top_put_folded(drawing, false, text);
    const struct top_value *journal = top_value_get(now, "journal");
    if (journal->first)
        top_put_line(drawing, false, "journal %.1f of %.1f MiB, %.0f requests, %.0f to be replayed",
                     top_number_of(journal, "bytes") / mib,
                     top_number_of(journal, "limit_bytes") / mib, top_number_of(journal, "entries"),
                     top_number_of(journal, "replay_left"));
}

/* ---- what is wrong ---- */

/* The time of day in UTC, as in the log, of a member in unix nanoseconds. */
static const char *clock_of(const struct top_value *object, const char *key, char out[16])
{
    time_t seconds = (time_t)(top_number_of(object, key) / second);
    struct tm day;
    if (!gmtime_r(&seconds, &day) || strftime(out, 16, "%H:%M:%SZ", &day) == 0)
        *out = '\0';
    return out;
}

static void put_delivery(struct top_drawing *drawing, const struct top_value *component)
{
    const struct top_value *delivery = top_value_get(component, "delivery");
    const char *id = top_value_get(component, "id")->text;
    double oldest = top_number_of(delivery, "oldest_ns"), slow = top_number_of(delivery, "slow_ns");
    double retry = top_number_of(delivery, "retry_ns");
    char wait[64] = "", at[16], again[16];
    if (oldest > LONG_WAIT_S * second)
        snprintf(wait, sizeof wait, ", oldest waits %.0f s", oldest / second);
    if (top_number_of(delivery, "delivering_since_unix_nano") > 0)
        put_problem(drawing, "! %s: failed from %s, delivering again since %s%s: %s", id,
                    clock_of(delivery, "failing_since_unix_nano", at),
                    clock_of(delivery, "delivering_since_unix_nano", again), wait,
                    top_value_get(delivery, "error")->text);
    else if (top_number_of(delivery, "failing_since_unix_nano") > 0)
        put_problem(drawing, "! %s: failing since %s, %s%s: %s", id,
                    clock_of(delivery, "failing_since_unix_nano", at),
                    top_number_of(delivery, "drops") > 0 ? "dropping" : "waiting", wait,
                    top_value_get(delivery, "error")->text);
    else if (slow > 0)
        put_problem(drawing, "! %s: slow: a request took %.1f s%s", id, slow / second, wait);
    else if (*wait && retry > 0)
        put_problem(drawing,
                    "! %s: the oldest request has waited %.0f s, and is tried again in %.0f s", id,
                    oldest / second, retry / second);
    else if (*wait)
        put_problem(drawing, "! %s: slow: the oldest request has waited %.0f s", id,
                    oldest / second);
}

/* What clients send that is not taken here, of the last minute. */
static void put_refusals(struct top_drawing *drawing, const struct top_value *component)
{
    const struct top_value *each = top_value_get(component, "refusals")->first;
    for (; each; each = each->next) {
        const char *text = top_value_get(each, "text")->text;
        double count = top_number_of(each, "count");
        bool late = (double)time(NULL) - top_number_of(each, "last_unix_nano") / second < REFUSED_S;
        if (*text && late && strcmp(top_value_get(each, "cause")->text, "unsupported") == 0)
            put_problem(drawing, "! %s: %.0f %s: unsupported%s: %s",
                        top_value_get(component, "id")->text, count,
                        count == 1 ? "request refused" : "requests refused",
                        count == 1 ? "" : ", the last", text);
    }
}

static void put_concern(struct top_drawing *drawing, const struct top_value *component)
{
    const char *concern = top_value_get(component, "concern")->text;
    if (*concern)
        put_problem(drawing, "! %s: %s", top_value_get(component, "id")->text, concern);
}

/* A service's name, with its tenant if it has one. */
static const char *service_of(const struct top_value *row, char out[TOP_LINE_SIZE])
{
    const char *tenant = top_value_get(row, "tenant")->text;
    snprintf(out, TOP_LINE_SIZE, "%.200s%s%.100s%s", top_value_get(row, "service")->text,
             *tenant ? " (" : "", tenant, *tenant ? ")" : "");
    return out;
}

/* What is wrong with services, of which there may be many. */
static void put_service_problems(struct top_drawing *drawing)
{
    const struct top_value *each = top_value_get(drawing->now->services, "services")->first;
    unsigned count = 0;
    for (; each; each = each->next) {
        const struct top_value *problem = top_value_get(each, "problem");
        char name[TOP_LINE_SIZE];
        if (problem->first && count++ < SERVICES_LISTED)
            put_problem(drawing, "! %s: %s %s", service_of(each, name),
                        top_value_get(problem, "text")->text, top_value_get(problem, "fix")->text);
    }
    if (count > SERVICES_LISTED)
        put_problem(drawing, "! %u more services have a problem: see /api/services",
                    count - SERVICES_LISTED);
}

static void put_problems(struct top_drawing *drawing)
{
    const struct top_value *now = drawing->now->pipelines;
    const struct top_value *refused = top_value_get(now, "refused_reload");
    const struct top_value *each = top_value_get(now, "components")->first;
    const char *trouble = top_value_get(now, "trouble")->text;
    char at[16];
    if (drawing->screen->missed)
        put_problem(drawing, "! this is the last answer; it waits for the next: %s",
                    drawing->screen->missed);
    if (*trouble)
        put_problem(drawing, "! %s", trouble);
    for (; each; each = each->next) {
        put_delivery(drawing, each);
        put_refusals(drawing, each);
        put_concern(drawing, each);
    }
    if (refused->first)
        put_problem(drawing,
                    "! the configuration of %s was refused, the one before it stays in force: %s",
                    clock_of(refused, "at_unix_nano", at), top_value_get(refused, "error")->text);
    put_service_problems(drawing);
}

/* ---- pipelines ---- */

static void join(const struct top_value *list, char out[256])
{
    size_t at = 0;
    *out = '\0';
    for (const struct top_value *each = list->first; each && at < 255; each = each->next)
        at += (size_t)snprintf(out + at, 256 - at, "%s%s", at ? ", " : "", each->text);
}

static void put_pipelines(struct top_drawing *drawing)
{
    const struct top_value *list = top_value_get(drawing->now->pipelines, "pipelines");
    char parts[3][256], name[TOP_LINE_SIZE];
    for (const struct top_value *each = list->first; each; each = each->next) {
        join(top_value_get(each, "receivers"), parts[0]);
        join(top_value_get(each, "processors"), parts[1]);
        join(top_value_get(each, "exporters"), parts[2]);
        top_put_line(drawing, false, "%s %s > %s%s%s",
                     top_padded(top_value_get(each, "name")->text, 10, name), parts[0], parts[1],
                     *parts[1] ? " > " : "", parts[2]);
    }
}

/* How far those that read from Kafka are. */
static void put_lanes(struct top_drawing *drawing)
{
    const struct top_value *each = top_value_get(drawing->now->pipelines, "components")->first;
    for (; each; each = each->next) {
        const struct top_value *lanes = top_value_get(each, "lanes");
        char text[TOP_LINE_SIZE];
        if (!lanes->first)
            continue;
        snprintf(text, sizeof text,
                 "%s: %.0f lanes, %.0f paused, %.0f records not delivered, of these %.0f not read, "
                 "oldest %.1f s, clock %.1f s behind",
                 top_value_get(each, "id")->text, top_number_of(lanes, "count"),
                 top_number_of(lanes, "paused"), top_number_of(lanes, "lag_records"),
                 top_number_of(lanes, "unread_records"), top_number_of(lanes, "oldest_ns") / second,
                 top_number_of(lanes, "behind_ns") / second);
        top_put_folded(drawing, false, text);
    }
}

/* What components count; the last is that of one that has counted nothing. */
static const struct {
    const char *key, *word;
} items[] = {{"spans", "spans"},
             {"profile_samples", "samples"},
             {"profiles", "profiles"}, /* that an exporter dropped */
             {"metric_points", "points"},
             {"log_records", "records"},
             {"kafka_records", "messages"}, /* of Kafka, that a receiver lost */
             {NULL, "-"}};
static const char *const counted[] = {"accepted", "incoming", "outgoing", "sent", "dropped"};
enum { COUNTED = sizeof counted / sizeof *counted };

/* The sum of the counters of these names, of an item. */
static double sum_of(const struct top_value *component, const char *const names[], size_t count,
                     const char *item)
{
    const struct top_value *counters = top_value_get(component, "counters");
    double sum = 0;
    for (size_t i = 0; item && i < count; i++)
        sum += top_number_of(top_value_get(counters, names[i]), item);
    return sum;
}

static const struct top_value *same_component(const struct top_value *look,
                                              const struct top_value *component)
{
    const struct top_value *each = top_value_get(look, "components")->first;
    while (each &&
           (strcmp(top_value_get(each, "id")->text, top_value_get(component, "id")->text) != 0 ||
            strcmp(top_value_get(each, "kind")->text, top_value_get(component, "kind")->text) != 0))
        each = each->next;
    return each;
}

/* A small rate has a digit more. */
static void put_count(double value, char out[32])
{
    bool whole = value >= 9.95 || value == (double)(long)value;
    snprintf(out, 32, "%.*f", whole ? 0 : 1, value);
}

/* A line of a component: what it counted of an item. A receiver passes on all that it accepted, and
 * an exporter takes what it sends: one number says it. */
static void put_item(struct top_drawing *drawing, const struct top_value *component, size_t item,
                     const char *begin, const char *length, double refused)
{
    static const char *const in[] = {"accepted", "incoming"}, *const out[] = {"outgoing", "sent"};
    static const char *const lost[] = {"dropped"};
    const struct top_value *look = drawing->before->pipelines;
    const struct top_value *before = look ? same_component(look, component) : NULL;
    const char *key = items[item].key;
    double now_ns = top_number_of(drawing->now->pipelines, "uptime_ns");
    double time = look ? (now_ns - top_number_of(look, "uptime_ns")) / second : 1;
    if (time <= 0)
        time = 1;
    char came[32] = "-", left[32] = "-";
    const char *kind = top_value_get(component, "kind")->text;
    double ins = sum_of(component, in, 2, key) - (before ? sum_of(before, in, 2, key) : 0);
    double outs = sum_of(component, out, 2, key) - (before ? sum_of(before, out, 2, key) : 0);
    if (strcmp(kind, "exporter") != 0)
        put_count(ins / time, came);
    if (strcmp(kind, "receiver") != 0)
        put_count(outs / time, left);
    top_put_line(drawing, false, "%s %-8s%8s %8s %9s %7.0f %7.0f", begin, items[item].word, came,
                 left, length, refused, sum_of(component, lost, 1, key));
}

/* As wide as the other columns leave room for. */
static unsigned component_width(const struct top_drawing *drawing)
{
    const unsigned others = 62, least = 12, most = NAME_WIDTH - 2;
    unsigned columns = drawing->screen->columns;
    unsigned width = columns > others + least ? columns - others : least;
    return width < most ? width : most;
}

/* A line for each item that it counted; what is not of items is in the first. */
static void put_component(struct top_drawing *drawing, const struct top_value *component)
{
    const size_t none = sizeof items / sizeof *items - 1;
    const struct top_value *queue = top_value_get(component, "queue");
    const struct top_value *refusal = top_value_get(component, "refusals")->first;
    double refused = 0;
    bool first = true;
    unsigned width = component_width(drawing);
    char name[TOP_LINE_SIZE], begin[TOP_LINE_SIZE + 16], length[32] = "-";
    if (queue->first)
        snprintf(length, sizeof length, "%.0f/%.0f", top_number_of(queue, "size"),
                 top_number_of(queue, "capacity"));
    for (; refusal; refusal = refusal->next)
        refused += top_number_of(refusal, "count");
    snprintf(begin, sizeof begin, "%s %-9.9s",
             top_padded(top_value_get(component, "id")->text, width, name),
             top_value_get(component, "kind")->text);
    for (size_t item = 0; item <= none; item++) {
        if (item < none ? sum_of(component, counted, COUNTED, items[item].key) == 0 : !first)
            continue;
        put_item(drawing, component, item, begin, length, refused);
        snprintf(begin, sizeof begin, "%*s", (int)width + 10, "");
        snprintf(length, sizeof length, " ");
        refused = 0;
        first = false;
    }
}

/* The items that it counted. */
static unsigned items_of(const struct top_value *component)
{
    unsigned count = 0;
    for (size_t item = 0; items[item].key; item++)
        count += sum_of(component, counted, COUNTED, items[item].key) != 0;
    return count;
}

static bool is_idle(const struct top_value *component)
{
    return items_of(component) == 0 && !top_value_get(component, "refusals")->first &&
           top_number_of(top_value_get(component, "queue"), "size") == 0;
}

static unsigned lines_of(const struct top_value *component)
{
    unsigned count = items_of(component);
    return count ? count : 1;
}

static bool is_drawn(const struct top_value *component)
{
    return strcmp(top_value_get(component, "kind")->text, "extension") != 0;
}

static unsigned least_of(const struct top_value *list)
{
    size_t length = length_of(list);
    return SECTION_HEAD + (unsigned)(length < SECTION_LEAST ? length : SECTION_LEAST);
}

/* Rows for components: what is left beside the least of the sections below, or half of the rest. */
static unsigned component_rows(const struct top_drawing *drawing)
{
    unsigned below = least_of(top_value_get(drawing->now->services, "services")) +
                     least_of(top_value_get(drawing->now->cost, "routes"));
    unsigned rows = drawing->left > below ? drawing->left - below : 0;
    rows = rows > drawing->left / 2 ? rows : drawing->left / 2;
    return rows > SECTION_HEAD ? rows - SECTION_HEAD : 1;
}

/* Which components give way first where there is no room for all: the higher. */
enum { RANK_ENDS, RANK_PROCESSORS, RANK_IDLE, RANKS };

static int rank_of(const struct top_value *component)
{
    bool processor = strcmp(top_value_get(component, "kind")->text, "processor") == 0;
    return is_idle(component) ? RANK_IDLE : processor ? RANK_PROCESSORS : RANK_ENDS;
}

static void put_component_list(struct top_drawing *drawing, const struct top_value *list,
                               unsigned rows)
{
    unsigned wanted[RANKS] = {0}, all = 0;
    for (const struct top_value *each = list->first; each; each = each->next)
        wanted[rank_of(each)] += is_drawn(each) ? lines_of(each) : 0;
    for (int rank = 0; rank < RANKS; rank++)
        all += wanted[rank];
    unsigned room = all <= rows ? all : rows - 1; /* the last line is for put_more */
    for (int rank = 0; rank < RANKS; rank++) {
        wanted[rank] = wanted[rank] < room ? wanted[rank] : room;
        room -= wanted[rank];
    }
    size_t omitted = 0;
    for (const struct top_value *each = list->first; each; each = each->next) {
        unsigned *rest = &wanted[rank_of(each)], lines = lines_of(each);
        if (!is_drawn(each))
            continue;
        if (lines <= *rest) {
            put_component(drawing, each);
            *rest -= lines;
        } else {
            omitted++;
        }
    }
    if (omitted > 0)
        put_more(drawing, omitted);
}

static void put_components(struct top_drawing *drawing)
{
    const struct top_value *list = top_value_get(drawing->now->pipelines, "components");
    const char *unit = drawing->before->pipelines ? "/s" : "";
    char in[16], out[16];
    unsigned rows = component_rows(drawing);
    snprintf(in, sizeof in, "IN%s", unit);
    snprintf(out, sizeof out, "OUT%s", unit);
    top_put_line(drawing, false, " ");
    top_put_line(drawing, true, "%-*s %-9s %-7s %8s %8s %9s %7s %7s", (int)component_width(drawing),
                 "COMPONENT", "KIND", "OF", in, out, "QUEUE", "REFUSED", "LOST");
    put_component_list(drawing, list, rows);
}

/* ---- links ---- */

static int by_not_linked(const void *a, const void *b)
{
    const struct top_value *const *left = a, *const *right = b;
    double x = top_number_of(*left, "not_linked"), y = top_number_of(*right, "not_linked");
    return (x < y) - (x > y);
}

static void put_service(struct top_drawing *drawing, const struct top_value *service)
{
    const struct top_value *reason = top_value_get(service, "reasons")->first;
    char name[TOP_LINE_SIZE], whole[TOP_LINE_SIZE], why[TOP_LINE_SIZE] = "";
    for (size_t at = 0; reason && at < sizeof why - 64; reason = reason->next)
        at +=
            (size_t)snprintf(why + at, sizeof why - at, "%s%.40s %.0f", at ? ", " : "",
                             top_value_get(reason, "reason")->text, top_number_of(reason, "count"));
    top_put_line(drawing, false, "%s %9.0f %9.0f  %s",
                 top_padded(service_of(service, whole), NAME_WIDTH, name),
                 top_number_of(service, "linked"), top_number_of(service, "not_linked"), why);
}

/* Services with the most spans that are not linked first. */
static void put_links(struct top_drawing *drawing, unsigned most)
{
    const struct top_value *list = top_value_get(drawing->now->services, "services");
    size_t count = length_of(list), at = 0;
    const struct top_value **services = calloc(count + 1, sizeof(const struct top_value *));
    top_put_line(drawing, false, " ");
    top_put_line(drawing, true, "%-*s %9s %9s  %s", NAME_WIDTH, "LINKS: SERVICE", "LINKED", "NOT",
                 "WHY NOT");
    if (!services)
        return;
    for (const struct top_value *each = list->first; each; each = each->next)
        services[at++] = each;
    qsort(services, count, sizeof *services, by_not_linked);
    for (at = 0; at < count && (most > 1 || count - at == 1); at++, most--)
        put_service(drawing, services[at]);
    if (at < count)
        put_more(drawing, count - at);
    free(services);
}

/* ---- cost ---- */

/* Whether no CPU time of it is known, but wall time. */
static bool is_wall_only(const struct top_value *route)
{
    return top_number_of(route, "cpu_known") == 0 && top_number_of(route, "wall_ns") > 0;
}

static void put_route(struct top_drawing *drawing, const struct top_value *each, double sum,
                      double wall_sum)
{
    char route[TOP_LINE_SIZE], name[TOP_LINE_SIZE], service[TOP_LINE_SIZE], bar[BAR_WIDTH + 1];
    double cpu = top_number_of(each, "cpu_ns"), wall = top_number_of(each, "wall_ns");
    double share = sum > 0 ? cpu / sum : 0;
    size_t width = (size_t)(share * BAR_WIDTH + 0.5);
    snprintf(route, sizeof route, "%.200s  %.200s", service_of(each, service),
             top_value_get(each, "span_name")->text);
    top_padded(route, NAME_WIDTH + 10, name);
    if (is_wall_only(each)) {
        top_put_line(drawing, false, "%s   wall time only: %.2f s, %.1f%% of it", name,
                     wall / second, 100 * wall / wall_sum);
        return;
    }
    memset(bar, '#', BAR_WIDTH);
    bar[width < BAR_WIDTH ? width : BAR_WIDTH] = '\0';
    top_put_line(drawing, false, "%s %9.2f %5.1f%% %s", name, cpu / second, 100 * share, bar);
}

static bool is_free(const struct top_value *route)
{
    return top_number_of(route, "cpu_ns") == 0 && top_number_of(route, "wall_ns") == 0;
}

static void put_cost(struct top_drawing *drawing)
{
    const struct top_value *list = top_value_get(drawing->now->cost, "routes");
    double sum = 0, wall_sum = 0;
    for (const struct top_value *each = list->first; each; each = each->next) {
        sum += top_number_of(each, "cpu_ns");
        wall_sum += is_wall_only(each) ? top_number_of(each, "wall_ns") : 0;
    }
    top_put_line(drawing, false, " ");
    top_put_line(drawing, true, "%-*s %9s %6s", NAME_WIDTH + 10, "COST BY ROUTE", "CPU s", "SHARE");
    size_t routes = length_of(list), without = 0;
    for (const struct top_value *each = list->first; each; each = each->next, routes--) {
        if (drawing->left == 1 && routes > 1) {
            put_more(drawing, routes);
            return;
        }
        if (drawing->screen->rows == 0 && is_free(each))
            without++;
        else
            put_route(drawing, each, sum, wall_sum);
    }
    if (without > 0)
        top_put_line(drawing, false, "and %zu more without CPU time", without);
}

void top_draw(const struct top_look *now, const struct top_look *before,
              const struct top_screen *screen, struct bytes *out)
{
    const bool has_foot = screen->rows > 1;
    struct top_drawing drawing = {now, before, screen, out, screen->rows ? screen->rows : 100000,
                                  0};
    drawing.left -= has_foot;
    put_process(&drawing);
    put_problems(&drawing);
    put_pipelines(&drawing);
    put_lanes(&drawing);
    put_components(&drawing);
    unsigned rest = drawing.left / 2;
    put_links(&drawing, rest > SECTION_LEAST ? rest - 2 : 1);
    put_cost(&drawing);
    drawing.left += has_foot;
    char room[48] = "", mean[48] = "";
    if (drawing.omitted > 0)
        snprintf(room, sizeof room, "; no room for %u more lines", drawing.omitted);
    if (before->pipelines)
        snprintf(mean, sizeof mean, "; /s: mean of the last %d s", TOP_MEAN_S);
    if (has_foot)
        top_put_line(&drawing, false, "q ends it%s%s", room, mean);
}
