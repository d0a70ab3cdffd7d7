/* The windows of profiles around a span. */
#include "extensions/status/span_windows.h"

#include "extensions/status/known_find.h"

#include <stdlib.h>

#define AROUND (60 * NS_PER_S) /* windows so far from the span are shown */

enum { WINDOWS_SHOWN = 32 };

static uint64_t gap_of(const struct known_window *window, uint64_t from, uint64_t to)
{
    int64_t gap = known_window_gap(window, from, to);
    return (uint64_t)(gap < 0 ? -gap : gap);
}

/* How far a window is from the span, or from the decision about it if that is nearer, ns. */
static uint64_t distance_of(const struct span_times *times, const struct known_window *window)
{
    if (!times->end)
        return 0;
    uint64_t gap = gap_of(window, times->start ? times->start : times->end, times->end);
    uint64_t decided = times->decided ? gap_of(window, times->decided, times->decided) : gap;
    return decided ? gap : 0;
}

/* The windows nearest to a span, by distance. */
struct near_windows {
    struct near_window {
        uint64_t distance;
        uint32_t serial;
    } list[WINDOWS_SHOWN];
    size_t count;
};

static void near_add(struct near_windows *near, uint64_t distance, uint32_t serial)
{
    size_t at = near->count < WINDOWS_SHOWN ? near->count++ : WINDOWS_SHOWN;
    if (at == WINDOWS_SHOWN && near->list[--at].distance <= distance)
        return;
    for (; at > 0 && near->list[at - 1].distance > distance; at--)
        near->list[at] = near->list[at - 1];
    near->list[at] = (struct near_window){distance, serial};
}

static int by_serial(const void *a, const void *b)
{
    const struct near_window *x = a, *y = b;
    return (x->serial > y->serial) - (x->serial < y->serial);
}

static void put_window(struct json *json, enum known_held held, const struct known_window *window)
{
    json_open(json, NULL, '{');
    json_time_or_null(json, "from_unix_nano", window->start);
    json_time_or_null(json, "to_unix_nano", window->end);
    json_time(json, "arrived_unix_nano", window->arrived);
    if (held == KNOWN_HELD_UNKNOWN)
        json_null(json, "holds_samples");
    else
        json_bool(json, "holds_samples", held == KNOWN_HELD);
    json_word(json, "type", window->kind);
    json_close(json, '}');
}

/* Under the watch's lock: the service under whose name samples of the span came, which may be
 * another than its own. */
static uint16_t sampled_by(const struct known *known, const struct known_span *span,
                           uint16_t otherwise)
{
    const struct known_window *first = span ? known_window(known, span->first_window) : NULL;
    return first ? first->service : otherwise;
}

void span_windows_put(const struct known *known, const struct known_span *span, uint16_t own,
                      const struct span_times *times, struct json *json)
{
    struct near_windows near = {.count = 0};
    uint16_t number = sampled_by(known, span, own);
    uint32_t from = known->window_serial > KNOWN_WINDOWS ? known->window_serial - KNOWN_WINDOWS : 0;
    json_open(json, "windows", '[');
    for (uint32_t i = from + 1; number && i <= known->window_serial; i++) {
        const struct known_window *window = &known->windows[i % KNOWN_WINDOWS];
        uint64_t distance = distance_of(times, window);
        if (window->service == number && distance < AROUND)
            near_add(&near, distance, i);
    }
    qsort(near.list, near.count, sizeof *near.list, by_serial);
    for (size_t i = 0; i < near.count; i++) {
        const struct known_window *window = &known->windows[near.list[i].serial % KNOWN_WINDOWS];
        put_window(json, span ? known_holds(known, span, window) : KNOWN_HELD_UNKNOWN, window);
    }
    json_close(json, ']');
    if (near.count && known->services[number]->name != known->services[own]->name)
        json_text(json, "windows_of", names_get(&known->names, known->services[number]->name));
    else
        json_null(json, "windows_of");
}
