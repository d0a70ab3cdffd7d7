#include "pipeline/client_info.h"

#include "lib/base/budget.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_uint readers;

static size_t charge_of(const struct client_info *info)
{
    return sizeof *info + info->size + 2;
}

static struct client_info *info_of(size_t headers)
{
    struct client_info *info = calloc(1, sizeof *info + headers + 2);
    if (!info)
        return NULL;
    atomic_init(&info->refs, 1);
    info->size = headers;
    return info;
}

struct client_info *client_info_new(const char *address, struct view headers)
{
    struct client_info *info = info_of(headers.size);
    if (!info)
        return NULL;
    snprintf(info->address, sizeof info->address, "%s", address);
    if (headers.size)
        memcpy(info->headers, headers.data, headers.size);
    return info;
}

void client_info_charge(struct client_info *info, struct budget *budget)
{
    if (info->budget || !budget)
        return;
    info->budget = budget;
    budget_force(budget, charge_of(info));
}

/* Its name in lower case, then its value. */
static void put_header(uint8_t *out, const char *header, size_t size)
{
    memcpy(out, header, size);
    for (; *out; out++)
        *out = (uint8_t)tolower(*out);
}

/* Appends the headers of a name to out, which has room for all; NULL: they are counted only. */
static size_t put_named(const struct client_info *info, const char *name, uint8_t *out)
{
    const char *at = (const char *)info->headers, *end = at + info->size; /* NULs follow */
    size_t size = 0;
    while (at < end) {
        const char *value = at + strlen(at) + 1, *next = value + strlen(value) + 1;
        if (strcasecmp(at, name) == 0) {
            if (out)
                put_header(out + size, at, (size_t)(next - at));
            size += (size_t)(next - at);
        }
        at = next;
    }
    return size;
}

struct client_info *client_info_only(const struct client_info *info, char *const *names,
                                     size_t count)
{
    size_t size = 0;
    for (size_t i = 0; info && i < count; i++)
        size += put_named(info, names[i], NULL);
    struct client_info *only = info_of(size);
    size_t at = 0;
    for (size_t i = 0; only && info && i < count; i++)
        at += put_named(info, names[i], only->headers + at);
    if (only && info)
        client_info_charge(only, info->budget);
    return only;
}

bool client_info_same_headers(const struct client_info *a, const struct client_info *b)
{
    return a->size == b->size && memcmp(a->headers, b->headers, a->size) == 0;
}

struct client_info *client_info_ref(struct client_info *info)
{
    atomic_fetch_add_explicit(&info->refs, 1, memory_order_relaxed);
    return info;
}

void client_info_unref(struct client_info *info)
{
    if (!info || atomic_fetch_sub_explicit(&info->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (info->budget)
        budget_give(info->budget, charge_of(info));
    free(info);
}

void client_info_want(bool wanted)
{
    if (wanted)
        atomic_fetch_add_explicit(&readers, 1, memory_order_relaxed);
    else
        atomic_fetch_sub_explicit(&readers, 1, memory_order_relaxed);
}

bool client_info_wanted(void)
{
    return atomic_load_explicit(&readers, memory_order_relaxed) != 0;
}
