#include "pipeline/client_info.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_uint readers;

struct client_info *client_info_new(const char *address, struct view headers)
{
    struct client_info *info = calloc(1, sizeof *info + headers.size + 2);
    if (!info)
        return NULL;
    atomic_init(&info->refs, 1);
    snprintf(info->address, sizeof info->address, "%s", address);
    info->size = headers.size;
    if (headers.size)
        memcpy(info->headers, headers.data, headers.size);
    return info;
}

struct client_info *client_info_ref(struct client_info *info)
{
    atomic_fetch_add_explicit(&info->refs, 1, memory_order_relaxed);
    return info;
}

void client_info_unref(struct client_info *info)
{
    if (info && atomic_fetch_sub_explicit(&info->refs, 1, memory_order_acq_rel) == 1)
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
