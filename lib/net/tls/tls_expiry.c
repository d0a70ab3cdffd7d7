#include "lib/net/tls/tls_expiry.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tls_expiry *first;

void tls_expiry_set(struct tls_expiry *expiry, int64_t ends)
{
    pthread_mutex_lock(&lock);
    expiry->ends = ends;
    if (!expiry->known) {
        expiry->next = first;
        first = expiry;
        expiry->known = 1;
    }
    pthread_mutex_unlock(&lock);
}

void tls_expiry_forget(struct tls_expiry *expiry)
{
    pthread_mutex_lock(&lock);
    struct tls_expiry **at = &first;
    while (*at && *at != expiry)
        at = &(*at)->next;
    if (*at)
        *at = expiry->next;
    expiry->known = 0;
    pthread_mutex_unlock(&lock);
}

static bool is_same(const struct tls_expiry *a, const struct tls_expiry *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->key, b->key) == 0 &&
           strcmp(a->source, b->source) == 0;
}

/* The first of the list that has this name. */
static const struct tls_expiry *namesake(const struct tls_expiry *expiry)
{
    const struct tls_expiry *at = first;
    while (at != expiry && !is_same(at, expiry))
        at = at->next;
    return at;
}

void tls_expiry_each(tls_expiry_visit_fn *visit, void *ctx)
{
    pthread_mutex_lock(&lock);
    for (const struct tls_expiry *each = first; each; each = each->next) {
        struct tls_expiry whole = *each;
        if (namesake(each) != each)
            continue;
        for (const struct tls_expiry *other = each->next; other; other = other->next)
            if (is_same(each, other) && other->ends < whole.ends)
                whole.ends = other->ends;
        visit(ctx, &whole);
    }
    pthread_mutex_unlock(&lock);
}
