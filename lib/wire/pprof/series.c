#include "lib/wire/pprof/series.h"

#include "lib/base/utf8.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The server accepts 30 labels; this only bounds the work on a malicious name. */
enum { MAX_LABELS = 256 };

static size_t series_find(const struct series_label *labels, size_t count, struct view name)
{
    size_t i = 0;
    while (i < count && !view_eq(labels[i].name, name))
        i++;
    return i;
}

/* Copies text to *at and advances it. */
static struct view series_keep(uint8_t **at, struct view text)
{
    struct view kept = {*at, text.size};
    if (text.size)
        memcpy(*at, text.data, text.size);
    *at += text.size;
    return kept;
}

/* Makes a series of labels with unique names. */
static struct series *make(const struct series_label *labels, size_t count)
{
    size_t size = sizeof(struct series) + count * sizeof *labels + 1;
    for (size_t i = 0; i < count; i++)
        size += labels[i].name.size + labels[i].value.size;
    struct series *series = malloc(size);
    if (!series)
        return NULL;
    atomic_init(&series->refs, 1);
    series->count = count;
    series->labels = (struct series_label *)(series + 1);
    uint8_t *at = (uint8_t *)(series->labels + count);
    for (size_t i = 0; i < count; i++) {
        series->labels[i].name = series_keep(&at, labels[i].name);
        series->labels[i].value = series_keep(&at, labels[i].value);
    }
    return series;
}

/* Sets a label in a list with room for it; returns the new count. */
static size_t series_set(struct series_label *labels, size_t count, struct series_label label)
{
    size_t at = series_find(labels, count, label.name);
    labels[at] = label;
    return at == count ? count + 1 : count;
}

struct series *series_new(const struct series_label *labels, size_t count)
{
    struct series_label *kept = calloc(count + 1, sizeof *kept);
    if (!kept)
        return NULL;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n = series_set(kept, n, labels[i]);
    struct series *series = make(kept, n);
    free(kept);
    return series;
}

struct series *series_ref(struct series *series)
{
    atomic_fetch_add_explicit(&series->refs, 1, memory_order_relaxed);
    return series;
}

void series_unref(struct series *series)
{
    if (!series)
        return;
    unsigned before = atomic_fetch_sub_explicit(&series->refs, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1)
        free(series);
}

struct view series_get(const struct series *series, struct view name)
{
    size_t at = series_find(series->labels, series->count, name);
    return at < series->count ? series->labels[at].value : (struct view){0};
}

struct series *series_with(const struct series *series, struct view name, struct view value)
{
    struct series_label *labels = calloc(series->count + 1, sizeof *labels);
    if (!labels)
        return NULL;
    memcpy(labels, series->labels, series->count * sizeof *labels);
    size_t count = series_set(labels, series->count, (struct series_label){name, value});
    struct series *copy = make(labels, count);
    free(labels);
    return copy;
}

static bool spelt_in(struct view text, const char *more)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!word && (c == 0 || !strchr(more, c)))
            return false;
    }
    return true;
}

/* Number of bytes before the first one that is in stop; all of text if there is none. */
static size_t span_until(struct view text, const char *stop)
{
    size_t at = 0;
    while (at < text.size && (text.data[at] == 0 || !strchr(stop, text.data[at])))
        at++;
    return at;
}

/* Takes `k=v` and the following ',' or '}' from the front of rest. *done: the end was reached.
 * Returns why the label is refused; NULL: it is not. */
static const char *take_label(struct view *rest, struct series_label *label, bool *done)
{
    size_t size = span_until(*rest, "=}");
    *done = size == rest->size || rest->data[size] == '}';
    if (*done)
        return size == rest->size ? "the label list has no closing brace" : NULL;
    label->name = view_trim((struct view){rest->data, size}, VIEW_SPACE);
    *rest = (struct view){rest->data + size + 1, rest->size - size - 1};
    if (label->name.size == 0)
        return "a label has no name";
    if (!spelt_in(label->name, "_."))
        return "a label name has characters other than letters, digits, '_' and '.'";
    size = span_until(*rest, ",}");
    if (size == rest->size)
        return "the label list has no closing brace";
    label->value = view_trim((struct view){rest->data, size}, VIEW_SPACE);
    bool last = rest->data[size] == '}';
    *rest = (struct view){rest->data + size + 1, last ? 0 : rest->size - size - 1};
    *done = last;
    return utf8_valid(label->value) ? NULL : "a label value is not valid UTF-8";
}

struct series *series_parse(struct view name, const char **reason)
{
    struct series_label labels[MAX_LABELS + 1];
    size_t size = span_until(name, "{"), count = 1;
    struct view app = view_trim((struct view){name.data, size}, VIEW_SPACE);
    *reason = app.size == 0           ? "the application name is empty"
              : spelt_in(app, "_.-/") ? NULL
                                      : "the application name has characters other than letters, "
                                        "digits, '_', '.', '-' and '/'";
    labels[0] = (struct series_label){VIEW("__name__"), app};
    struct view rest = {name.data, 0};
    bool done = size == name.size;
    if (!done)
        rest = (struct view){name.data + size + 1, name.size - size - 1};
    while (!*reason && !done) {
        struct series_label label = {0};
        *reason = take_label(&rest, &label, &done);
        if (!*reason && label.name.data)
            count = series_set(labels, count, label);
        if (!*reason && count > MAX_LABELS)
            *reason = "too many labels";
    }
    if (*reason)
        return NULL;
    struct series *series = make(labels, count);
    if (!series)
        *reason = "no memory for the labels";
    return series;
}
