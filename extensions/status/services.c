/* GET /api/services: services, and why their spans have no link, over time. */
#include "extensions/status/gaps.h"
#include "extensions/status/reason.h"
#include "extensions/status/status.h"
#include "extensions/status/trouble.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The first reason with the word of the n-th: several may have it, with another text and fix. */
static size_t first_with_word(const struct known *known, size_t n)
{
    size_t at = 0;
    while (strcmp(known->reasons[at]->word, known->reasons[n]->word) != 0)
        at++;
    return at;
}

/* A row for each word; the text is that of most of its spans. */
static void put_reasons(const struct known *known, const struct known_service *service,
                        const struct service_gaps *gaps, struct json *json)
{
    const uint64_t *counts = service->reasons;
    uint64_t sums[KNOWN_REASONS] = {0};
    size_t most[KNOWN_REASONS] = {0};
    json_open(json, "reasons", '[');
    for (size_t i = 0; i < known->reason_count; i++) {
        size_t at = first_with_word(known, i);
        most[at] = sums[at] && counts[most[at]] >= counts[i] ? most[at] : i;
        sums[at] += counts[i];
    }
    for (size_t i = 0; i < known->reason_count; i++) {
        const struct watch_reason *reason = known->reasons[most[i]];
        struct told_reason told;
        if (!sums[i])
            continue;
        reason_of_service(known, service, reason, &told);
        if (reason_is_unnamed(reason) && gaps_are_most(gaps)) {
            told.text =
                "Most of them ended at a time that no profile of the service has: an upload "
                "was lost, or the profiler sent none while the process was idle.";
            told.fix = GAP_FIX;
        }
        json_open(json, NULL, '{');
        json_word(json, "reason", told.word);
        json_number(json, "count", sums[i]);
        json_word(json, "text", told.text);
        json_word(json, "fix", told.fix);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_step(const struct known *known, uint64_t number, const struct known_step *step,
                     struct json *json)
{
    uint64_t sums[KNOWN_REASONS] = {0};
    json_open(json, NULL, '{');
    json_time(json, "from_unix_nano", number * KNOWN_HISTORY_STEP);
    json_time(json, "to_unix_nano", (number + 1) * KNOWN_HISTORY_STEP);
    json_number(json, "linked", step->linked);
    json_open(json, "reasons", '{');
    for (size_t i = 0; i < known->reason_count; i++)
        sums[first_with_word(known, i)] += step->reasons[i];
    for (size_t i = 0; i < known->reason_count; i++)
        if (sums[i])
            json_number(json, known->reasons[i]->word, sums[i]);
    json_close(json, '}');
    json_close(json, '}');
}

static bool is_empty(const struct known_step *step)
{
    static const struct known_step nothing;
    return memcmp(step, &nothing, sizeof nothing) == 0;
}

static void put_history(const struct known *known, const struct known_service *service,
                        uint64_t now, struct json *json)
{
    uint64_t last = now / KNOWN_HISTORY_STEP;
    json_open(json, "history", '[');
    for (uint64_t i = last - KNOWN_HISTORY + 1; i <= last; i++) {
        const struct known_step *step = known_service_step(service, i);
        if (step && !is_empty(step))
            put_step(known, i, step, json);
    }
    json_close(json, ']');
}

/* The name under which samples with the ids of its spans came, if that is not its own. */
static void put_unmatched(const struct known *known, const struct known_service *service,
                          struct json *json)
{
    const struct known_service *other = known->services[service->profiles_under];
    json_open(json, "profile_services_unmatched", '[');
    if (service->profiles_under)
        json_text(json, NULL, names_get(&known->names, other->name));
    json_close(json, ']');
    char fix[2 * NAME_CUT + 240];
    if (service->profiles_under)
        reason_names_fix(known, service, other, fix, sizeof fix);
    json_word(json, "unmatched_fix", service->profiles_under ? fix : NULL);
}

/* When its profiles come, and how far their times are from those of its spans. */
static void put_profiles(const struct known_service *service, struct json *json)
{
    json_open(json, "profiles", '{');
    json_time_or_null(json, "last_unix_nano", service->any_came);
    json_time_or_null(json, "last_end_unix_nano", service->any_end);
    json_number(json, "linked_out_of_reach", service->apart);
    char far[24];
    snprintf(far, sizeof far, "%" PRId64, service->apart_ns);
    json_literal(json, "out_of_reach_ns", far);
    json_close(json, '}');
}

static void put_problem(const struct known *known, const struct known_service *service,
                        const struct service_gaps *gaps, struct json *json)
{
    struct told_reason told;
    bool any = trouble_of(known, service, &told);
    if (!any && gaps_are_losses(gaps, told.text_buffer, sizeof told.text_buffer)) {
        told.text = told.text_buffer;
        told.fix = GAP_FIX;
        any = true;
    }
    if (!any) {
        json_word(json, "problem", NULL);
        return;
    }
    json_open(json, "problem", '{');
    json_word(json, "text", told.text);
    json_word(json, "fix", told.fix);
    json_close(json, '}');
}

static void put_service(const struct known *known, size_t number, const struct service_gaps *gaps,
                        uint64_t now, struct json *json)
{
    const struct known_service *service = known->services[number];
    json_open(json, NULL, '{');
    json_text(json, "service", names_get(&known->names, service->name));
    json_text(json, "tenant", known_tenant(known, number));
    json_word(json, "language", service->language);
    json_number(json, "spans", service->linked + service->not_linked);
    json_number(json, "linked", service->linked);
    json_number(json, "not_linked", service->not_linked);
    json_number(json, "samples", service->times_cpu ? service->samples : service->wall_samples);
    json_number(json, "cpu_ns", service->cpu_ns);
    json_bool(json, "cpu_known", service->times_cpu);
    json_number(json, "wall_ns", service->wall_ns);
    json_bool(json, "has_spans", service->has_spans);
    json_bool(json, "has_profiles", service->has_profiles);
    put_reasons(known, service, gaps, json);
    put_history(known, service, now, json);
    put_unmatched(known, service, json);
    put_profiles(service, json);
    put_problem(known, service, gaps, json);
    json_close(json, '}');
}

static void write_services(void *ctx, struct json *json)
{
    struct status *self = ctx;
    uint64_t now = clock_wall(self->env->clock);
    json_open(json, NULL, '{');
    json_open(json, "services", '[');
    status_lock(self);
    known_fold(&self->known);
    const struct known *known = &self->known;
    struct gaps gaps;
    gaps_count(known, now, &gaps);
    for (size_t i = 0; i < known->service_count; i++) {
        const struct known_service *service = known->services[i];
        /* 0: those that there is no room for, if any. */
        if (i > 0 || service->has_spans || service->has_profiles)
            put_service(known, i, &gaps.of[i], now, json);
        status_unlock(self);
        status_lock(self);
    }
    status_unlock(self);
    json_close(json, ']');
    json_close(json, '}');
}

void services_answer(struct status *self, struct http_request *request)
{
    if (answer_has_none(request))
        answer_surely(request, &self->small_answers, ANSWER_MAX, write_services, self);
}
