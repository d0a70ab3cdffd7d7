#include "lib/metrics/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct page {
    struct metrics *metrics;
    struct bytes *out;
    enum page_format format;
    const struct page_style *style;
    bool failed;
};

/* ---- choosing the format ---- */

static const char *const media_types[PAGE_FORMATS] = {
    [PAGE_TEXT] = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
    [PAGE_UTF8] = "text/plain; version=0.0.4; charset=utf-8; escaping=allow-utf-8",
    [PAGE_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

const char *page_media_type(enum page_format format)
{
    return media_types[format];
}

/* The value of a parameter of a media range that ends at end; NULL: it has none. */
static const char *parameter_of(const char *range, const char *end, const char *wanted)
{
    size_t size = strlen(wanted);
    for (const char *at = range; at < end; at++)
        if (*at == ';') {
            const char *name = at + 1 + strspn(at + 1, " \t");
            if (strncasecmp(name, wanted, size) == 0 && name[size] == '=')
                return name + size + 1;
        }
    return NULL;
}

static bool starts(const char *text, const char *word)
{
    return text && strncasecmp(text, word, strlen(word)) == 0;
}

/* The greatest weight of each kind of media range; 0: there is none. */
struct weights {
    double open, other, plain, escaping;
    bool utf8; /* the range with the weight `escaping` accepts names in UTF-8 */
};

static void weigh(struct weights *weights, const char *range, const char *end)
{
    const char *q = parameter_of(range, end, "q");
    const char *escaping = parameter_of(range, end, "escaping");
    const char *version = parameter_of(range, end, "version");
    double weight = q ? strtod(q, NULL) : 1;
    bool plain = starts(range, "text/plain") && (!version || starts(version, "0.0.4"));
    double *of = starts(range, "application/openmetrics-text") ? &weights->open : &weights->other;
    if (end > range && !starts(range, "*/*") && weight > *of)
        *of = weight;
    if (plain && weight > weights->plain)
        weights->plain = weight;
    if (escaping && weight > weights->escaping) {
        weights->escaping = weight;
        weights->utf8 = starts(escaping, "allow-utf-8");
    }
}

enum page_format page_format_of(const char *accept)
{
    struct weights weights = {0};
    while (accept && *accept) {
        accept += strspn(accept, " \t,");
        const char *end = accept + strcspn(accept, ",");
        weigh(&weights, accept, end);
        accept = end;
    }
    if (weights.utf8 && weights.escaping >= weights.plain)
        return PAGE_UTF8;
    return weights.open > 0 && weights.open >= weights.other ? PAGE_OPENMETRICS : PAGE_TEXT;
}

/* ---- pieces ---- */

static void page_put(struct page *page, const void *data, size_t size)
{
    if (bytes_append(page->out, data, size) != BYTES_OK)
        page->failed = true;
}

static void page_put_text(struct page *page, const char *text)
{
    page_put(page, text, strlen(text));
}

/* Nearly all numbers are counts, and printf is slow. */
static void page_put_number(struct page *page, double value)
{
    char text[32];
    if (isinf(value)) {
        page_put_text(page, value > 0 ? "+Inf" : "-Inf");
    } else if (value >= 0 && value < 1e15 && value == floor(value)) {
        char *at = text + sizeof text;
        uint64_t left = (uint64_t)value;
        do
            *--at = (char)('0' + left % 10);
        while (left /= 10);
        page_put(page, at, (size_t)(text + sizeof text - at));
    } else {
        snprintf(text, sizeof text, "%.15g", value);
        if (strtod(text, NULL) != value)
            snprintf(text, sizeof text, "%.17g", value);
        page_put_text(page, text);
    }
}

/* Writes text with the escapes that both formats require inside quotes. */
static void put_quoted(struct page *page, struct view text)
{
    size_t from = 0;
    page_put(page, "\"", 1);
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c != '"' && c != '\\' && c != '\n')
            continue;
        const char escaped[] = {'\\', c == '\n' ? 'n' : (char)c};
        page_put(page, text.data + from, i - from);
        page_put(page, escaped, sizeof escaped);
        from = i + 1;
    }
    page_put(page, text.data + from, text.size - from);
    page_put(page, "\"", 1);
}

/* Whether the character may stand in a name without quotes. */
static bool is_plain(struct view name, size_t at)
{
    uint8_t c = name.data[at], letter = c | 0x20;
    return (letter >= 'a' && letter <= 'z') || c == '_' || c == ':' ||
           (c >= '0' && c <= '9' && at > 0);
}

/* As Prometheus' library does: in quotes, or with '_' for each character that would need them. */
static void put_label_name(struct page *page, struct view name)
{
    size_t from = 0;
    for (size_t i = 0; i < name.size; i++) {
        if (is_plain(name, i))
            continue;
        if (page->format == PAGE_UTF8) {
            put_quoted(page, name);
            return;
        }
        page_put(page, name.data + from, i - from);
        page_put(page, "_", (name.data[i] & 0xc0) != 0x80);
        from = i + 1;
    }
    page_put(page, name.data + from, name.size - from);
}

static void page_put_label(struct page *page, bool *open, struct view name, struct view value)
{
    page_put(page, *open ? "," : "{", 1);
    put_label_name(page, name);
    page_put(page, "=", 1);
    put_quoted(page, value);
    *open = true;
}

/* ---- names ---- */

