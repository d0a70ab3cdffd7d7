#include "cli/top_draw.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_SIZE = 1024, NAME_WIDTH = 26, BAR_WIDTH = 20, SECTION_LEAST = 3 };

struct drawing {
    const struct top_look *now, *before;
    const struct top_screen *screen;
    struct bytes *out;
    unsigned left; /* rows */
};

static const double mib = 1 << 20, second = 1e9;

/* Bytes of text that fit so many columns; a character of UTF-8 counts as one. */
static size_t fitting(const char *text, unsigned columns)
{
    size_t size = 0;
    while (text[size]) {
        if (((uint8_t)text[size] & 0xc0) != 0x80 && columns-- == 0)
            break;
        size++;
    }
    return size;
}

static void put_line(struct drawing *drawing, bool heading, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put_line(struct drawing *drawing, bool heading, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list arguments;
    if (drawing->left == 0)
        return;
    drawing->left--;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    bool bold = heading && drawing->screen->styled;
    bytes_printf(drawing->out, "%s%.*s%s\n", bold ? "\033[1m" : "",
                 (int)fitting(line, drawing->screen->columns), line, bold ? "\033[0m" : "");
}

/* A name in a column of its own width. */
static const char *padded(const char *text, unsigned width, char out[LINE_SIZE])
{
    size_t size = fitting(text, width);
    unsigned columns = 0;
    for (size_t i = 0; i < size; i++)
        columns += ((uint8_t)text[i] & 0xc0) != 0x80;
    snprintf(out, LINE_SIZE, "%.*s%*s", (int)size, text, (int)(width - columns), "");
    return out;
}

static double number_of(const struct top_value *object, const char *key)
{
    return top_value_get(object, key)->number;
}

/* ---- the process ---- */

static void put_process(struct drawing *drawing)
{
    const struct top_value *now = drawing->now->pipelines;
    const struct top_value *budget = top_value_get(now, "budget"), *hold;
    hold = top_value_get(now, "hold");
    put_line(drawing, true, "spanlink %s  up %.0f s  cpu %.2f s  rss %.1f MiB",
             top_value_get(now, "version")->text, number_of(now, "uptime_ns") / second,
             number_of(now, "cpu_ns") / second, number_of(now, "rss_bytes") / mib);
    put_line(drawing, false,
             "budget %.1f of %.1f MiB  hold %.0f spans, %.1f of %.1f MiB, oldest %.1f s",
             number_of(budget, "used_bytes") / mib, number_of(budget, "limit_bytes") / mib,
             number_of(hold, "spans"), number_of(hold, "bytes") / mib,
             number_of(hold, "limit_bytes") / mib, number_of(hold, "oldest_ns") / second);
    const struct top_value *journal = top_value_get(now, "journal");
    if (journal->first)
        put_line(drawing, false, "journal %.1f MiB, %.0f requests, %.0f to be replayed",
                 number_of(journal, "bytes") / mib, number_of(journal, "entries"),
                 number_of(journal, "replay_left"));
}

/* ---- pipelines ---- */

static void join(const struct top_value *list, char out[256])
{
    size_t at = 0;
    *out = '\0';
    for (const struct top_value *each = list->first; each && at < 255; each = each->next)
        at += (size_t)snprintf(out + at, 256 - at, "%s%s", at ? ", " : "", each->text);
}

static void put_pipelines(struct drawing *drawing)
{
    const struct top_value *list = top_value_get(drawing->now->pipelines, "pipelines");
    char parts[3][256], name[LINE_SIZE];
    for (const struct top_value *each = list->first; each; each = each->next) {
        join(top_value_get(each, "receivers"), parts[0]);
        join(top_value_get(each, "processors"), parts[1]);
        join(top_value_get(each, "exporters"), parts[2]);
        put_line(drawing, false, "%s %s > %s%s%s",
                 padded(top_value_get(each, "name")->text, 10, name), parts[0], parts[1],
                 *parts[1] ? " > " : "", parts[2]);
    }
}

/* The sum over all signals of the counters of these names. */
static double sum_of(const struct top_value *component, const char *const names[], size_t count)
{
    const struct top_value *counters = top_value_get(component, "counters");
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const struct top_value *counter = top_value_get(counters, names[i]);
        for (const struct top_value *each = counter->first; each; each = each->next)
            sum += each->number;
    }
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

static void put_component(struct drawing *drawing, const struct top_value *component)
{
    static const char *const in[] = {"accepted", "incoming"}, *const out[] = {"outgoing", "sent"};
    static const char *const lost[] = {"refused", "send_failed", "enqueue_failed", "dropped"};
    const struct top_value *look = drawing->before->pipelines;
    const struct top_value *before = look ? same_component(look, component) : NULL;
    const struct top_value *queue = top_value_get(component, "queue");
    double time =
        look ? (number_of(drawing->now->pipelines, "uptime_ns") - number_of(look, "uptime_ns")) /
                   second
             : 1;
    char name[LINE_SIZE], text[64] = "", length[32] = "-";
    snprintf(text, sizeof text, "%s", top_value_get(component, "kind")->text);
    if (queue->first)
        snprintf(length, sizeof length, "%.0f/%.0f", number_of(queue, "size"),
                 number_of(queue, "capacity"));
    if (time <= 0)
        time = 1;
    put_line(drawing, false, "%s %-10s %11.0f %11.0f %10s %9.0f",
             padded(top_value_get(component, "id")->text, NAME_WIDTH - 2, name), text,
             (sum_of(component, in, 2) - (before ? sum_of(before, in, 2) : 0)) / time,
             (sum_of(component, out, 2) - (before ? sum_of(before, out, 2) : 0)) / time, length,
             sum_of(component, lost, 4));
}

static void put_components(struct drawing *drawing)
{
    const struct top_value *list = top_value_get(drawing->now->pipelines, "components");
    const char *unit = drawing->before->pipelines ? "/s" : "";
    char in[16], out[16];
    snprintf(in, sizeof in, "IN%s", unit);
    snprintf(out, sizeof out, "OUT%s", unit);
    put_line(drawing, false, " ");
    put_line(drawing, true, "%-*s %-10s %11s %11s %10s %9s", NAME_WIDTH - 2, "COMPONENT", "KIND",
             in, out, "QUEUE", "LOST");
    for (const struct top_value *each = list->first; each; each = each->next)
        if (strcmp(top_value_get(each, "kind")->text, "extension") != 0)
            put_component(drawing, each);
}

/* ---- links ---- */

static void put_links(struct drawing *drawing, unsigned most)
{
    const struct top_value *list = top_value_get(drawing->now->services, "services");
    char name[LINE_SIZE], why[LINE_SIZE];
    put_line(drawing, false, " ");
    put_line(drawing, true, "%-*s %9s %9s  %s", NAME_WIDTH, "LINKS: SERVICE", "LINKED", "NOT",
             "WHY NOT");
    for (const struct top_value *each = list->first; each && most > 0; each = each->next, most--) {
        const struct top_value *reason = top_value_get(each, "reasons")->first;
        size_t at = 0;
        *why = '\0';
        for (; reason && at < sizeof why - 64; reason = reason->next)
            at +=
                (size_t)snprintf(why + at, sizeof why - at, "%s%.40s %.0f", at ? ", " : "",
                                 top_value_get(reason, "reason")->text, number_of(reason, "count"));
        put_line(drawing, false, "%s %9.0f %9.0f  %s",
                 padded(top_value_get(each, "service")->text, NAME_WIDTH, name),
                 number_of(each, "linked"), number_of(each, "not_linked"), why);
    }
}

/* ---- cost ---- */

static void put_cost(struct drawing *drawing)
{
    const struct top_value *list = top_value_get(drawing->now->cost, "routes");
    char route[LINE_SIZE], name[LINE_SIZE], bar[BAR_WIDTH + 1];
    double sum = 0;
    for (const struct top_value *each = list->first; each; each = each->next)
        sum += number_of(each, "cpu_ns");
    put_line(drawing, false, " ");
    put_line(drawing, true, "%-*s %9s %6s", NAME_WIDTH + 10, "COST BY ROUTE", "CPU s", "SHARE");
    for (const struct top_value *each = list->first; each; each = each->next) {
        double share = sum > 0 ? number_of(each, "cpu_ns") / sum : 0;
        size_t width = (size_t)(share * BAR_WIDTH + 0.5);
        memset(bar, '#', BAR_WIDTH);
        bar[width < BAR_WIDTH ? width : BAR_WIDTH] = '\0';
        snprintf(route, sizeof route, "%.200s  %.200s", top_value_get(each, "service")->text,
                 top_value_get(each, "span_name")->text);
        put_line(drawing, false, "%s %9.2f %5.1f%% %s", padded(route, NAME_WIDTH + 10, name),
                 number_of(each, "cpu_ns") / second, 100 * share, bar);
    }
}

void top_draw(const struct top_look *now, const struct top_look *before,
              const struct top_screen *screen, struct bytes *out)
{
    struct drawing drawing = {now, before, screen, out, screen->rows ? screen->rows : 100000};
    put_process(&drawing);
    put_pipelines(&drawing);
    put_components(&drawing);
    unsigned rest = drawing.left / 2;
    put_links(&drawing, rest > SECTION_LEAST ? rest - 2 : 1);
    put_cost(&drawing);
}
