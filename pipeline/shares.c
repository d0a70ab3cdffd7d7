#include "pipeline/shares.h"

#include <stdlib.h>

struct share {
    uint64_t exporter;
    size_t refs;
    bool left, told;
};

struct shares {
    size_t refs, common; /* all; those that count for all */
    bool left;           /* for all */
    size_t count, room;
    struct share of[];
};

struct shares *shares_new(size_t exporters)
{
    struct shares *shares = calloc(1, sizeof *shares + exporters * sizeof shares->of[0]);
    if (shares) {
        shares->refs = shares->common = 1;
        shares->room = exporters;
    }
    return shares;
}

/* NULL: it counts for all. */
static struct share *find(struct shares *shares, uint64_t exporter)
{
    for (size_t i = 0; i < shares->count; i++)
        if (shares->of[i].exporter == exporter)
            return &shares->of[i];
    return NULL;
}

void shares_add(struct shares *shares, uint64_t exporter)
{
    struct share *share = exporter ? find(shares, exporter) : NULL;
    shares->refs++;
    if (exporter && !share) {
        if (shares->count < shares->room) {
            share = &shares->of[shares->count++];
            share->exporter = exporter;
        } else {
            shares->left = true;
        }
    }
    *(share ? &share->refs : &shares->common) += 1;
}

void shares_drop(struct shares *shares, uint64_t exporter)
{
    struct share *share = exporter ? find(shares, exporter) : NULL;
    shares->refs--;
    *(share ? &share->refs : &shares->common) -= 1;
}

void shares_leave(struct shares *shares, uint64_t exporter)
{
    struct share *share = exporter ? find(shares, exporter) : NULL;
    *(share ? &share->left : &shares->left) = true;
}

/* Whether an exporter's data are not over, or are left to another process. */
static bool some_lack_data(const struct shares *shares)
{
    bool some = shares->refs > 0;
    for (size_t i = 0; i < shares->count; i++)
        some |= shares->of[i].left;
    return some;
}

uint64_t shares_next_done(struct shares *shares)
{
    if (shares->left || shares->common > 0 || !some_lack_data(shares))
        return 0;
    for (size_t i = 0; i < shares->count; i++) {
        struct share *share = &shares->of[i];
        if (share->refs > 0 || share->left || share->told)
            continue;
        share->told = true;
        return share->exporter;
    }
    return 0;
}
