#include "extensions/status/waiting.h"

#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/proto/proto_scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the newest; the hold is locked for a part of them at a time. */
enum { VISITED_MAX = 50000, SPAN_TRACE_ID = 1 };

struct looking {
    waiting_fits_fn *fits;
    const void *ctx;
    bool by_trace;
    struct waiting *out;
};

static void note_low(struct waiting *waiting, uint64_t low)
{
    if (waiting->low_count == waiting->low_places) {
        size_t places = waiting->low_places ? waiting->low_places * 2 : 1024;
        uint64_t *lows = realloc(waiting->lows, places * sizeof *lows);
        if (!lows)
            return;
        waiting->lows = lows;
        waiting->low_places = places;
    }
    waiting->lows[waiting->low_count++] = low;
}

static void visited(void *ctx, const struct watch_held *held)
{
    struct looking *looking = ctx;
    struct waiting *out = looking->out;
    if (looking->by_trace) {
        struct view trace = proto_find_bytes(held->span, SPAN_TRACE_ID);
        if (trace.size == 16)
            note_low(out, span_id_load(trace.data + 8));
    }
    if (!looking->fits(looking->ctx, held))
        return;
    out->spans++;
    out->due = held->due > out->due ? held->due : out->due;
}

static int by_low(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void waiting_look(struct status *self, waiting_fits_fn *fits, const void *ctx, bool by_trace,
                  struct waiting *out)
{
    struct looking looking = {fits, ctx, by_trace, out};
    *out = (struct waiting){0};
    out->all = watch_visit(self->watch, VISITED_MAX, visited, &looking);
    if (out->lows)
        qsort(out->lows, out->low_count, sizeof *out->lows, by_low);
}

void waiting_release(struct waiting *waiting)
{
    free(waiting->lows);
    *waiting = (struct waiting){0};
}

static bool is_of_trace(const void *ctx, const struct watch_held *held)
{
    struct view trace = proto_find_bytes(held->span, SPAN_TRACE_ID);
    return trace.size == 16 && memcmp(trace.data, ctx, 16) == 0;
}

void waiting_of_trace(struct status *self, const uint8_t id[16], struct waiting *out)
{
    waiting_look(self, is_of_trace, id, false, out);
}

void waiting_of_span(struct status *self, uint64_t id, const char *service, struct waiting *out)
{
    struct watch_waiting found = {.due = 0};
    *out = (struct waiting){.all = true};
    if (watch_waits(self->watch, id, &found) && (!*service || strcmp(found.service, service) == 0))
        *out = (struct waiting){.spans = 1, .due = found.due, .all = true};
}

/* The first place whose trace is not before low. */
static size_t place_of(const struct waiting *waiting, uint64_t low)
{
    size_t from = 0, to = waiting->low_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (waiting->lows[middle] < low)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

size_t waiting_in(const struct waiting *waiting, uint64_t low)
{
    return low == UINT64_MAX ? waiting->low_count - place_of(waiting, low)
                             : place_of(waiting, low + 1) - place_of(waiting, low);
}

void waiting_put(const struct waiting *waiting, struct json *json)
{
    json_open(json, "waiting", '{');
    json_number(json, "spans", waiting->spans);
    json_time_or_null(json, "until_unix_nano", waiting->due);
    json_bool(json, "all", waiting->all);
    json_close(json, '}');
}

static void say(const struct waiting *waiting, uint64_t now, char *out)
{
    bool one = waiting->spans == 1;
    int size = snprintf(out, ANSWER_ERROR, "%" PRIu64 " span%s for %s samples", waiting->spans,
                        one ? " waits" : "s wait", one ? "its" : "their");
    if (waiting->due > now)
        snprintf(out + size, ANSWER_ERROR - (size_t)size,
                 ", for up to %" PRIu64 " s more as far as is known",
                 (waiting->due - now + NS_PER_S - 1) / NS_PER_S);
}

void waiting_answer(struct status *self, struct http_request *request,
                    const struct waiting *waiting, const char *unknown)
{
    char text[ANSWER_ERROR];
    if (waiting->spans)
        say(waiting, clock_wall(self->env->clock), text);
    else
        snprintf(text, sizeof text, "%s%s%s", unknown,
                 self->reloaded ? "; or it passed before a reload changed this extension" : "",
                 waiting->all ? "" : "; or it waits among spans that were not looked at");
    struct bytes out;
    bytes_init(&out, 4096, NULL);
    struct json json = json_begin(&out);
    json_open(&json, NULL, '{');
    json_text(&json, "error", view_of(text));
    waiting_put(waiting, &json);
    json_close(&json, '}');
    answer_headers(request, true);
    http_respond(request, 404, "application/json", bytes_view(&out), false);
    bytes_release(&out);
}