/* The suffix of a unit of UCUM that is none of "{things}" (OpenTelemetry's specification,
 * "Prometheus and OpenMetrics Compatibility"); "": none. */
static const char *unit_suffix(const struct metric *row)
{
    static const char *const units[][2] = {
        {"s", "_seconds"}, {"By", "_bytes"}, {"d", "_days"}, {"ms", "_milliseconds"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(row->unit, units[i][0]) == 0)
            return units[i][1];
    return "";
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n >= m && strcmp(name + n - m, suffix) == 0;
}

/* Without "_total". */
static void page_put_family(struct page *page, const struct metric *row)
{
    const char *unit = page->style->unit_suffix ? unit_suffix(row) : "";
    page_put_text(page, row->name);
    page_put_text(page, ends_with(row->name, unit) ? "" : unit);
}

static const char *total_of(const struct page *page, const struct metric *row)
{
    return page->style->type_suffix && row->kind == METRIC_COUNTER ? "_total" : "";
}

static bool has_label(const struct page *page, const struct metrics_point *point, const char *name)
{
    struct view label, text;
    size_t at = 0;
    while (metrics_label(page->metrics, point, &at, &label, &text))
        if (view_eq(label, view_of(name)))
            return true;
    return false;
}

/* le: the last label's value; NULL: none. */
static void put_sample(struct page *page, const struct metrics_point *point, const char *suffix,
                       const char *le, double value)
{
    struct view label, text;
    size_t at = 0;
    bool open = false;
    page_put_family(page, point->row);
    page_put_text(page, suffix);
    for (const struct metric_label *constant = page->style->constant; constant && constant->name;
         constant++)
        if (!has_label(page, point, constant->name))
            page_put_label(page, &open, view_of(constant->name), constant->value);
    while (metrics_label(page->metrics, point, &at, &label, &text))
        page_put_label(page, &open, label, text);
    if (le)
        page_put_label(page, &open, VIEW("le"), view_of(le));
    page_put(page, "} ", open ? 2 : 0);
    page_put(page, " ", !open);
    page_put_number(page, value);
    page_put(page, "\n", 1);
}

/* ---- families ---- */

/* Formats a limit like the Collector, since the text is part of the series' identity: the shortest
 * form, with an exponent from a million on. OpenMetrics requires a float here. */
static const char *limit_text(const struct page *page, double limit, char out[32])
{
    snprintf(out, 32, "%.10g", limit);
    for (int digits = 0; limit >= 1e6 && digits < 17; digits++) {
        snprintf(out, 32, "%.*e", digits, limit);
        if (strtod(out, NULL) == limit)
            break;
    }
    size_t size = strlen(out);
    if (page->format == PAGE_OPENMETRICS && !strpbrk(out, ".e"))
        snprintf(out + size, 32 - size, ".0");
    return out;
}

static void put_histogram(struct page *page, const struct metrics_point *point)
{
    const struct histogram_bounds *bounds = point->row->bounds;
    const uint64_t *counts = metrics_counts(page->metrics, point);
    uint64_t sum = 0;
    char text[32];
    for (unsigned i = 0; i < bounds->count; i++) {
        sum += counts[i];
        put_sample(page, point, "_bucket",
                   limit_text(page, (double)bounds->limits[i] * bounds->scale, text), (double)sum);
    }
    sum += counts[bounds->count];
    put_sample(page, point, "_bucket", "+Inf", (double)sum);
    put_sample(page, point, "_sum", NULL, point->value);
    put_sample(page, point, "_count", NULL, (double)sum);
}

static const char *type_word(const struct page *page, enum metric_kind kind)
{
    static const char *const words[] = {
        [METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_HISTOGRAM] = "histogram"};
    bool unknown = page->format == PAGE_OPENMETRICS && !page->style->type_suffix;
    return kind == METRIC_COUNTER && unknown ? "unknown" : words[kind];
}

/* OpenMetrics names the family, which has no "_total"; the text format its samples. */
static void put_head(struct page *page, const struct metric *row)
{
    const char *total = page->format == PAGE_OPENMETRICS ? "" : total_of(page, row);
    page_put_text(page, "# HELP ");
    page_put_family(page, row);
    page_put_text(page, total);
    page_put(page, " ", 1);
    page_put_text(page, row->help);
    page_put_text(page, "\n# TYPE ");
    page_put_family(page, row);
    page_put_text(page, total);
    page_put(page, " ", 1);
    page_put_text(page, type_word(page, row->kind));
    page_put(page, "\n", 1);
}

bool page_write(struct metrics *metrics, enum page_format format, const struct page_style *style,
                struct bytes *out)
{
    struct page page = {.metrics = metrics, .out = out, .format = format, .style = style};
    size_t count;
    const struct metrics_point *points = metrics_sorted(metrics, &count);
    for (size_t i = 0; i < count; i++) {
        const struct metric *row = points[i].row;
        if (i == 0 || (row != points[i - 1].row && strcmp(row->name, points[i - 1].row->name) != 0))
            put_head(&page, row);
        if (row->kind == METRIC_HISTOGRAM)
            put_histogram(&page, &points[i]);
        else
            put_sample(&page, &points[i], total_of(&page, row), NULL, points[i].value);
    }
    if (format == PAGE_OPENMETRICS)
        page_put_text(&page, "# EOF\n");
    return !page.failed && !metrics->failed;
}
