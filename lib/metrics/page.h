/*
 * The metrics page: Prometheus' text format 0.0.4 and OpenMetrics 1.0.
 *
 * Names are the same in both, and so are the Collector's: its counters have no "_total".
 * OpenMetrics wants that of a counter, so there they have the type "unknown".
 */
#ifndef LIB_METRICS_PAGE_H
#define LIB_METRICS_PAGE_H

#include "lib/metrics/metrics.h"

enum page_format { PAGE_TEXT, PAGE_OPENMETRICS, PAGE_FORMATS };

/* What an Accept header (NULL: none) asks for: OpenMetrics where its weight is no less than that of
 * every other media type named (RFC 9110, section 12.5.1). */
enum page_format page_format_of(const char *accept);

/* The media type, for Content-Type. */
const char *page_media_type(enum page_format format);

/* Appends the page. False: no memory for all of it. */
bool page_write(struct metrics *metrics, enum page_format format, struct bytes *out);

#endif
