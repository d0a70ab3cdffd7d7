/* The functions that an instance may call on its env (pipeline/env.h). */
#include "pipeline/env.h"

#include "pipeline/graph/instance.h"

#include "lib/journal/journal.h"

void env_tick_at(const struct env *env, uint64_t mono_ns)
{
    struct instance *instance = env->instance;
    if (env->ticker && instance)
        ticker_at(env->ticker, &instance->tick, mono_ns);
}

void env_note(const struct env *env, struct view content, uint64_t keep_ns)
{
    if (env->journal)
        journal_note(env->journal, view_of(env->id), content, keep_ns);
}
