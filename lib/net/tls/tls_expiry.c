#include "lib/net/tls/tls_expiry.h"

#include <pthread.h>
#include <stddef.h>

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

void tls_expiry_each(tls_expiry_visit_fn *visit, void *ctx)
{
    pthread_mutex_lock(&lock);
    for (const struct tls_expiry *each = first; each; each = each->next)
        visit(ctx, each);
    pthread_mutex_unlock(&lock);
}
