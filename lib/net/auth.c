#include "lib/net/auth.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"

#include <inttypes.h>

#define LOG_PAUSE (60 * NS_PER_S)

const struct key auth_keys[] = {
    KEY_STRING(struct auth_settings, authenticator, "authenticator", NULL, KEY_REQUIRED,
               "id of an extension such as basicauth or bearertokenauth"),
    KEY_END,
};

struct outcome auth_outcome(enum auth_result result)
{
    if (result == AUTH_LATER)
        return outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "too many credentials to check");
    return outcome_of(VERDICT_REJECT, CAUSE_AUTH, "credentials are missing or wrong");
}

void auth_tally_add(struct auth_tally *tally, const char *id, enum auth_result result,
                    const char *why, uint64_t mono_ns)
{
    uint64_t count = atomic_fetch_add(&tally->counts[result], 1) + 1;
    uint64_t logged = atomic_load(&tally->logged);
    if (result == AUTH_GRANTED || (logged && mono_ns - logged < LOG_PAUSE))
        return;
    if (atomic_compare_exchange_strong(&tally->logged, &logged, mono_ns ? mono_ns : 1))
        log_debug("%s: a request is refused: %s (%" PRIu64 " so far)", id, why, count);
}

void auth_tally_explain(struct auth_tally *tally, const char *id, struct bytes *out)
{
    bytes_printf(
        out, "%s: %" PRIu64 " requests admitted, %" PRIu64 " refused, %" PRIu64 " told to retry\n",
        id, atomic_load(&tally->counts[AUTH_GRANTED]), atomic_load(&tally->counts[AUTH_DENIED]),
        atomic_load(&tally->counts[AUTH_LATER]));
}
