/*
 * The metrics page, in the Prometheus text format 0.0.4 or OpenMetrics 1.0.
 *
 * Names of metrics are the same in both formats and follow the Collector, whose counters have no
 * "_total" suffix by default. OpenMetrics requires that suffix of a counter, so without it they
 * have the type "unknown" there. Names of labels that contain dots are written with '_' instead,
 * unless the client accepts UTF-8 names.
 */
#ifndef LIB_METRICS_PAGE_H
#define LIB_METRICS_PAGE_H

#include "lib/metrics/metrics.h"

/* UTF8: TEXT with names of labels as they are, in quotes if they contain dots. */
enum page_format { PAGE_TEXT, PAGE_UTF8, PAGE_OPENMETRICS, PAGE_FORMATS };

/* The format that an Accept header (NULL: none) asks for. UTF8, which the Collector sends to
 * Prometheus 3, if the media type with the greatest weight that has the parameter escaping has
 * allow-utf-8 there, and plain text has no greater weight. Else OpenMetrics if its weight is at
 * least that of every other media type listed (RFC 9110, section 12.5.1). */
enum page_format page_format_of(const char *accept);

/* The media type, for Content-Type. */
const char *page_media_type(enum page_format format);

/* What a page has beyond the Collector's default. All zero: nothing. */
struct page_style {
    bool type_suffix;                    /* counters end in "_total" */
    bool unit_suffix;                    /* names end in their unit: "_seconds", "_bytes" */
    const struct metric_label *constant; /* labels of every series; NULL: none */
};

/* Appends the page. False: no memory for all of it. */
bool page_write(struct metrics *metrics, enum page_format format, const struct page_style *style,
                struct bytes *out);

#endif
