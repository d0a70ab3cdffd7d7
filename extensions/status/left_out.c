#include "extensions/status/left_out.h"

#include "lib/base/clock.h"

#define APART (10 * NS_PER_S) /* longest gap within an entry */

struct view series_service(const struct series *series, bool by_ingest)
{
    static const char *const labels[] = {"service_name", "service.name", "__name__"};
    for (size_t i = 0; series && i < (by_ingest ? 3 : 2); i++) {
        struct view value = series_get(series, view_of(labels[i]));
        if (value.size > 0)
            return value;
    }
    return VIEW("unknown_service");
}

uint64_t left_out_service(struct view name)
{
    uint64_t hash = view_hash(name);
    return hash ? hash : 1;
}

uint64_t left_out_service_of(const struct series *series, bool by_ingest)
{
    return series ? left_out_service(series_service(series, by_ingest)) : 0;
}

static size_t left_outs_size(const struct left_outs *all)
{
    return all->count < LEFT_OUT_MAX ? all->count : LEFT_OUT_MAX;
}

void left_outs_add(struct left_outs *all, uint64_t service, uint64_t arrived, enum left_out_why why)
{
    for (size_t i = 0; i < left_outs_size(all); i++) {
        struct left_out *each = &all->ring[(all->count - 1 - i) % LEFT_OUT_MAX];
        if (each->service == service && each->why == why && arrived < each->last + APART) {
            each->last = arrived > each->last ? arrived : each->last;
            return;
        }
    }
    all->ring[all->count++ % LEFT_OUT_MAX] =
        (struct left_out){.service = service, .first = arrived, .last = arrived, .why = why};
}

const struct left_out *left_outs_find(const struct left_outs *all, struct view service,
                                      uint64_t from, uint64_t to)
{
    uint64_t hash = left_out_service(service);
    for (size_t i = 0; i < left_outs_size(all); i++) {
        const struct left_out *each = &all->ring[(all->count - 1 - i) % LEFT_OUT_MAX];
        if ((!each->service || each->service == hash) && each->first <= to && each->last >= from)
            return each;
    }
    return NULL;
}

const char *left_out_text(const struct left_out *left)
{
    return left->why == LEFT_OUT_LARGE
               ? "A profile was too large to keep: a profile may have the size of keep_mib, and a "
                 "quarter of that when compressed. It was forwarded."
               : "Profiles were not kept: within seconds, more data arrived than the extension's "
                 "share of CPU time allows. They were forwarded.";
}

const char *left_out_fix(const struct left_out *left)
{
    return left->why == LEFT_OUT_LARGE
               ? "Raise keep_mib of the status extension."
               : "Look at them where the exporters sent them, a backend or a "
                 "file; after a few idle seconds, profiles are kept again.";
}
