/* GET /api/services: services, and why their spans have no link, over time. */
#include "extensions/status/status.h"

#include <stdlib.h>

static void put_reasons(const struct known *known, const struct known_service *service,
                        struct json *json)
{
    json_open(json, "reasons", '[');
    for (size_t i = 0; i < known->reason_count; i++) {
        const struct watch_reason *reason = known->reasons[i];
        if (!service->reasons[i])
            continue;
        json_open(json, NULL, '{');
        json_word(json, "reason", reason->word);
        json_number(json, "count", service->reasons[i]);
        json_word(json, "text", reason->text);
        json_word(json, "fix", reason->fix);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_step(const struct known *known, uint64_t number, const struct known_step *step,
                     struct json *json)
{
    json_open(json, NULL, '{');
    json_time(json, "from_unix_nano", number * KNOWN_HISTORY_STEP);
    json_time(json, "to_unix_nano", (number + 1) * KNOWN_HISTORY_STEP);
    json_number(json, "linked", step->linked);
    json_open(json, "reasons", '{');
    for (size_t i = 0; i < known->reason_count; i++)
        if (step->reasons[i])
            json_number(json, known->reasons[i]->word, step->reasons[i]);
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

/* Names of profiles that no span has: of a service whose spans have no profile, the wrong name. */
static void put_unmatched(const struct known *known, const struct known_service *service,
                          struct json *json)
{
    json_open(json, "profile_services_unmatched", '[');
    for (size_t i = 1; i < known->service_count; i++) {
        const struct known_service *other = known->services[i];
        if (!service->has_profiles && other->has_profiles && !other->has_spans)
            json_text(json, NULL, names_get(&known->names, other->name));
    }
    json_close(json, ']');
}

static void put_service(const struct known *known, const struct known_service *service,
                        uint64_t now, struct json *json)
{
    json_open(json, NULL, '{');
    json_text(json, "service", names_get(&known->names, service->name));
    json_number(json, "spans", service->linked + service->not_linked);
    json_number(json, "linked", service->linked);
    json_number(json, "not_linked", service->not_linked);
    json_number(json, "samples", service->samples);
    json_number(json, "cpu_ns", service->cpu_ns);
    json_bool(json, "has_spans", service->has_spans);
    json_bool(json, "has_profiles", service->has_profiles);
    put_reasons(known, service, json);
    put_history(known, service, now, json);
    put_unmatched(known, service, json);
    json_close(json, '}');
}

void services_answer(struct status *self, struct http_request *request)
{
    char error[ANSWER_ERROR];
    struct bytes out;
    if (!answer_parameters(http_request_query(request), (const struct parameter[]){{0}}, error)) {
        answer_error(request, 400, error);
        return;
    }
    uint64_t now = clock_wall(self->env->clock);
    bytes_init(&out, ANSWER_MAX, self->env->budget);
    struct json json = json_begin(&out);
    json_open(&json, NULL, '{');
    json_open(&json, "services", '[');
    status_lock(self);
    const struct known *known = &self->known;
    for (size_t i = 0; i < known->service_count; i++) {
        const struct known_service *service = known->services[i];
        /* 0: those that there is no room for, if any. */
        if (i > 0 || service->has_spans || service->has_profiles)
            put_service(known, service, now, &json);
        status_unlock(self);
        status_lock(self);
    }
    status_unlock(self);
    json_close(&json, ']');
    json_close(&json, '}');
    answer_json(request, &json);
}
