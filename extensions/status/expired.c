#include "extensions/status/expired.h"

#include "lib/base/clock.h"
#include "lib/net/tls/tls_expiry.h"

#include <time.h>

struct expired {
    int64_t now; /* seconds since 1970 */
    struct bytes *out;
};

static void tell_expired(void *ctx, const struct tls_expiry *expiry)
{
    const struct expired *expired = ctx;
    time_t ends = (time_t)expiry->ends;
    struct tm day;
    char text[32];
    if (expiry->ends > expired->now || strncmp(expiry->source, "cert_", 5) != 0 ||
        !gmtime_r(&ends, &day))
        return;
    strftime(text, sizeof text, "%Y-%m-%d at %H:%M:%SZ", &day);
    bytes_printf(expired->out,
                 "%s%s: the certificate of %s.%s expired on %s, so peers refuse connections",
                 expired->out->size ? "; " : "", expiry->id, expiry->key, expiry->source, text);
}

void expired_tell(uint64_t wall_ns, struct bytes *out)
{
    struct expired expired = {(int64_t)(wall_ns / NS_PER_S), out};
    tls_expiry_each(tell_expired, &expired);
}
