#include "pipeline/watch.h"

void watch_init(struct watch *watch)
{
    *watch = (struct watch){0};
    pthread_mutex_init(&watch->lock, NULL);
    pthread_mutex_init(&watch->holders_lock, NULL);
}

void watch_release(struct watch *watch)
{
    pthread_mutex_destroy(&watch->lock);
    pthread_mutex_destroy(&watch->holders_lock);
}

void watch_attach(struct watch *watch, struct watcher *watcher)
{
    pthread_mutex_lock(&watch->lock);
    watcher->next = watch->watchers;
    watch->watchers = watcher;
    atomic_store(&watch->on, true);
    pthread_mutex_unlock(&watch->lock);
}

void watch_detach(struct watch *watch, struct watcher *watcher)
{
    pthread_mutex_lock(&watch->lock);
    for (struct watcher **at = &watch->watchers; *at; at = &(*at)->next)
        if (*at == watcher) {
            *at = watcher->next;
            break;
        }
    atomic_store(&watch->on, watch->watchers != NULL);
    pthread_mutex_unlock(&watch->lock);
}

void watch_add_holder(struct watch *watch, struct watch_holder *holder)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->holders_lock);
    holder->next = watch->holders;
    watch->holders = holder;
    watch->held = true;
    pthread_mutex_unlock(&watch->holders_lock);
}

bool watch_has_held(struct watch *watch)
{
    if (!watch)
        return false;
    pthread_mutex_lock(&watch->holders_lock);
    bool held = watch->held;
    pthread_mutex_unlock(&watch->holders_lock);
    return held;
}

void watch_remove_holder(struct watch *watch, struct watch_holder *holder)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->holders_lock);
    for (struct watch_holder **at = &watch->holders; *at; at = &(*at)->next)
        if (*at == holder) {
            *at = holder->next;
            break;
        }
    pthread_mutex_unlock(&watch->holders_lock);
}

bool watch_waits(struct watch *watch, uint64_t span_id, struct watch_waiting *waiting)
{
    bool waits = false;
    pthread_mutex_lock(&watch->holders_lock);
    for (const struct watch_holder *each = watch->holders; each && !waits; each = each->next)
        waits = each->waits(each->ctx, span_id, waiting);
    pthread_mutex_unlock(&watch->holders_lock);
    return waits;
}

bool watch_visit(struct watch *watch, size_t most, watch_held_fn *visit, void *visitor)
{
    bool all = true;
    pthread_mutex_lock(&watch->holders_lock);
    for (const struct watch_holder *each = watch->holders; each; each = each->next)
        all = each->visit && each->visit(each->ctx, &most, visit, visitor) && all;
    pthread_mutex_unlock(&watch->holders_lock);
    return all;
}

void watch_passed(struct watch *watch, const struct batch *batch, bool linked)
{
    if (!watch_on(watch))
        return;
    pthread_mutex_lock(&watch->lock);
    for (const struct watcher *each = watch->watchers; each; each = each->next)
        each->passed(each->ctx, batch, linked);
    pthread_mutex_unlock(&watch->lock);
}

void watch_refused(struct watch *watch, struct view service, int64_t ahead_ns)
{
    if (!watch_on(watch))
        return;
    pthread_mutex_lock(&watch->lock);
    for (const struct watcher *each = watch->watchers; each; each = each->next)
        if (each->refused)
            each->refused(each->ctx, service, ahead_ns);
    pthread_mutex_unlock(&watch->lock);
}

void watch_decided(struct watch *watch, const struct watch_decision *decision)
{
    pthread_mutex_lock(&watch->lock);
    for (const struct watcher *each = watch->watchers; each; each = each->next)
        each->decided(each->ctx, decision);
    pthread_mutex_unlock(&watch->lock);
}

void watch_sampled(struct watch *watch, const struct watch_window *window,
                   const struct watch_sample *samples, size_t count)
{
    pthread_mutex_lock(&watch->lock);
    for (const struct watcher *each = watch->watchers; each; each = each->next)
        each->sampled(each->ctx, window, samples, count);
    pthread_mutex_unlock(&watch->lock);
}
